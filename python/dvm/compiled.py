"""What a compiled function tells about itself: `stats`, `inspect`, `fallback_reasons`, `repr`.

The type is native and bare, because calling it is the hot path; everything cold is attached to it
here, once, when dvm is imported.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import GenericAlias
from typing import Any

from dvm import _dvm


@dataclass(frozen=True)
class Stats:
    """What became of the calls of one compiled function.

    calls = hits + misses + fallbacks of known paths + drops (+ calls whose arguments do not fit
    the signature, which the original answers with its own TypeError).

    hits: replayed a compiled path.
    misses: matched no path; the original ran under the tracer.
    captures: misses that gave a compiled path; recaptures: all of them but the first.
    fallbacks: the original ran because what the call does is not compiled.
    drops: a replay met sizes its path does not allow, or a computation of it failed; the original
        ran.
    opaque: calls of functions dvm does not know, made by replays.
    """

    calls: int
    hits: int
    misses: int
    captures: int
    recaptures: int
    fallbacks: int
    drops: int
    opaque: int = 0


def _stats(self: _dvm.Compiled[..., Any]) -> Stats:
    """Return the counters so far, as a snapshot."""
    return Stats(**_dvm.stats(self))


def _fallback_reasons(self: _dvm.Compiled[..., Any]) -> list[str]:
    """Return why calls ran uncompiled, each as "file:line: reason"; empty when all are compiled."""
    refusal = _dvm.refusal(self)
    if refusal:
        return [refusal]
    reasons = [
        ": ".join(filter(None, (path["location"], path["reason"])))
        for path in _dvm.paths(self)
        if path["reason"]
    ]
    return [*reasons, *filter(None, [_dvm.limit(self)])]


def _inspect(self: _dvm.Compiled[..., Any], stage: str, *args: Any, **kwargs: Any) -> str:
    """Return a stage of compilation as text: "graph", "fused", "tiles" or "bytecode".

    With arguments the function is called with them, and the path they take is shown, at their
    sizes. Without, every compiled path is shown; tiles and bytecode at the sizes of its capture.

    Raises:
        UnsupportedError: for another stage.
        CaptureError: when there is no compiled path to show; the message says why.
    """
    from dvm import inspection

    return inspection.inspect(self, stage, args, kwargs)


def _recompile(function: Any, target: str, numerics: str, name: str) -> Any:
    from dvm.compiling import compile

    return compile(function, target=target, numerics=numerics, name=name)


def _reduce(self: _dvm.Compiled[..., Any]) -> Any:
    """Pickle as a function is pickled: by the name it is found under, or its original is."""
    found: Any = sys.modules.get(self.__module__)
    for part in self.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is self:
        return self.__qualname__
    options = self.options
    return _recompile, (self.__wrapped__, options.target, options.numerics, self.label)


def _copy(self: _dvm.Compiled[..., Any], _memo: Any = None) -> Any:
    """Copies of a function are the function."""
    return self


def _repr(self: _dvm.Compiled[..., Any]) -> str:
    stats = _stats(self)
    return (
        f"<dvm.Compiled {self.label} target={self.options.target} "
        f"calls={stats.calls} captures={stats.captures} fallbacks={stats.fallbacks}>"
    )


for _name, _member in {
    "stats": property(_stats),
    "fallback_reasons": property(_fallback_reasons),
    "inspect": _inspect,
    "__repr__": _repr,
    "__reduce__": _reduce,
    "__copy__": _copy,
    "__deepcopy__": _copy,
    "__class_getitem__": classmethod(GenericAlias),  # annotations: dvm.Compiled[[int], float]
}.items():
    setattr(_dvm.Compiled, _name, _member)
