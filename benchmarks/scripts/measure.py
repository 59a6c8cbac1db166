"""Calls of a program, plain and compiled in turns: what the first 20 take, and those behind."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import dvm

AHEAD_BY = 20
MOST = 1.15  # from then on
#: a function, and what gives the arguments of a call by its number
Program = tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]


def call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[float, Any]:
    own = copy.deepcopy(arguments)
    begin = time.thread_time()
    value = function(*own)
    return 1e3 * (time.thread_time() - begin), value


def are_alike(a: Any, b: Any) -> bool:
    """Sums of arrays may differ in the last bits, and what is computed from them."""
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(are_alike, a, b))
    if isinstance(a, (float, complex, np.ndarray, np.generic)):
        return bool(np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True))
    return bool(a == b)


class Row(NamedTuple):
    plain: float
    captures: int
    hits: int
    first: float  # calls, over plain ones
    later: float
    differs: bool
    reasons: list[str]


def measured(program: Program, calls: int) -> Row:
    function, arguments_of = program
    compiled = dvm.compile(function)
    plain, taken, differs = [], [], False
    for number in range(calls):
        arguments = arguments_of(number)
        pair = [call(each, arguments) for each in (function, compiled)]
        plain.append(pair[0][0])
        taken.append(pair[1][0])
        differs = differs or not are_alike(pair[0][1], pair[1][1])
    first, later = (
        sum(taken[part]) / sum(plain[part]) for part in (slice(AHEAD_BY), slice(AHEAD_BY, None))
    )
    stats = compiled.stats
    reasons = list(map(str, compiled.fallback_reasons))
    return Row(np.median(plain), stats.captures, stats.hits, first, later, differs, reasons)


def report(programs: Mapping[str, Program], calls: int, stance: str) -> None:
    """Print a line for each program, and how many are ahead.

    Raises:
        SystemExit: if a call gave another value than a plain one.
    """
    warnings.simplefilter("ignore")
    print(f"{'':22}{'plain ms':>9}{'captures':>9}{'hits':>5}{'first 20':>9}{'later':>7}")
    rows = {}
    with dvm.stance(stance):
        for name, program in programs.items():
            row = rows[name] = measured(program, calls)
            notes = ["ahead" if row.first < 1 else "", "DIFFERS" if row.differs else ""]
            print(
                f"{name:22}{row.plain:9.2f}{row.captures:9}{row.hits:5}{row.first:9.2f}"
                f"{row.later:7.2f}  {' '.join(notes)}",
                flush=True,
            )
            for reason in row.reasons:
                print(f"    {reason}")
    ahead = sum(row.first < 1 for row in rows.values())
    slow = [name for name, row in rows.items() if row.later > MOST]
    print(f"{ahead} of {len(rows)} ahead by call {AHEAD_BY}; above {MOST} from then on: {slow}")
    different = [name for name, row in rows.items() if row.differs]
    if different:
        raise SystemExit(f"other values than plain: {different}")
