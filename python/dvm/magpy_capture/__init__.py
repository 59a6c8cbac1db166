"""Capture: from the recording of one real execution to a path (paper MagPy, sections 4-6).

The native tracer (cpp/capture) records; `lower` gives each recorded event its meaning and builds
the graph. What it does not understand becomes a path with a reason, on which the original runs.
"""

from __future__ import annotations

from typing import Any

from dvm.magpy_capture.lower import Lowering
from dvm.magpy_capture.spec import NotCapturable, PathSpec

__all__ = ["NotCapturable", "PathSpec", "lower"]


def lower(compiled: Any, recording: dict[str, Any], arguments: tuple[Any, ...]) -> PathSpec:
    """Turn a recording of `compiled` called with `arguments` into a path."""
    options = compiled.options
    spec = PathSpec(target=options.target, numerics=options.numerics)
    try:
        if recording["aborted"]:
            raise NotCapturable(recording["aborted"], recording["aborted_at"])
        Lowering(spec, recording, arguments).run()
    except NotCapturable as refusal:
        spec.reason = refusal.reason
        spec.reason_at = refusal.at
    return spec
