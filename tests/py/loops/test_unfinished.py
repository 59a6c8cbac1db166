"""Generators and managers that have something to finish, in random programs: as plain Python."""

from __future__ import annotations

import linecache
import traceback
from collections import Counter
from typing import Any

import numpy as np
import pytest

import dvm
from loops.unfinished import Writer

PROGRAMS = 200
SIZES = ((3, 1.0), (4, 1.0), (3, 0.0), (5, 1.0), (3, 1.0), (4, 0.0))


def made(seed: int) -> dict[str, Any]:
    source, name = Writer(seed).program(), f"<program {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope: dict[str, Any] = {}
    exec(compile(source, name, "exec"), scope)
    return scope


def outcome(scope: dict[str, Any], function: Any, x: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """What the call gave or raised, at which lines, and the order of its effects."""
    scope["log"].clear()
    try:
        result: Any = repr(function(x))
    except Exception as error:
        lines = [
            (frame.name, frame.lineno)
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename.startswith("<program")
        ]
        result = (repr(error), repr(error.__context__), repr(error.__cause__), lines)
    return result, list(scope["log"]), x.tolist()


@pytest.mark.parametrize("begin", range(0, 5 * PROGRAMS, PROGRAMS))
def test_random_programs(begin: int, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []  # what nobody could catch
    monkeypatch.setattr("sys.unraisablehook", lambda each: told.append(repr(each.exc_value)))
    counts: Counter[str] = Counter()
    for seed in range(begin, begin + PROGRAMS):
        scope = made(seed)
        compiled = dvm.compile(scope["f"])
        for size, factor in SIZES:
            plain = outcome(scope, scope["f"], np.arange(size) * factor), told[:]
            told.clear()
            other = outcome(scope, compiled, np.arange(size) * factor), told[:]
            told.clear()
            assert plain == other, f"seed {seed}"
            counts["calls"] += 1
            counts["raised"] += isinstance(plain[0][0], tuple)
        for name in ("captures", "hits", "fallbacks"):
            counts[name] += getattr(compiled.stats, name)
    # Some are not compiled: where two wait at once. Others are captured once for each way they go,
    # or run in parts where functions can be taken apart.
    returned = counts["calls"] - counts["raised"]
    assert counts["fallbacks"] < 0.3 * returned
    assert counts["captures"] < 2 * PROGRAMS
    assert counts["hits"] + counts["captures"] > 0.5 * returned
