"""Capture: from the recording of one real execution to a path (paper MagPy, sections 4-6).

The native tracer (cpp/capture) records; `lower` gives each recorded event its meaning and builds
the graph. What it does not understand becomes a path with a reason, on which the original runs.
"""

from __future__ import annotations

import dis
from typing import Any

from dvm.magpy_capture.lower import Lowering
from dvm.magpy_capture.spec import NotCapturable, PathSpec

__all__ = ["NotCapturable", "PathSpec", "lower"]


def lower(compiled: Any, recording: dict[str, Any]) -> PathSpec:
    """Turn a recording of a call of `compiled` into a path."""
    options = compiled.options
    spec = PathSpec(target=options.target, numerics=options.numerics)
    try:
        if recording["aborted"]:
            raise NotCapturable(_readable(recording["aborted"]), recording["aborted_at"])
        Lowering(spec, recording).run()
    except NotCapturable as refusal:
        spec.reason = refusal.reason
        spec.reason_at = refusal.at
    return spec


#: What the interpreter's instructions are to someone who reads the source.
_CONSTRUCTS = {
    "GET_ITER": "a loop",
    "FOR_ITER": "a loop",
    "JUMP_BACKWARD": "a loop",
    "POP_JUMP_BACKWARD_IF_TRUE": "a loop",
    "POP_JUMP_BACKWARD_IF_FALSE": "a loop",
    "STORE_SUBSCR": "an assignment to an element",
    "STORE_ATTR": "an assignment to an attribute",
    "STORE_GLOBAL": "an assignment to a global",
    "MAKE_FUNCTION": "a function defined inside",
    "LOAD_CLOSURE": "a variable shared with an inner function",
    "MAKE_CELL": "a variable shared with an inner function",
    "BUILD_LIST": "a list",
    "BUILD_MAP": "a dict",
    "FORMAT_VALUE": "string formatting",
    "CALL_FUNCTION_EX": "a call with *args or **kwargs",
    "BEFORE_WITH": "a with statement",
    "RAISE_VARARGS": "a raise statement",
    "IMPORT_NAME": "an import",
}


def _readable(aborted: str) -> str:
    """Replace "opcode 93", all the tracer knows, by what the user wrote."""
    word, _, number = aborted.partition(" ")
    if word != "opcode" or not number.isdigit():
        return aborted
    name = dis.opname[int(number)]
    return f"{_CONSTRUCTS.get(name, 'an unsupported instruction')} ({name})"
