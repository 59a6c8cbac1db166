"""Containers that are written into while something iterates over them: each kind, by each walk."""

from __future__ import annotations

import collections
import copy
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm

NUMBERS = [1.0, 2.0, 3.0, 4.0]
ITEMS = dict(zip("abcd", NUMBERS, strict=True))
#: name: (what makes it, where its parts lie)
CONTAINERS: dict[str, tuple[Callable[[], Any], tuple[Any, ...]]] = {
    "list": (lambda: list(NUMBERS), (0, 2, -1)),
    "array": (lambda: np.array(NUMBERS), (0, 2, -1)),
    "apart": (lambda: np.arange(8.0)[::2], (0, 2, -1)),
    "backwards": (lambda: np.arange(4.0)[::-1], (0, 2, -1)),
    "deque": (lambda: collections.deque(NUMBERS), (0, 2, -1)),
    "dict": (lambda: dict(ITEMS), ("a", "c", "d")),
    "defaultdict": (lambda: collections.defaultdict(float, ITEMS), ("a", "c", "d")),
    "OrderedDict": (lambda: collections.OrderedDict(ITEMS), ("a", "c", "d")),
}
OF_SEQUENCES = {
    "iter": "c",
    "reversed": "reversed(c)",
    "enumerated": "(v for _, v in enumerate(reversed(c)))",
    "zipped": "(u + v for u, v in zip(c, reversed(c)))",
    "mapped": "map(lambda v: v * 2, c)",
    "reversed in map": "map(lambda v: v * 2, reversed(c))",
    "generator": "(v for v in reversed(c))",
}
OF_DICTS = {
    "values": "c.values()",
    "items": "(v for _, v in c.items())",
    "keys": "(c[k] for k in c)",
    "reversed values": "reversed(c.values())",
    "reversed items": "(v for _, v in reversed(c.items()))",
    "zipped": "(c[k] + v for k, v in zip(c, c.values()))",
}
#: before the first item is asked for, and for each
PROGRAM = """
def program(c, n):
    walk = {walk}
    c[{early}] = 10.0
    out = []
    for v in walk:
        c[{late}] = v + n
        if v > {more}:
            c[{other}] += v
        out.append(v)
    return out, c
"""
CASES = [
    pytest.param(name, text, id=f"{name}, {walk}")
    for name, (_, places) in CONTAINERS.items()
    for walk, text in (OF_DICTS if places[0] == "a" else OF_SEQUENCES).items()
]


@pytest.mark.parametrize(("name", "text"), CASES)
def test_each_item_is_read_when_it_is_reached(name: str, text: str) -> None:
    make, places = CONTAINERS[name]
    for early, late, other in itertools.permutations(places):
        source = PROGRAM.format(
            walk=text, early=repr(early), late=repr(late), other=repr(other), more=2.5
        )
        scope: dict[str, Any] = {}
        exec(source, scope)
        compiled = dvm.compile(scope["program"])
        with dvm.stance("force_capture"):
            for number in (0.5, 1.0, -2.0, 0.5):
                plain = scope["program"](make(), number)
                own = compiled(copy.copy(make()), number)
                assert repr(own) == repr(plain), source
        assert compiled.stats.hits + compiled.stats.captures > 0, compiled.fallback_reasons


@pytest.mark.parametrize("first", [0, 1, 3])
def test_lists_that_change_their_length(first: int) -> None:
    def program(values: list[float], count: int) -> list[float]:
        seen = []
        for v in reversed(values):
            if len(values) > count:
                values.pop()
            seen.append(v)
        return seen

    compiled = dvm.compile(program)
    with dvm.stance("force_capture"):
        for count in (first, 2, first, 5):
            assert compiled(list(NUMBERS), count) == program(list(NUMBERS), count)


def test_turns_whose_lists_lack_what_recorded_ones_have() -> None:
    """A turn that is tried by itself knows less of a list or dict; it is no error of dvm's."""

    def stores(count: int, last: float) -> list[float]:
        values = [0.0]
        values.append(last)
        for i in range(count):
            values[1] = last + i
            values[-1] += 1
        return values

    def deletes(values: list[float]) -> dict[bool, list[float]]:
        groups: dict[bool, list[float]] = {}
        for v in values:
            groups.setdefault(v % 2 >= 1, []).append(v)
        for key in list(groups):
            if key:
                del groups[key]
        return groups

    for program, calls in (
        (stores, [(10, 0.5), (3, 0.5), (0, 1.0), (5, 2.0)]),
        (deletes, [([1.0, 2.0, 3.0],), ([5.0],), ([2.0],), ([],), ([5.0],)]),
    ):
        compiled = dvm.compile(program)
        with dvm.stance("force_capture"):
            for call in calls:
                assert compiled(*copy.deepcopy(call)) == program(*copy.deepcopy(call))
        assert not compiled.fallback_reasons
