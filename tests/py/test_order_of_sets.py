"""Going through a set: in the order in which the program's own insertions have left it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import dvm

NAMES = {"a": 1, "bb": 2, "ccc": 3, "dd": 4}


def grown(x: Any, _: Any) -> Any:
    names = set(NAMES)
    names |= {"e", "f"}
    names |= {f"new_{name}" for name in set(NAMES)}
    names.discard("bb")
    names.add("bb")
    seen = []
    for name in names:
        if name == "ccc":
            continue
        seen.append(name)
        x = x * len(name) - 1
    return x, seen, {name: len(name) for name in names}


def displayed(x: Any, _: Any) -> Any:
    return x + 1, [[name] for name in {"q", "rr", "sss", "t", "uuuuu", 17, 4, None}]


def joined(x: Any, _: Any) -> Any:
    both = (set(NAMES) | {"z"}) & (set(NAMES) ^ {"bb"})
    more = both.union({"k"}, ("u", "vv")).difference({"a"}).copy()
    return x + 1, [[name] for name in copy.deepcopy(more)]


def left_early(x: Any, _: Any) -> Any:
    for name in {"q", "rr", "sss", "t"}:
        if len(name) > 1:
            return x, name
    return x, ""


def many(x: Any, _: Any) -> Any:
    seen = []
    for name in {f"name {number}" for number in range(60)}:
        seen.append(name)
    return x + 1, seen


def of_the_caller(x: Any, given: Any) -> Any:
    return x + 1, [[name] for name in given]


def made_of_the_callers(x: Any, given: Any) -> Any:
    return x + 1, [[name] for name in set(given) | {"q"}]


def without_python(x: Any, _: Any) -> Any:
    return x + 1, list({"q", "rr", "sss", "t"})


@pytest.mark.parametrize(
    ("program", "is_captured"),
    [
        (grown, True),
        (displayed, True),
        (joined, True),
        (left_early, True),
        (many, True),
        (of_the_caller, False),
        (made_of_the_callers, False),
        (without_python, False),
    ],
)
def test_it_is_pythons_own(program: Any, is_captured: bool) -> None:
    compiled = dvm.compile(program)
    with dvm.stance("force_capture"):
        for count in (3, 3, 5, 4):
            x, names = np.linspace(1, 2, count), list("abcdefgh")
            given = [set(names), {*names[4:], *names}]
            made, wanted = (f(x, given[count % 2]) for f in (compiled, program))
            assert repr(made) == repr(wanted)
    assert (compiled.stats.hits == 3) == is_captured, compiled.fallback_reasons
