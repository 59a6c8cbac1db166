"""`dvm.profile`: why a call takes as long as it does.

On a simulated target the call's Programs are timed by a model of its AI Cores (docs/profiling.md),
the same on every machine; on the cpu the call itself is measured. Either way the answer is a
`Profile`, which prints, converts to plain data, shows itself in notebooks, and exports a trace.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Never

from dvm import _dvm, errors
from dvm.compiling import compile, is_by_torch_compile, is_module
from dvm.graphs import CompiledGraph
from dvm.profiling.subjects import FunctionSubject, GraphSubject, Subject
from dvm.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from dvm.explaining.lines import Answers
    from dvm.profiling.change_first import Change
    from dvm.profiling.comparison import Comparison
    from dvm.profiling.page.lines import Line


class Profile(ABC):
    """What one call of a compiled function spent its time on.

    function: its name. target: where it ran. value: what the call returned.
    """

    function: str
    target: str
    value: Any
    subject: Subject
    watched: _dvm.WatchedCall
    kernels: Sequence[Any]

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the profile in JSON types; equal profiles give equal dicts."""

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def trace_events(self) -> list[dict[str, Any]]:
        """Return the timeline as events of Chrome's trace format; see `export_chrome_trace`."""

    @abstractmethod
    def picture(self) -> str:
        """Return the timeline of what took longest as an image of HTML; empty where nothing ran."""

    @abstractmethod
    def summary(self) -> str:
        """Return what a person wants to know first, as one sentence."""

    @abstractmethod
    def headline(self) -> list[tuple[str, float, str]]:
        """Return what two profiles are compared by: name, number and unit, the whole call first."""

    def compare(self, other: Profile) -> Comparison:
        """Return this profile beside another one: of another version, target, machine or size."""
        from dvm.profiling.comparison import Comparison

        return Comparison(self, other)

    def change_first(self) -> Answers[Change]:
        """Return what to change, that which may save most first; empty where nothing is known."""
        from dvm.profiling.change_first import changes

        return changes(self)

    def export_chrome_trace(self, path: str | Path) -> None:
        """Write the timeline as a file that Perfetto (ui.perfetto.dev) and chrome://tracing open.

        One process per core and one thread per pipe, or one thread per thread of the cpu. A name
        that ends in .gz is compressed.
        """
        from pathlib import Path

        from dvm.profiling.chrome_trace import write

        write(Path(path), self.trace_events())

    def lines(self) -> list[Line]:
        """Return your lines that kernels compute, those that take longest first.

        Each has its `location`, the `share` of the time of all kernels, and their names.
        """
        from dvm.profiling.page.lines import line_times

        return line_times(self)

    def page(self) -> str:
        """Return an HTML page of its own: lines, fusion graph, timeline, roofline, bytecode.

        It needs no network and no server, and has less than a megabyte.
        """
        from dvm.profiling.page import page

        return page(self)

    def _repr_html_(self) -> str:
        from dvm.profiling.html import render

        return render(self)

    def __repr__(self) -> str:
        return f"<dvm.Profile of {self.function} on {self.target}: {self.summary()}>"


def profile(
    fn: Callable[..., Any] | CompiledGraph,
    *misplaced: Never,
    target: str | None = None,
    profile_overrides: Mapping[str, float] | None = None,
    **named: Never,
) -> Callable[..., Profile]:
    """Return a function that calls `fn` with its arguments and returns a `Profile` of the call.

    `fn` is a compiled function, a plain one, which is compiled, a `dvm.CompiledGraph`, or a module
    of PyTorch or what torch.compile made with this backend. With `target` it is compiled anew for
    that one. The calls are real ones: `fn` runs once or twice to
    be compiled, and then once on a simulated target; on the cpu as often as a steady time takes
    (up to 0.2 s).

    `profile_overrides` are parameters of the simulated cores in place of those of the target, by
    their names in docs/profiling.md: `{"hbm_bytes": 1778}`.

    The function that is returned raises CaptureError if no compiled path serves the call; the
    message says why. Exceptions of `fn` pass through.

    Raises:
        UnsupportedError: for a target or a parameter that does not exist, or for parameters of a
            target that is not simulated.
        TypeError: for arguments of the call, which go to what is returned: `dvm.profile(f)(x)`.
    """
    if misplaced or named:
        raise errors.misplaced("profile")
    return profile_of(_subject(fn, target), dict(profile_overrides or {}))


def profile_of(subject: Subject, overrides: dict[str, float]) -> Callable[..., Profile]:
    """As `profile`, of a subject."""
    if subject.target != "cpu":
        _dvm.timing_table(subject.target, overrides)  # refuses what there is not
    elif overrides:
        raise errors.make(
            "unsupported",
            "profile_overrides are parameters of simulated cores, and the cpu is measured",
            f"give a target, too: {', '.join(t for t in _dvm.target_names if t != 'cpu')}",
        )

    def profiled(*args: Any, **kwargs: Any) -> Profile:
        with Progress(subject.name):
            # Of torch's graphs it finds the target.
            call = subject.serve(args, kwargs, subject.target != "cpu")
            if subject.target != "cpu":
                from dvm.profiling.simulated import simulate_call

                return simulate_call(subject, args, kwargs, overrides, call)
        from dvm.profiling.measured import measure_call

        return measure_call(subject, args, kwargs)

    return profiled


def _subject(fn: Callable[..., Any] | CompiledGraph, target: str | None) -> Subject:
    if isinstance(fn, CompiledGraph):
        return GraphSubject(fn.native(target or fn.target))
    if is_module(fn) or is_by_torch_compile(fn):
        from dvm.torch.profiled import subject_of

        return subject_of(fn, target)
    if not isinstance(fn, _dvm.Compiled):
        return FunctionSubject(compile(fn, target=target or "cpu"))
    if target is None or fn.options.target == target:
        return FunctionSubject(fn)
    return FunctionSubject(compile(fn, name=fn.label, **{**vars(fn.options), "target": target}))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table as lines of text: the first column to the left, the others to the right."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]

    def text(line: list[str]) -> str:
        first, *others = (
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        return "  ".join([first, *others]).rstrip()

    return [text(line) for line in lines]


def percent(share: float) -> str:
    """Return a share as whole percent."""
    return f"{100 * share:.0f} %"
