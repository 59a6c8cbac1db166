"""Attributes that turns of a loop read and set: what is left of the objects, and what runs them."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import differences
from loops.check import outcome as seen_of
from loops.generated import function_of
from loops.numbers import Writer, arguments
from loops.people import controlled, walked
from whole import how_many

COUNTS = (40, 0, 50, 1)


class Cell:
    default = 3.0

    def __init__(self, value: Any = 1.0) -> None:
        self.value, self.count = value, 0
        self.line = np.zeros(64)

    def add(self, x: float) -> float:
        self.value = self.value + x
        self.count += 1
        return self.value

    @property
    def twice(self) -> Any:
        return self.value * 2

    @twice.setter
    def twice(self, x: Any) -> None:
        self.value = x / 2


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = value


def summed(a, b, n):
    for i in range(n):
        a.value = a.value * 0.5 + i
        a.count += 1
    return a.value


def by_method(a, b, n):
    total = 0.0
    for i in range(n):
        total += a.add(0.25 * i)
    return total


def of_two(a, b, n):
    for i in range(n):
        a.value = a.value + b.value * 0.125
        b.value = b.value - 0.5
    return a.value - b.value


def left_early(a, b, n):
    for i in range(n):
        a.value = a.value + 1.5
        if a.value > 30.0:
            break
        a.count += 1
    return i if n else -1


def left_at_once(a, b, n):
    while True:
        if a.count >= n:
            break
        a.count += 2
        a.value = a.value + 0.5
    return a.count


def returned_early(a, b, n):
    for i in range(n):
        a.value = a.value + 1.5
        if a.value > 50.0:
            return a.count
        a.count += 1
    return -1


def failing(a, b, n):
    for i in range(n):
        a.count += 1
        a.value = a.value / (45 - i)
    return a.value


def within(a, b, n):
    for i in range(n):
        a.count += i
        for j in range(5):
            a.value = a.value * 0.875 + j
        b.value = a.value + a.count
    return b.value


def in_a_while(a, b, n):
    while a.count < n:
        a.count += 2
        a.value = a.value + 0.5
    return a.count


def written(a, b, n):
    for i in range(n):
        a.value = a.value + 0.5
        a.line[i] = a.value
    return a.line.sum()


def rebound(a, b, n):
    for i in range(n):
        a.line = a.line * 0.5 + i
    return a.line


def swapped(a, b, n):
    for i in range(n):
        a.line, b.line = b.line, a.line + 1.0
    return a.line


def of_a_property(a, b, n):
    for i in range(n):
        a.twice = a.twice + 1.0
    return a.value


def of_the_class(a, b, n):
    for i in range(n):
        a.default = a.default + 1.0
    return a.default


def made_there(a, b, n):
    for i in range(n):
        a.new = i * 2.0
        a.value = a.value + a.new
    return a.value


def seen_in_a_list(a, b, n):
    held = [b, a]
    for i in range(n):
        a.value = a.value + 1.0
        b.count += held[i % 2].value > 20.0
    return b.count


def asked_by_name(a, b, n):
    for i in range(n):
        a.value = a.value + 1.0
        b.count += int(getattr(b, "value") > 20.0)  # noqa: B009
        b.value = vars(a)["value"]
    return b.count


def deleted(a, b, n):
    for i in range(n):
        a.value = a.value + 1.0
        a.there = i
        del a.there
    return a.value


def twice_in_a_row(a, b, n):
    for _ in range(n):
        a.value = a.value + 1.0
    for _ in range(n):
        a.value = a.value * 0.5
        b.count += 1
    return a.value


def before_and_behind(a, b, n):
    a.value = 5.0
    for _ in range(n):
        a.value = a.value * 0.75
    a.value = a.value + 1.0
    return a.value


def of_one_made_here(a, b, n):
    own = Cell(a.value)
    for i in range(n):
        own.add(i * 0.5)
    b.value = own
    return own.count


def one_then_the_other(a, b, n):
    at = a
    for i in range(n):
        at.value = at.value + 1.0
        at = b
    return at.value


PROGRAMS = [
    value
    for value in list(vars().values())
    if callable(value) and getattr(value, "__code__", None)
    and value.__code__.co_varnames[:3] == ("a", "b", "n")
]  # fmt: skip


def state(value: Any) -> Any:
    """All that can be seen of it, as lists."""
    if isinstance(value, Slotted):
        return [value.value]
    if isinstance(value, Cell):
        return [[name, state(each)] for name, each in vars(value).items()]
    return value


def outcome(function: Callable[..., Any], a: Any, b: Any, n: int) -> list[Any]:
    try:
        result = state(function(a, b, n))
    except ArithmeticError as error:
        result = str(error)
    return [result, state(a), state(b), getattr(a, "line", 0) is getattr(b, "line", 1)]


def pairs() -> Any:
    """Two objects, one twice, two that share an array, and one of whose values are integers."""
    yield lambda: (Cell(), Cell(2.0))
    yield lambda: (one := Cell(), one)

    def sharing():
        one, other = Cell(), Cell(0.5)
        other.line = one.line
        return one, other

    yield sharing
    yield lambda: (Cell(1), Cell(2))


@pytest.mark.parametrize("stance", ["default", "force_capture"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_objects_are_left_as_the_program_leaves_them(program: Any, stance: str) -> None:
    compiled = dvm.compile(program)
    with dvm.stance(stance):
        for number, (make, n) in enumerate(itertools.product(pairs(), COUNTS)):
            wanted, found = outcome(program, *make(), n), outcome(compiled, *make(), n)
            assert not (wrong := differences(wanted, found)), f"call {number}, {n}: {wrong}"


def test_slots_are_variables_too() -> None:
    compiled = dvm.compile(of_two)
    with dvm.stance("force_capture"):
        for n in COUNTS:
            one, other = (Slotted(0.5), Slotted(2.0)), (Slotted(0.5), Slotted(2.0))
            assert outcome(of_two, *one, n) == outcome(compiled, *other, n)
    assert compiled.stats.hits >= 3


@pytest.mark.parametrize(
    "program",
    [
        *(summed, by_method, of_two, left_early, left_at_once),
        *(within, in_a_while, written, rebound, swapped),
    ],
    ids=lambda program: program.__name__,
)
def test_turns_that_set_attributes_are_one_body(program: Any) -> None:
    compiled = dvm.compile(program)
    with dvm.stance("force_capture"):
        for n in (40, 50, 60, 45, 64):
            wanted, found = (outcome(f, Cell(), Cell(2.0), n) for f in (program, compiled))
            assert not differences(wanted, found)
    assert compiled.stats.hits >= 3, (compiled.stats, compiled.fallback_reasons)


@pytest.mark.parametrize("program", [controlled, walked])
def test_methods_of_objects_run_on_the_machine(program: Any) -> None:
    compiled = dvm.compile(program)
    with dvm.stance("force_capture"):
        for number in range(4):
            one, other = program.make(number), program.make(number)
            assert not differences(list(program(*one)), list(compiled(*other)))
            assert not differences(list(vars(one[0]).values()), list(vars(other[0]).values()))
    (loop,) = vars(compiled)["loops"].values()
    assert loop.turns["on_the_machine"] > 2000
    assert compiled.stats.captures == 1


class Holder:
    """Of the variables of a written program that are its attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def in_attributes(seed: int) -> str:
    """A written program of which some variables are attributes of `o`, or of `o` and `u`."""
    chosen, source = random.Random(seed), Writer(seed).source()
    head, body = source.split("\n", 1)
    for name in chosen.sample(["s", "t", "k", "v", "p", "q", "x"], chosen.randrange(1, 6)):
        body = re.sub(rf"\b{name}\b", f"{chosen.choice('oou')}.{name}", body)
    return head.replace("f(", "f(o, u, ") + "\n" + body


@pytest.mark.parametrize("part", range(4))
def test_written_programs(part: int) -> None:
    """Both objects are one in some calls."""
    hits = 0
    for seed in range(part, how_many(16, 400), 4):
        source = in_attributes(seed)
        function = function_of(source, seed)
        compiled = dvm.compile(function)
        for number in range(5):
            states = []
            for called in (function, compiled):
                x, m, s, t, k, n = arguments(seed, number)
                first = Holder(s=s, t=t, k=k, x=x.copy(), v=1.5, p=2, q=0.25)
                other = Holder(s=t, t=s, k=k + 1, x=x[::-1].copy(), v=0.5, p=1, q=0.5)
                given = [first, first if number == 3 else other, x.copy(), m.copy(), s, t, k, n]
                states.append(seen_of(called, given))
            plain, got = states
            assert not (wrong := differences(plain[0], got[0])), f"{wrong}\n{number}\n{source}"
            assert plain[1:3] == got[1:3], f"{number}\n{source}"
            assert not (wrong := differences(plain[3], got[3])), f"{wrong}\n{number}\n{source}"
        hits += compiled.stats.hits
    assert hits > 0
