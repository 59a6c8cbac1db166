"""Generators with a try or with: what they finish, and when, is what it is in plain Python."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dvm
from loops.generated import function_of

LOG: list[Any] = []


def finishing(x, n=3):
    try:
        for i in range(n):
            yield x * i
    finally:
        LOG.append("end")


def within(x):
    with np.errstate(over="ignore"):
        yield x
        yield x * 2


def recovering(x):
    for i in range(3):
        try:
            if i == 1:
                raise ValueError
            yield x + i
        except ValueError:
            yield x * 10


def total(x):
    s = 0
    for y in finishing(x):
        s = s + y
    LOG.append("after")
    return s


def comprehension(x):
    return [y + 1 for y in finishing(x)]


def under_an_error_state(x):
    s = 0
    for y in within(x):
        s = s + y
    return s


def caught_inside(x):
    return [y * 2 for y in recovering(x)]


def nested(x):
    s = 0
    for y in finishing(x, 2):
        for z in within(y):
            s = s + z
    return s


def caught_outside(x):
    def failing(x):
        try:
            yield x
            raise KeyError("inside")
        finally:
            LOG.append("end")

    s = 0
    try:
        for y in failing(x):
            s = s + y
    except KeyError as error:
        LOG.append(str(error))
    return s


def left_by_break(x):
    s = 0
    for y in finishing(x):
        s = s + y
        break
    LOG.append("after")
    return s


def left_by_exception(x):
    try:
        for _ in finishing(x):
            raise KeyError("a")
    except KeyError:
        LOG.append("caught")
    return x


def left_by_return(x):
    for y in finishing(x):
        if y.sum() >= 0:
            return y
    return x


def never_begun(x):
    for _ in finishing(x):
        pass
    generator = finishing(x)
    del generator
    return x + 1


def kept(x):
    return finishing(x), x + 1


def in_a_cycle(x):
    holder = [finishing(x)]
    holder.append(holder)
    next(holder[0])
    del holder
    gc.collect()
    LOG.append("after")
    return x + 1


def outcome(function: Callable[..., Any], *args: Any) -> tuple[str, str]:
    LOG.clear()
    try:
        result = repr(function(*args))
    except Exception as error:
        result = repr(error)
    return result.split(" at 0x")[0], repr(LOG)


FOLLOWED = (total, comprehension, under_an_error_state, caught_inside, nested, caught_outside)
LEFT = (left_by_break, left_by_exception, left_by_return, never_begun, kept, in_a_cycle)


@pytest.mark.parametrize("function", [*FOLLOWED, *LEFT], ids=lambda function: function.__name__)
def test_they_do_what_they_do_plain(function: Callable[..., Any]) -> None:
    compiled = dvm.compile(function)
    for size in (3, 3, 5, 1, 3):
        x = np.arange(1.0, 1.0 + size)
        assert outcome(compiled, x) == outcome(function, x)
    if function in FOLLOWED:
        assert (compiled.stats.captures, compiled.stats.fallbacks) == (1, 0), compiled


class Writer:
    """Writes a generator of nested try, with and yield, and a function that iterates over it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def write(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def statement(self, depth: int) -> None:
        kinds = ["yield", "yield", "log", "raise"]
        kinds += ["try", "finally", "with", "for"] if depth < 4 else []
        kind = self.random.choice(kinds)
        match kind:
            case "yield":
                self.write(depth, f"yield x * {self.random.randint(1, 9)}")
            case "log":
                self.write(depth, f"log.append({self.random.randint(1, 99)})")
            case "raise":
                self.write(
                    depth, f"if flags[{self.random.randrange(3)}]: raise ValueError('{depth}')"
                )
            case "for":
                self.write(depth, f"for _ in range({self.random.randint(0, 2)}):")
                self.block(depth + 1)
            case "with":
                self.write(depth, "with np.errstate(all='ignore'):")
                self.block(depth + 1)
            case "try" | "finally":
                self.write(depth, "try:")
                self.block(depth + 1)
                self.write(
                    depth, "finally:" if kind == "finally" else "except ValueError as error:"
                )
                self.write(
                    depth + 1, "log.append('f')" if kind == "finally" else "log.append(str(error))"
                )
                if self.random.random() < 0.3:
                    self.block(depth + 1)

    def block(self, depth: int) -> None:
        for _ in range(self.random.randint(1, 2)):
            self.statement(depth)

    def source(self) -> str:
        self.write(0, "def f(x, flags, log):")
        self.write(1, "def g(x):")
        self.write(2, "try:")
        self.block(3)
        self.write(2, "finally:")
        self.write(3, "log.append('end')")
        self.write(2, "yield x")
        self.write(1, "s, n = x * 0, 0")
        self.write(1, "for y in g(x + 1):")
        self.write(2, "s, n = s + y, n + 1")
        if self.random.random() < 0.3:
            self.write(2, f"if flags[3] and n > {self.random.randint(0, 2)}: break")
        self.write(1, "log.append('after')")
        self.write(1, "return s, n")
        return "\n".join(self.lines)


def calls(seed: int) -> Iterator[tuple[Any, list[bool]]]:
    flags = np.random.default_rng(seed).random((8, 4)) < 0.3
    for number, row in enumerate(flags.tolist()):
        yield np.arange(2.0 + number % 2), row if number > 1 else [False] * 4


# Of a generator that yields while it is closed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("part", range(4))
def test_written_ones_do_what_they_do_plain(part: int) -> None:
    hits = 0
    for seed in range(part, 120, 4):
        source = Writer(seed).source()
        function = function_of(source, seed)
        compiled = dvm.compile(function)
        for x, flags in calls(seed):
            seen: list[tuple[str, list[Any]]] = []
            for call in (function, compiled):
                log: list[Any] = []
                try:
                    result = repr(call(x, flags, log))
                except ValueError as error:
                    result = repr(error)
                seen.append((result, log))
            assert seen[0] == seen[1], source
        hits += compiled.stats.hits
    assert hits > 30
