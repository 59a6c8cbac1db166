"""How many paths a program needs, found without dvm: by stepping through the plain program.

Two calls need one path when they execute the same instructions of the program and their arguments
are of the same classes. This is what the literals in the programs' tables are held against.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable
from types import FrameType
from typing import Any

import numpy as np

from programs.clone import members, strides
from programs.observe import HERE
from programs.registry import Program


def outcomes(program: Program) -> int:
    """Return how many kinds of calls there are among those that do not raise."""
    found: set[Hashable] = set()
    for args, kwargs in program.calls():
        kinds = kind_of(args), kind_of(kwargs)
        steps: list[tuple[str, int]] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                record(program, args, kwargs, steps)
            except Exception:
                continue
        found.add((kinds, tuple(steps)))
    return len(found)


def record(
    program: Program, args: tuple[Any, ...], kwargs: dict[str, Any], steps: list[tuple[str, int]]
) -> None:
    """Call the plain function; list each instruction that runs in the modules of the programs."""

    def enter(frame: FrameType, *_: object) -> Any:
        if not frame.f_code.co_filename.startswith(HERE):
            return None
        frame.f_trace = step  # or CPython 3.13 tells of no instruction of its first call
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return step

    def step(frame: FrameType, event: str, _: object) -> Any:
        if event == "opcode":
            steps.append((frame.f_code.co_qualname, frame.f_lasti))
        return step

    other = sys.gettrace()
    sys.settrace(enter)
    try:
        program.function(*args, **kwargs)
    finally:
        sys.settrace(other)


def kind_of(value: Any) -> Hashable:
    """Return the class of an argument: what of it a path may rely on.

    Numbers, sizes and how long a list is are none of it, unless the program's steps show them.
    """
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.ndim, memory_class(value)
    if isinstance(value, bool | str | None):
        return value
    if isinstance(value, int | float | np.random.Generator):
        return type(value).__name__
    if isinstance(value, tuple):
        return tuple(kind_of(each) for each in value)
    if isinstance(value, list):
        return frozenset(kind_of(each) for each in value if isinstance(each, np.ndarray))
    held = value if isinstance(value, dict) else members(value)
    return type(value).__name__, tuple((name, kind_of(each)) for name, each in held.items())


def memory_class(array: np.ndarray) -> Hashable:
    """Return "C", or in which order NumPy would lay out a result, and whether there are gaps."""
    if array.flags.c_contiguous:
        return "C"
    like = np.empty_like(array)  # memory order "K"
    order = sorted(range(array.ndim), key=lambda axis: -like.strides[axis])
    # Gaps make no difference to results in C order.
    return tuple(order), order == sorted(order) or strides(like) == strides(array)
