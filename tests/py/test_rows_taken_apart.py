"""Rows of changing length: each way to take one apart, for each kind of row, against Python."""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm


def gathered(*parts: Any, **named: Any) -> Any:
    return parts, sorted(named)


def two(a: Any, b: Any) -> Any:
    return a + b


class Kept:
    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def method(self, *parts: Any) -> Any:
        return len(parts), self.parts


KEPT = Kept(1)

WAYS: dict[str, Callable[[Any], Any]] = {
    "f(*l)": lambda row: gathered(*row),
    "f(*l, k=1)": lambda row: gathered(*row, k=1),
    "f(9, *l)": lambda row: gathered(9, *row),
    "f(*l, *l)": lambda row: gathered(*row, *row),
    "f(a, b)": lambda row: two(*row),
    "lambda": lambda row: (lambda *parts: parts)(*row),
    "lambda a, *b": lambda row: (lambda a, *rest: (a, rest))(*row),
    "class": lambda row: Kept(*row).parts,
    "method": lambda row: KEPT.method(*row),
    "nested": lambda row: [gathered(*part) for part in (row, row)],
    "max": lambda row: max(*row),
    "np.hypot": lambda row: np.hypot(*row),
    "[*l]": lambda row: [*row],
    "a, *b": lambda row: (lambda a, *b: (a, b))(*[*row]),
    "for": lambda row: [part + 1 for part in row],
    "enumerate": lambda row: list(enumerate(row)),
    "zip": lambda row: list(zip(row, row, strict=True)),
    "zip(*)": lambda row: list(zip(*[row, row], strict=True)),
    "sum": lambda row: sum(row),
    "sum of lists": lambda row: sum([[part] for part in row], []),  # noqa: RUF017
    "sum of tuples": lambda row: sum([(part,) for part in row], (7,)),
    "+": lambda row: gathered(*([*row] + [0, *row])),  # noqa: RUF005
    "sorted": lambda row: sorted(row),
    "array": lambda row: np.array([*row], dtype="f8") * 2,
    "in": lambda row: 3 in row,
    "len": lambda row: len(row),
}
KINDS: dict[str, Callable[[list[int]], Any]] = {
    "list": list,
    "tuple": tuple,
    "deque": deque,
    "array": np.array,
    "dict": lambda parts: dict.fromkeys(parts, 1),
    "range": lambda parts: range(len(parts)),
    "iterator": iter,
}


def outcome(function: Callable[[Any], Any], row: Any) -> str:
    try:
        return repr(function(row))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_for_every_length(way: str, kind: str) -> None:
    rng = random.Random(f"{way} {kind}")
    compiled = dvm.compile(WAYS[way])
    for _ in range(12):
        parts = [rng.randint(1, 9) for _ in range(rng.choice([0, 1, 2, 2, 3, 4]))]
        wanted = outcome(WAYS[way], KINDS[kind](parts))
        assert outcome(compiled, KINDS[kind](parts)) == wanted, parts


LEFT: dict[str, Callable[[], Any]] = {
    "list": lambda: [1.0, 2.0],
    "tuple": lambda: (1.0, 2.0),
    "deque": lambda: deque([1.0, 2.0]),
    "set": lambda: {1.0, 2.0},
    "dict": lambda: {1.0: 2.0},
    "text": lambda: "ab",
    "int": lambda: 5,
    "float": lambda: 1.5,
    "numpy int": lambda: np.int64(6),
    "numpy float": lambda: np.float32(2.5),
    "array": lambda: np.array([3.0, 4.0]),
}
RIGHT = LEFT | {
    "range": lambda: range(1, 3),
    "iterator": lambda: iter([1.0, 5.0]),
    "bool": lambda: True,
    "empty": list,
    "ints": lambda: np.array([1, 2]),
}
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"]


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_in_place(operator: str, left: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def plain(a, b):\n    a {operator}= b\n    return a\n", scope)
    plain = scope["plain"]
    for right, make in RIGHT.items():
        compiled = dvm.compile(plain)

        def called(function: Any, make: Any = make) -> tuple[Any, ...]:
            a = LEFT[left]()
            try:
                with np.errstate(all="ignore"):
                    made = function(a, make())
            except Exception as error:
                return type(error).__name__, str(error), repr(a)
            return repr(made), type(made), repr(a), made is a

        wanted = called(plain)
        for _ in range(3):
            assert called(compiled) == wanted, f"{left} {operator}= {right}"


def generated(row: Any) -> Any:
    yield from row


SHOWN: dict[str, Callable[[Any], Any]] = {
    "repr of map": lambda row: repr(map(abs, row)),
    "str of reversed": lambda row: str(reversed(row)),
    "f-string": lambda row: f"{zip(row, row, strict=True)}",
    "%": lambda row: "%s" % (filter(None, row),),  # noqa: UP031
    "format": lambda row: "{}".format(enumerate(row)),  # noqa: UP032
    "generator": lambda row: repr(generated(row)),
    "in a list": lambda row: repr([map(abs, row)]),
    "in a dict": lambda row: str({1: iter(row)}),
    "bool": lambda row: bool(map(abs, row)),
    "type": lambda row: type(map(abs, row)),
    "join": lambda row: "".join(map(str, row)),
}


@pytest.mark.parametrize("way", SHOWN)
def test_iterators_that_are_shown_are_not_taken_apart(way: str) -> None:
    compiled = dvm.compile(SHOWN[way])
    for row in ([1, 2], [3, 4], [5]):
        wanted, made = outcome(SHOWN[way], row), outcome(compiled, row)
        assert re.sub("0x[0-9a-f]+", "", made) == re.sub("0x[0-9a-f]+", "", wanted)
