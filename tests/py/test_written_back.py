"""Of a container the path writes back what the program wrote; others may write elsewhere meanwhile.

`others` stands for another thread: a replay runs it where the program does, and the path is told
that it changes nothing.
"""

from __future__ import annotations

import copy
import heapq
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm

Program = Callable[[Any, Any], Any]


def set_first(c: Any, v: Any) -> None:
    c[0] = v


def set_twice(c: Any, v: Any) -> None:
    c[0] = v
    c[0] = v + 1


def add_to_first(c: Any, v: Any) -> None:
    c[0] = c[0] + v


def swap(c: Any, _v: Any) -> None:
    c[0], c[2] = c[2], c[0]


def append(c: Any, v: Any) -> None:
    c.append(v)
    c.append(v + 1)


def set_and_append(c: Any, v: Any) -> None:
    c[2] = v
    c += [v, v]
    c[2] = v + 1


def look_and_set(c: Any, v: Any) -> None:
    if len(c) > 2:
        c[-2] = v


def insert(c: Any, v: Any) -> None:
    c.insert(0, v)
    c[3] = v


def pop_and_push(c: Any, _v: Any) -> None:
    c.append(c.pop(0) * 2)


def set_slice(c: Any, v: Any) -> None:
    c[2:] = [v, v, v]


def delete(c: Any, _v: Any) -> None:
    del c[0]


def delete_slice(c: Any, _v: Any) -> None:
    del c[2:]


def push_heap(c: Any, _v: Any) -> None:
    heapq.heappush(c, 2.5)


LISTS: list[Program] = [
    *(set_first, set_twice, add_to_first, swap, append, set_and_append, look_and_set, insert),
    *(pop_and_push, set_slice, delete, delete_slice, push_heap),
]


def left(c: Any, v: Any) -> None:
    c.appendleft(v)
    c.append(v)
    c.popleft()


def rotate(c: Any, _v: Any) -> None:
    c.rotate(1)


def extend_both(c: Any, v: Any) -> None:
    c.extend([v, v])
    c.extendleft([v])


DEQUES: list[Program] = [set_first, append, left, rotate, extend_both]


def new_key(c: Any, v: Any) -> None:
    c["new"] = v


def read_and_set(c: Any, v: Any) -> None:
    for key in list(c):
        c[key] = v


def delete_key(c: Any, v: Any) -> None:
    del c[0]
    c["more"] = v


def move_key(c: Any, v: Any) -> None:
    c[0] = c.pop(0)
    c["last"] = v


def pop_and_default(c: Any, v: Any) -> None:
    c.pop(2)
    c.setdefault("k", v)
    c.setdefault(0, v)


DICTS: list[Program] = [set_first, new_key, delete_key, move_key, pop_and_default, read_and_set]


def add(c: Any, _v: Any) -> None:
    c.add("new")
    c.discard(1)
    c.discard("nothing")


def update(c: Any, _v: Any) -> None:
    c |= {5, 6}
    c -= {0}
    c.update([9])


def symmetric(c: Any, _v: Any) -> None:
    c ^= {0, 7}


SETS: list[Program] = [add, update, symmetric]

ITEMS = {0: 0.5, 1: 1.5, 2: 2.5}
CASES = [
    *((program, [0.5, 1.5, 2.5, 3.5], lambda c, n: c.__setitem__(1, n)) for program in LISTS),
    *(
        (program, deque([0.5, 1.5, 2.5, 3.5], 9), lambda c, n: c.__setitem__(1, n))
        for program in DEQUES
    ),
    *((program, {0: 0.5, 1: 1.5, 2: 2.5}, lambda c, n: c.update({1: n})) for program in DICTS[:-1]),
    *(
        (program, {0: 0.5, 1: 1.5, 2: 2.5}, lambda c, n: c.update({n + 50: n}))
        for program in DICTS[:-1]
    ),
    *((program, {0, 1, 2}, lambda c, n: c.add(n + 100)) for program in SETS),
]


def compared(program: Program, start: Any, write: Callable[[Any, int], Any]) -> dvm.Stats:
    """Plain and compiled, where another thread writes during the call."""

    def others(x: Any) -> Any:
        write(shared, turn)
        return x

    dvm.annotate(others, leaf=True, pure=True)

    def run(c: Any, x: Any) -> Any:
        y = others(x) * 2
        program(c, y)
        return y

    compiled = dvm.compile(run)
    for turn in range(5):
        x = np.full(2, float(turn))
        results = []
        for function in (run, compiled):
            shared = copy.deepcopy(start)
            function(shared, x)
            results.append(repr(shared))
        assert results[0] == results[1]
    return compiled.stats


@pytest.mark.parametrize(
    ("program", "start", "write"),
    CASES,
    ids=[
        f"{type(start).__name__}-{program.__name__}-{i}"
        for i, (program, start, _) in enumerate(CASES)
    ],
)
def test_what_others_write_elsewhere_stays(program: Program, start: Any, write: Any) -> None:
    stats = compared(program, start, write)
    if isinstance(start, (list, deque)):  # of others the keys are looked at, which change here
        assert stats.hits >= (3 if program is push_heap else 4)


@pytest.mark.parametrize("program", [set_first, set_twice, add_to_first, swap, append])
def test_lists_of_any_length_are_one_path(program: Program) -> None:
    def run(c: Any, v: Any) -> None:
        program(c, v)

    compiled = dvm.compile(run)
    for length in range(3, 13):
        plain, given = ([float(i) for i in range(length)] for _ in range(2))
        run(plain, 2.5)
        compiled(given, 2.5)
        assert plain == given
    assert compiled.stats.captures == 1
    with pytest.raises(IndexError) if program is not append else pytest.raises(AttributeError):
        compiled([] if program is not append else (), 2.5)
    assert compiled.stats.hits == 9
