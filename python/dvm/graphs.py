"""Graphs that are compiled and called without capture, and their files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dvm import _dvm, errors
from dvm.compiling import Options


class Step(NamedTuple):
    """A step of the compiler, a pass of the user's among them.

    name, stage: as `dvm.passes.steps()` has them.
    nanoseconds: what it took.
    text: what it made: a graph, kernels or a plan.
    matches, effects: at how many places it found what it looks for, and how many of these it
        changed; places are nodes of the graph where it tells of no others.
    """

    name: str
    nanoseconds: int
    text: str
    stage: str
    matches: int
    effects: int

    def without_text(self) -> dict[str, Any]:
        """What a report tells of it."""
        return {name: value for name, value in self._asdict().items() if name != "text"}


class CompiledGraph:
    """A graph compiled for a target; call it on arrays and numbers.

    graph: its text (docs/graphs.md).
    target: a name that `python -m dvm env` lists.
    numerics, precision: as `dvm.Options` has them.
    functions: what the graph calls, by name; they take arrays, sizes and numbers, and give arrays
        or write them into `out`.
    checks: what sizes have to be besides, such as ("rows", "le", "2*n"): left, one of eq, ne, lt,
        le, gt, ge, and right.
    types: classes by the names of constructors, for graphs of a module: an object's class says
        which constructor made it, its attributes are the fields, and dvm makes objects by calling
        the class with the fields in their order. Named tuples where there is no class.
    constants: the graph's tensors that have a name, by that name: arrays, or what NumPy reads as
        such (tensors of PyTorch). They are not copied: what they hold when the graph is called is
        what it computes with.
    passes: of your own, in their order (docs/passes.md).

    Raises FormatError or GraphError for a text that is no graph, UnsupportedError for an unknown
    target, numerics or precision, or a missing function or constant, ShapeError for a constant of
    another type, PassError for a pass that fails; when called, ShapeError for arguments that the
    graph does not take, HostCallError for a function whose result is not what the graph says.
    """

    def __init__(
        self,
        graph: str | _dvm.Graph | _dvm.Module,
        *,
        target: str = "cpu",
        numerics: str = "default",
        precision: str = "highest",
        functions: Mapping[str, Callable[..., Any]] | None = None,
        constants: Mapping[str, Any] | None = None,
        checks: Sequence[tuple[str, str, str]] = (),
        types: Mapping[str, type] | None = None,
        passes: Iterable[Any] | None = None,
    ) -> None:
        if not isinstance(graph, (str, _dvm.Graph, _dvm.Module)):
            raise TypeError(f"a graph is a text, not {type(graph).__name__}")
        options = Options(target, numerics, precision, passes)  # refuses what there is not
        self._given: dict[str, Any] = {
            "graph": graph,
            "numerics": numerics,
            "precision": precision,
            "functions": dict(functions or {}),
            "constants": dict(constants or {}),
            "checks": list(checks),
            "types": dict(types or {}),
            "passes": None if options.passes is None else options.passes.native,
        }
        self._passes = options.passes
        self._compiled = self._compile(target)
        self._names = (
            [f"x{k}" for k in range(len(self._compiled.arguments))],
            [f"y{k}" for k in range(len(self._compiled.results))],
        )

    def name(self, inputs: list[str], results: list[str]) -> None:
        """Say what arguments and results are called, in files and in messages."""
        self._names = inputs, results
        self._compiled.argument_names = inputs

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """Return the results of the graph, for its inputs and scalars in their order.

        They are arrays, and objects of a module's data types.
        """
        return self._compiled(*arguments)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        inputs: Sequence[str] | None = None,
        results: Sequence[str] | None = None,
    ) -> None:
        """Write the graph into a file that `dvm.load` reads, constants included.

        inputs, results: names for the command line, one each; those of the file it was loaded from
            when None, or x0, x1 ... and y0, y1 ...

        The file has what passes made of the graph, and is loaded without them; and which of dvm's
        are switched off.

        The same graph gives the same bytes. A file that is there is replaced once all is written.
        Functions that the graph calls are not saved: whoever loads it gives them.

        Raises OSError where the file cannot be written, UnsupportedError for names that are too
        few, too many or not unique, and for passes that come behind dvm's own, or that change
        loops, branches or functions.
        """
        if self._passes is not None and not self._passes.are_first:
            raise errors.make(
                "unsupported",
                f"a file does not have {self._passes!r}, some of which come behind passes of dvm's",
                "save the graph without these, and give them to dvm.load",
            )
        named = self._names
        self._compiled.save(
            os.fsencode(path),
            target=self.target,
            numerics=self._given["numerics"],
            precision=self._given["precision"],
            checks=self._given["checks"],
            inputs=list(named[0] if inputs is None else inputs),
            results=list(named[1] if results is None else results),
        )

    @property
    def arguments(self) -> dict[str, str]:
        """What it is called with, by name: `f32[rows, 3]`, or `scalar f32`."""
        return dict(zip(self._names[0], map(_described, self._compiled.arguments), strict=True))

    @property
    def results(self) -> dict[str, str]:
        """What a call gives, by name."""
        return dict(zip(self._names[1], map(_described, self._compiled.results), strict=True))

    @property
    def types(self) -> dict[str, type]:
        """The classes of objects, by the names of their constructors."""
        return self._compiled.types

    @property
    def plan(self) -> str:
        """The host program that the graph became."""
        return self._compiled.plan

    @property
    def target(self) -> str:
        """What it runs on."""
        return self._compiled.target

    @property
    def steps(self) -> list[Step]:
        """What each step of the compiler took, found and made of the graph, in their order.

        dvm's own are run once more for that, and yours where the graph has loops, branches or
        functions; else what yours did is known.
        """
        return [Step(*made) for made in self._compiled.describe()["passes"]]

    def behind(self, step: str) -> str:
        """The text of what there is behind a step, to be looked at, or edited and `resumed`.

        Raises UnsupportedError for one that the graph does not go through.
        """
        texts = {made.name: made.text for made in self.steps}
        if step not in texts:
            raise errors.unknown("unknown_name", "step", step, texts)
        return texts[step]

    def resumed(self, step: str, graph: str) -> CompiledGraph:
        """Return what the compiler makes of a graph that it goes on with behind a step.

        All else is as it is here: target, constants, functions, and the passes that come later.
        """
        given = {key: value for key, value in self._given.items() if key not in ("graph", "passes")}
        passes = [*(self._passes or ()), f"{step}:resume"]
        made = CompiledGraph(graph, target=self.target, passes=passes, **given)
        made.name(*self._names)
        return made

    def native(self, target: str) -> _dvm.CompiledGraph:
        """Its native half, or that of the same graph for another target."""
        if target == self.target:
            return self._compiled
        return self._compile(target)

    def _compile(self, target: str) -> _dvm.CompiledGraph:
        try:
            return _dvm.CompiledGraph(target=target, **self._given)
        except errors.PassError as error:
            raise error from self._passes.take_cause()

    def __repr__(self) -> str:
        return f"<dvm.CompiledGraph target={self.target}>"


def _described(value: tuple[str, str, str]) -> str:
    kind, dtype, sizes = value
    return f"scalar {dtype}" if kind == "scalar" else dtype + sizes


def load(
    path: str | os.PathLike[str],
    *,
    target: str | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    types: Mapping[str, type] | None = None,
    passes: Iterable[Any] | None = None,
    check: bool = False,
) -> CompiledGraph:
    """Return the graph that `save` wrote into a file, compiled.

    target: instead of the one that it was saved for.
    functions, types, passes: what the graph calls, classes of objects, and passes over it, as for
        `CompiledGraph`.
    check: whether the elements of constants are compared with their hashes, too. That reads all of
        them; else they are read from the file as calls need them, and only the rest is compared.

    The file stays mapped as long as the graph or one of its constants lives. Replace such a file as
    `save` does; one that is written to in place changes what the graph computes.

    Raises OSError where the file cannot be read, FormatError for what is no such file, of another
    version or damaged, GraphError for a graph that breaks a rule, UnsupportedError for an unknown
    target or a missing function.
    """
    return compiled_of(open_graph(path, check), target, functions, types, passes)


def compiled_of(
    opened: _dvm.OpenedGraph,
    target: str | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    types: Mapping[str, type] | None = None,
    passes: Iterable[Any] | None = None,
) -> CompiledGraph:
    """Return what `open_graph` gave, compiled: as `load` does."""
    settings, graph, constants, _ = opened
    switches = [f"{step}:off" for step in settings["off"]]
    loaded = CompiledGraph(
        graph,
        target=settings["target"] if target is None else target,
        numerics=settings["numerics"],
        precision=settings["precision"],
        checks=settings["checks"],
        functions=functions,
        constants=constants,
        types=types,
        passes=[*switches, *(passes or ())] if switches else passes,
    )
    loaded.name(settings["inputs"], settings["results"])
    return loaded


def open_graph(path: str | os.PathLike[str], check: bool) -> _dvm.OpenedGraph:
    """Return what a file has: settings, graph, constants, and where its sections lie."""
    name = os.fspath(path).encode("utf-8", "backslashreplace").decode()
    return _dvm.open_graph(os.fsencode(path), name, check)
