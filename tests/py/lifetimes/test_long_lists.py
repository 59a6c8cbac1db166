"""Lists of many objects: what a recording drops when the program does, and what that costs."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm

SAID: list[Any] = []


class Tells:
    def __init__(self, name: Any) -> None:
        self.name = name

    def __del__(self) -> None:
        SAID.append(self.name)


def made(count: int) -> list[Any]:
    return [[Tells(k)] for k in range(count)]


def replaced(rows: Any, x: Any) -> Any:
    total = 0.0
    for k in range(len(rows)):
        total += rows[k] is not rows
        rows[k] = None
        SAID.append(("line", k))
    return x * total


def popped(rows: Any, x: Any) -> Any:
    while rows:
        SAID.append(("line", len(rows)))
        row = rows.pop()
        if len(rows) % 2:
            row.clear()
    return x * 2


def emptied(rows: Any, x: Any) -> Any:
    for row in rows:
        row.pop()
        SAID.append("line")
    rows.clear()
    SAID.append("cleared")
    return x + 1


def dropped_whole(rows: Any, x: Any) -> Any:
    rows = rows.pop()  # what the caller gives it keeps until the call is over
    kept = [rows[3], rows[5]]
    rows = None
    SAID.append("dropped")
    kept.pop()
    SAID.append("popped")
    return x + len(kept)


def refilled(rows: Any, x: Any) -> Any:
    for k in range(len(rows)):
        rows[k].append(Tells(("new", k)))
        rows[k] = [rows[k][1]]
        SAID.append(("line", k))
        rows[k - 1] = rows[k]
    return x


@pytest.mark.parametrize("count", [20, 70])
@pytest.mark.parametrize("program", [replaced, popped, emptied, dropped_whole, refilled])
def test_what_long_lists_drop_dies_at_once(program: Callable[..., Any], count: int) -> None:
    logs = []
    for function in (program, dvm.compile(program)):
        with dvm.stance("force_capture"):
            for _ in range(3):
                rows = [made(count)] if program is dropped_whole else made(count)
                value = function(rows, np.ones(3))
                del rows
                SAID.append(("value", value.tolist()))
        gc.collect()
        logs.append(list(SAID))
        SAID.clear()
    assert logs[0] == logs[1]


def visited(rows: Any, n: int) -> int:
    found = 0
    for k in range(n):
        a, b = rows[k]
        while found > a:
            found -= b
        found += 1
    return found


@pytest.mark.parametrize("made", [list, dict])
def test_what_is_looked_at_for_a_line_does_not_grow_with_a_container(made: type) -> None:
    def looked_at(count: int) -> int:
        rows = made(enumerate([k, 1] for k in range(count)))
        rows = rows if made is dict else [row for _, row in rows]
        number: int = _dvm.record(visited, rows, 200)["looked_at"]
        return number

    few, more = looked_at(500), looked_at(8000)
    assert more - few < 4 * (8000 - 500)  # it was some 2,000 times that
