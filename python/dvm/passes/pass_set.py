"""The passes of one function, model or graph, as the core runs them."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dvm import _dvm, errors, own_warnings
from dvm.passes.base import NOWHERE, Note, Pass, ReplacementError

_OWN = str(Path(__file__).parents[1])


class StepOfList(NamedTuple):
    """A step that dvm takes.

    stage: prepare, optimise, partition or build.
    level: 0 of what is needed; 1 of what keeps every bit of the results; 2 of what may sum in
        another order.
    """

    name: str
    stage: str
    level: int
    synopsis: str

    @property
    def makes_graph(self) -> bool:
        """Whether it makes a graph of a graph, so that passes may come behind it."""
        return self.stage in ("prepare", "optimise")


class _RefusedError(Exception):
    """What the core makes a PassError of: a message, and a line of the program."""

    def __init__(self, message: str, at: tuple[str, int]) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


class _Runner:
    """What the core calls. It holds no set, for no garbage collection sees what the core holds."""

    def __init__(self, passes: tuple[Pass, ...]) -> None:
        self.passes = passes
        self.cause: BaseException | None = None

    def run(self, index: int, graph: _dvm.Graph) -> tuple[_dvm.Graph, list[Note]]:
        """Run one pass. Raises nothing but what the core makes a PassError of."""
        done = self.passes[index]
        self.cause = None
        try:
            made, notes = done.apply(graph)
            if not isinstance(made, _dvm.Graph):
                raise TypeError(f"run returns {made!r:.60}, not a graph")
        except errors.PassError as error:
            self.cause = error
            what = f"the pass {done.title}: {errors.message_of(error)}"
            raise _RefusedError(what, _location(error.location)) from error
        except ReplacementError as error:
            raise self._raised(done, error.__cause__ or error, error.at) from error.__cause__
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # an exit, too: it would be one of the program that calls
            raise self._raised(done, error, NOWHERE) from error
        return made, [note._replace(node=f"pass {done.title} {note.node}") for note in notes]

    def _raised(self, done: Pass, error: BaseException, at: tuple[str, int]) -> _RefusedError:
        self.cause = error
        what = f"the pass {done.title} raises {type(error).__name__}: {error}{line_of(error)}"
        return _RefusedError(what, at)


class PassSet:
    """Passes in their order. It does not change, and copies of it are itself."""

    def __init__(self, passes: Iterable[Any]) -> None:
        given = tuple(passes)
        self._words = tuple(each for each in given if isinstance(each, str))
        switched = [_switch(each) for each in self._words]
        off = [name for name, state in switched if state == "off"]
        resumed = [name for name, state in switched if state == "resume"]
        if len(resumed) > 1:
            raise TypeError(f"a graph comes from behind one step, not {' and '.join(resumed)}")
        self._passes = tuple(_made(each) for each in given if not isinstance(each, str))
        for each in self._passes:
            if each.after and each.after not in graph_passes():
                raise errors.unknown("unknown_name", "pass", each.after, graph_passes())
        self._runner = _Runner(self._passes)
        entries = [(each.title, each.after) for each in self._passes]
        self._resumes = behind = "".join(resumed)
        self.native = _dvm.Passes(entries, self._runner.run, None, off, behind)
        # Where a call runs uncompiled that one refuses, for what a program does is not for a pass
        # to break.
        self.captured = _dvm.Passes(entries, self._runner.run, _warn, off, behind)

    def take_cause(self) -> BaseException | None:
        """What made the last pass fail, once."""
        cause, self._runner.cause = self._runner.cause, None
        return cause

    @property
    def are_first(self) -> bool:
        """Whether all come before dvm's own, none of which has been done."""
        return not self._resumes and not any(each.after for each in self._passes)

    def __iter__(self) -> Iterator[Pass | str]:
        return iter((*self._passes, *self._words))

    def __len__(self) -> int:
        return len(self._passes) + len(self._words)

    def __copy__(self) -> PassSet:
        return self

    def __deepcopy__(self, memo: Any) -> PassSet:
        return self

    def __reduce__(self) -> Any:
        return PassSet, (tuple(self),)

    def __repr__(self) -> str:
        names = [each if isinstance(each, str) else each.title for each in self]
        return f"<dvm.passes {', '.join(names)}>"


def graph_passes() -> list[str]:
    """The names that `after` may have: dvm's own passes of graphs, in their order."""
    return [step.name for step in steps() if step.makes_graph]


def steps() -> list[StepOfList]:
    """All steps from a graph to what runs, in their order."""
    return [StepOfList(*row) for row in _dvm.pass_table]


def pass_set(passes: Any) -> PassSet | None:
    """What `passes=` was given, which may be made already; None where there are none."""
    if passes is None or isinstance(passes, PassSet):
        return passes or None
    if isinstance(passes, Pass | str) or not isinstance(passes, Iterable):
        raise TypeError(f"passes is a list of passes, not {passes!r:.60}")
    made = PassSet(passes)
    return made if len(made) else None


def _switch(given: str) -> tuple[str, str]:
    """The name and the state in "name:off" and "name:resume"."""
    valid = [f"{step.name}:off" for step in steps() if step.level]
    resumable = [f"{name}:resume" for name in graph_passes()]
    if given not in valid and given not in resumable:
        meant = resumable if given.endswith(":resume") else valid
        raise errors.unknown("unknown_name", "switch", given, meant)
    name, _, state = given.partition(":")
    return name, state


def _made(given: Any) -> Pass:
    """A pass, of itself or its class."""
    if isinstance(given, type) and issubclass(given, Pass):
        given = given()
    if not isinstance(given, Pass):
        raise TypeError(f"a pass is an instance of a class of dvm.passes, not {given!r:.60}")
    given.check_methods()
    return given


def _warn(error: str) -> None:
    own_warnings.warn(f"{error} Calls run uncompiled.", 2)


def line_of(error: BaseException) -> str:
    """Where in the pass it was raised, or what the pass called was."""
    frames = traceback.extract_tb(error.__traceback__)
    of_pass = [frame for frame in frames if not frame.filename.startswith(_OWN)]
    return f" ({of_pass[-1].filename}:{of_pass[-1].lineno})" if of_pass else ""


def _location(text: str) -> tuple[str, int]:
    file, _, line = text.rpartition(":")
    return (file, int(line)) if file else NOWHERE
