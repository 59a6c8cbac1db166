"""What a compiled function tells about itself: `stats`, `inspect`, `fallback_reasons`, `why_...`.

The type is native and bare, because calling it is the hot path; everything cold is attached to it
here, once, when dvm is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from os import PathLike
from types import GenericAlias
from typing import TYPE_CHECKING, Any

from dvm import _dvm, reasons

if TYPE_CHECKING:
    from dvm.compiling import Options
    from dvm.explaining.lines import Answers
    from dvm.explaining.why_not_fused import Separation
    from dvm.explaining.why_recompiled import Recompilation


@dataclass(frozen=True)
class Stats:
    """What became of the calls of one compiled function.

    calls = hits + misses + fallbacks without a miss + drops + eager (+ calls whose arguments do not
    fit the signature, which the original answers with its own TypeError).

    hits: replayed a compiled path.
    misses: matched no path; the original ran under the tracer.
    captures: misses that gave a compiled path; recaptures: all of them but the first.
    fallbacks: the original ran because what the call does is not compiled, because a capture waits
        until it is worth its price, or because replays took longer than the original
        (`fallback_reasons` says so).
    drops: a replay met sizes its path does not allow, or a computation of it failed; the original
        ran.
    opaque: calls of functions dvm does not know, made by replays.
    eager: calls that ran the original because the stance says so or a trace function is set
        (`sys.settrace`: a debugger, or what measures coverage, sees every line), or were refused.
    splits: calls that ran in parts, for something in the function is not compiled: `f.parts` has
        them, and those of them that are compiled count by themselves.
    price: of the capture that calls wait for, and at which call that will be; empty for none.
    """

    calls: int
    hits: int
    misses: int
    captures: int
    recaptures: int
    fallbacks: int
    drops: int
    opaque: int = 0
    eager: int = 0
    splits: int = 0
    price: str = ""

    def counters(self) -> dict[str, int]:
        """Return all but the price, by name."""
        return {name: count for name, count in asdict(self).items() if name != "price"}


def _stats(self: _dvm.Compiled[..., Any]) -> Stats:
    """Return the counters so far, as a snapshot."""
    waits = _dvm.limit(self)
    codes = {row.code for row in reasons.PRICED}
    price = str(waits) if getattr(waits, "code", "") in codes else ""
    return Stats(**_dvm.stats(self), price=price)


def _fallback_reasons(self: _dvm.Compiled[..., Any]) -> list[str]:
    """Return why calls ran uncompiled, each as "file:line: reason"; empty when all are compiled."""
    refusal = _dvm.refusal(self)
    if refusal:
        return [refusal]
    of_paths = [
        ": ".join(filter(None, (path["location"], path["reason"])))
        for path in _dvm.paths(self)
        if path["reason"]
    ]
    return [*of_paths, *filter(None, [_dvm.limit(self)])]


def _inspect(self: _dvm.Compiled[..., Any], stage: str, *args: Any, **kwargs: Any) -> str:
    """Return a stage of compilation as text: "graph", "fused", "tiles" or "bytecode".

    Or what there is behind a step that `dvm.passes.steps()` lists, such as "cse".

    With arguments the function is called with them, and the path they take is shown, at their
    sizes. Without, every compiled path is shown; tiles and bytecode at the sizes of its capture.

    Raises:
        UnsupportedError: for another stage.
        CaptureError: when there is no compiled path to show; the message says why.
    """
    from dvm.explaining import inspection

    return inspection.inspect(self, stage, args, kwargs)


def _why_recompiled(self: _dvm.Compiled[..., Any]) -> Answers[Recompilation]:
    """Return why calls were captured after the first, and why replays were dropped.

    One `Recompilation` (dvm.explaining.why_recompiled) each, in the order of the first such call:
    what did not hold (in the user's words, with wanted and seen value, line and source), and what
    to do about it. It prints as text, and is empty while one path serves every call.
    """
    from dvm.explaining.why_recompiled import why_recompiled

    return why_recompiled(self)


def _why_not_fused(
    self: _dvm.Compiled[..., Any], a: str | int, b: str | int
) -> Answers[Separation]:
    """Return whether one kernel computes both operations, and which rule keeps them apart.

    `a` and `b` name operations as `dvm.explain` prints them ("g0:%5", "mul", "mul:12",
    "numpy.sort"), by their line ("model.py:12", ":12", 12), or by a part of its source.

    Returns:
        One `Separation` (dvm.explaining.why_not_fused) for each different answer that the named
        pairs have; it prints as text.

    Raises:
        UnsupportedError: if a or b names nothing; the message lists the operations.
        CaptureError: when nothing is compiled yet, or at all; the message says why.
    """
    from dvm.explaining.why_not_fused import why_not_fused

    return why_not_fused(self, a, b)


def _save(self: _dvm.Compiled[..., Any], path: str | PathLike[str]) -> Callable[..., None]:
    """Return a function that saves what a call with its arguments computes: see `dvm.save`."""
    from dvm.saving import save

    saved: Callable[..., None] = save(self, path)
    return saved


def _recompile(function: Any, options: Options, name: str) -> Any:
    from dvm.compiling import compile

    return compile(function, **vars(options), name=name)


def _reduce(self: _dvm.Compiled[..., Any]) -> Any:
    """Pickle as a function is pickled: by the name it is found under, or its original is."""
    found: Any = sys.modules.get(self.__module__)
    for part in self.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is self:
        return self.__qualname__
    return _recompile, (self.given, self.options, self.label)


def _copy(self: _dvm.Compiled[..., Any], _memo: Any = None) -> Any:
    """Copies of a function are the function."""
    return self


def _repr(self: _dvm.Compiled[..., Any]) -> str:
    from dvm.explaining.summary import never_replayed

    stats = _stats(self)
    return (
        f"<dvm.Compiled {self.label} target={self.options.target} "
        f"calls={stats.calls} captures={stats.captures} fallbacks={stats.fallbacks}"
        f"{never_replayed(self)}>"
    )


def _of_function(name: str) -> property:
    """Return an attribute that programs look at in a function, and may set: its original's."""

    def get(self: _dvm.Compiled[..., Any]) -> Any:
        return getattr(self.__wrapped__, name)

    def put(self: _dvm.Compiled[..., Any], value: Any) -> None:
        setattr(self.__wrapped__, name, value)

    return property(get, put)


for _name, _member in {
    "stats": property(_stats),
    "fallback_reasons": property(_fallback_reasons),
    "inspect": _inspect,
    "why_recompiled": _why_recompiled,
    "why_not_fused": _why_not_fused,
    "save": _save,
    "__repr__": _repr,
    "__reduce__": _reduce,
    "__copy__": _copy,
    "__deepcopy__": _copy,
    "__class_getitem__": classmethod(GenericAlias),  # annotations: dvm.Compiled[[int], float]
    **{
        name: _of_function(name)
        for name in ("__code__", "__defaults__", "__kwdefaults__", "__closure__", "__globals__")
    },
}.items():
    setattr(_dvm.Compiled, _name, _member)
