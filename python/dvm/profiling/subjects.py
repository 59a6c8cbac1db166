"""What `dvm.profile` calls: a function, a graph, or what calls graphs of PyTorch.

Each is watched alike, and tells of its graphs as `_dvm.paths` does of the paths of a function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dvm import _dvm, errors
from dvm.stances import stance

#: calls after which a function that never replays is given up
MOST_CALLS = 4
#: spans of a watched call that are kept
ROOM = 1 << 12


class Subject(Protocol):
    """What is profiled.

    name: what reports call it. target: what it is compiled for.
    """

    @property
    def name(self) -> str: ...
    @property
    def target(self) -> str: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def serve(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], watched: bool, /
    ) -> tuple[Any, _dvm.WatchedCall] | None:
        """Call it until these arguments are served by what is compiled; CaptureError if never.

        watched: return what `watch` would of the last of these calls, if there was one.
        """

    def paths(self) -> list[_dvm.PathRecord]:
        """Return the record of each path of a function, or of each graph."""

    def watch(
        self, keeps: bool, room: int, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, _dvm.WatchedCall]:
        """Call it once, and return its value with what it did; see `_dvm.watch_call`."""

    def first_call(self, args: Sequence[Any], kwargs: Mapping[str, Any], /) -> dict[str, int]:
        """Return the nanoseconds, by phase, of a call whose sizes were never met; {} if unknown."""


@dataclass(frozen=True)
class FunctionSubject:
    """A function that `dvm.compile` made."""

    compiled: _dvm.Compiled[..., Any]

    @property
    def name(self) -> str:
        return self.compiled.label

    @property
    def target(self) -> str:
        return self.compiled.options.target

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.compiled(*args, **kwargs)

    def serve(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], watched: bool, /
    ) -> tuple[Any, _dvm.WatchedCall] | None:
        compiled = self.compiled
        for _ in range(MOST_CALLS):
            hits = compiled.stats.hits
            # Who asks for a profile does not wait until compiling would pay.
            with stance("force_capture"):
                call = self.watch(True, ROOM, args, kwargs) if watched else None
                if call is None:
                    compiled(*args, **kwargs)
            if compiled.stats.hits > hits:
                return call
        from dvm.explaining.advice import advice_for_fallback

        reasons = compiled.fallback_reasons or [str(compiled.why_recompiled())]
        raise errors.make(
            "capture_refused",
            f"{compiled.label} runs uncompiled: {reasons[-1]}",
            advice_for_fallback(compiled),
        )

    def paths(self) -> list[_dvm.PathRecord]:
        return _dvm.paths(self.compiled)

    def watch(
        self, keeps: bool, room: int, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, _dvm.WatchedCall]:
        return _dvm.watch_call(self.compiled, [], keeps, room, *args, **kwargs)

    def first_call(self, args: Sequence[Any], kwargs: Mapping[str, Any], /) -> dict[str, int]:
        timed = _dvm.timed_call(self.compiled, *args, **kwargs)
        return {key: timed[1][key] for key in ("plan", "bind", "tile", "encode")} if timed else {}


@dataclass(frozen=True)
class GraphSubject:
    """A graph that is called on arrays."""

    graph: _dvm.CompiledGraph
    name: str = "graph"

    @property
    def target(self) -> str:
        return self.graph.target

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.graph(*args, **kwargs)

    def serve(
        self, _args: Sequence[Any], _kwargs: Mapping[str, Any], _watched: bool, /
    ) -> tuple[Any, _dvm.WatchedCall] | None:
        """Nothing: a graph takes all arguments that fit it."""
        return None

    def paths(self) -> list[_dvm.PathRecord]:
        return [self.graph.describe()]

    def watch(
        self, keeps: bool, room: int, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, _dvm.WatchedCall]:
        return _dvm.watch_call(self.graph, [self.graph], keeps, room, *args, **kwargs)

    def first_call(self, _args: Sequence[Any], _kwargs: Mapping[str, Any], /) -> dict[str, int]:
        return {}
