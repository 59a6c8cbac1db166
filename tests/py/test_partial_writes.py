"""Random sequences of writes and reads of parts of arrays, compared with plain NumPy.

Each program gets two arrays (sometimes parts of one, or read-only), makes views of them and arrays
of its own, and writes and reads parts of all by whatever index. Results, exceptions and what the
arrays hold afterwards must be NumPy's, bit by bit.
`DVM_TEST_COUNT=n` runs n programs instead of the usual number.
"""

from __future__ import annotations

import random
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest

import dvm
from whole import how_many

PROGRAMS = how_many(64, 1000)
CALLS = 5


class Writer:
    """Writes one program, statement by statement."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.arrays = ["x", "y"]
        self.straight = ["x", "y"]  # of which no row is another one's column
        self.lines: list[str] = []
        self.reads: list[str] = []

    def pick(self, *things: str) -> str:
        return self.random.choice(things)

    def number(self) -> str:
        return self.pick("0", "1", "2", "3", "-1", "-2", "i", "j", "-i", "x.shape[0] - 2")

    def part(self) -> str:
        lower, upper = (self.pick("", self.number()) for _ in range(2))
        step = self.pick("", "", "", ":2", ":-1", ":-2", ":3")
        return f"{lower}:{upper}{step}"

    def basic(self) -> str:
        first, second = (self.pick(self.part(), self.number()) for _ in range(2))
        return self.pick(
            first, first, f"{first}, {second}", f":, {second}", "...", f"..., {second}"
        )

    def places(self) -> str:
        return self.pick(
            *("idx", "[i, j]", "[j, i]", "[0, -1]", "(idx, 0)", "(idx, idx % 3)", "[1, 1]"),
            *("(slice(None), [0, 2])", "idx % 2", "x.shape[0] - 1 - idx", "([0, 1], i)"),
        )

    def target(self) -> str:
        return f"{self.pick(*self.arrays)}[{self.basic()}]"

    def value(self, like: str) -> str:
        part = f"{self.pick(*self.arrays)}[{self.basic()}]"
        return self.pick(
            *("1", "2.5", "s", f"{like} * 2", f"{like} + s", f"{like}[::-1]", f"{like}.copy()"),
            *(f"{part} + 0", f"{part}.copy()", f"{part} * s", "x[1].max()", "y * 1"),
        )

    def moved(self) -> str:
        """Copies a part from another.

        Between a row and a column that cross, and between ranges of other steps, NumPy's own result
        depends on the order in which it copies.
        """
        one, two = self.pick(*self.straight), self.pick(*self.straight)
        here, there = self.number(), self.number()
        return self.pick(
            f"{one}[{here}] = {two}[{there}]",
            f"{one}[:, {here}] = {two}[:, {there}]",
            f"{one}[:2] = {two}[-2:]",
            f"{one}[1:] = {two}[:-1]",
            f"{one}[1:, {here}] = {two}[:-1, {there}]",
            f"{one}[{here}] = {two}[{there}][::-1]",
            f"{one}[{here}:] = {two}[{there}]",
            f"{one}[...] = {two}",
        )

    def statement(self) -> str:
        kind = self.random.randrange(12)
        array = self.pick(*self.arrays)
        if kind == 0:
            return self.moved()
        if kind < 4:
            target = self.target()
            return f"{target} = {self.value(target)}"
        if kind == 4:
            return (
                f"{self.target()} {self.pick('+=', '*=', '-=')} {self.pick('1', 's', 'x[0] * 1')}"
            )
        if kind == 5:
            places = self.places()
            values = ("1", "s", f"{array}[{self.places()}]", f"{array}[{places}] + 1", "g", "h")
            value = self.pick(*values)
            return f"{array}[{places}] = {value}"
        if kind == 6:
            return f"{array}[{self.places()}] {self.pick('+=', '-=')} {self.pick('1', 'g', 's')}"
        if kind == 7:
            at = self.pick("np.add.at", "np.subtract.at", "np.maximum.at")
            return (
                f"{at}({array}, {self.pick('i', 'idx', self.places())}, {self.pick('1', 's', 'g')})"
            )
        if kind == 8:
            name = f"v{len(self.arrays)}"
            views = (f"{array}[{self.part()}]", f"{array}.T", f"{array}[:, ::-1]")
            owned = (f"{array} * 2", f"{array}.copy()", "np.zeros(x.shape, x.dtype)", "x.T + 1")
            made = self.pick(*views, *owned, f"{array}[{self.places()}]")
            self.arrays.append(name)
            if "T" not in made:
                self.straight.append(name)
            return f"{name} = {made}"
        if kind == 9:
            name = f"r{len(self.reads)}"
            self.reads.append(name)
            part = f"{array}[{self.pick(self.basic(), self.places())}]"
            return f"{name} = {self.pick(part, f'{part} * 1', f'{part}.sum()', f'{array}.sum()')}"
        if kind == 10:
            flat = self.pick(f"{array}.ravel()", f"{array}.reshape(-1)", f"{array}.flat")
            return f"{flat}[{self.pick('0', '-1', 'i', '1:4')}] = {self.pick('7', 's')}"
        if self.random.random() < 0.4:
            places = self.pick("[i, j]", "idx", "[1, 1, -1]", "i", "idx.reshape(-1, 1)", "[0, 99]")
            values = self.pick(
                "5", "s", "[1, 2]", "g", "h", "x[0]", f"{array}[:2]", "idx", "s + x[0, 0]"
            )
            mode = self.pick("", "", "", ", mode='wrap'", ", mode='clip'")
            put = self.pick(f"np.put({array}, ", f"{array}.put(")
            return f"{put}{places}, {values}{mode})"
        return self.pick(
            *(f"{array}.fill(s)", f"np.copyto({array}, s)"),
            *(f"{array}[{array} > 1] = 0", f"{array}[0], {array}[1] = {array}[1], {array}[0]"),
        )

    def program(self) -> str:
        body = [self.statement() for _ in range(self.random.randrange(1, 7))]
        if self.random.random() < 0.2:
            body.insert(self.random.randrange(len(body) + 1), "np.negative(x, out=x)")
        if self.random.random() < 0.15:
            place = self.random.randrange(len(body))
            body[place : place + 1] = ["try:", f"    {body[place]}", "except IndexError: pass"]
        results = ", ".join([*self.reads, "x", self.pick("1", "y", self.arrays[-1])])
        text = "\n    ".join([*body, f"return {results}"])
        return f"def f(x, y, i, j, idx, g, h, s):\n    {text}\n"


def arguments(choices: random.Random) -> dict[str, Any]:
    """Arrays of some size, which may share memory, and indices of which few are out of bounds."""
    rows, columns = choices.choice([(5, 4), (6, 3), (300, 40), (4, 4)])
    dtype = choices.choice([np.float32, np.float32, np.float64, np.int64])
    memory = (np.arange(2 * rows * columns) % 23 - 7).astype(dtype)
    x, y = memory.reshape(2, rows, columns)
    how = choices.randrange(12)
    if how == 0:
        y = x
    elif how == 1:
        y = x[::-1]
    elif how == 2:
        x, y = memory.reshape(2, columns, rows).transpose(0, 2, 1)
    elif how == 3:
        x, y = x.copy(), y.copy()
    places = np.array([choices.randrange(-rows, rows) for _ in range(3)])
    if choices.random() < 0.1:
        places[1] = rows + 2
    i = rows + 1 if choices.random() < 0.05 else choices.randrange(-3, 3)
    if choices.random() < 0.05:
        x.flags.writeable = False
    g = np.arange(3 * columns).reshape(3, columns).astype(dtype)
    h = g[:, ::-1].astype(choices.choice([np.float32, np.float64, np.int16]))
    s = choices.choice([2, 3]) if dtype is np.int64 else choices.choice([1.5, -2.0])
    given = {"x": x, "y": y, "i": i, "j": choices.randrange(-4, 4), "idx": places}
    return given | {"g": g, "h": h, "s": s, "memory": memory}


def outcome(function: Any, given: dict[str, Any]) -> Any:
    """What a call gave, and what the arrays hold then."""
    given = dict(given)
    memory = given.pop("memory")
    result: Any
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(**given)
        except Exception as error:
            result = (type(error), str(error))
    shared = [
        np.shares_memory(part, given["x"]) if isinstance(part, np.ndarray) else None
        for part in result
    ]
    return described(result), shared, [described(given[k]) for k in "xy"], memory.tobytes()


def described(thing: Any) -> Any:
    if isinstance(thing, tuple):
        return [described(part) for part in thing]
    if isinstance(thing, (np.ndarray, np.generic)):
        order = list(zip(thing.shape, thing.strides, strict=True)) if thing.size else []
        strides = [stride for size, stride in order if size != 1]
        return type(thing), thing.dtype, thing.shape, strides, np.asarray(thing).tobytes()
    return type(thing), thing


def function_of(text: str) -> Any:
    scope: dict[str, Any] = {"np": np}
    exec(text, scope)
    return scope["f"]


def same_arguments(seed: int, call: int) -> tuple[dict[str, Any], dict[str, Any]]:
    return arguments(random.Random(f"{seed}.{call}")), arguments(random.Random(f"{seed}.{call}"))


@pytest.mark.parametrize("chunk", range(8))
def test_programs_of_partial_writes(chunk: int) -> None:
    for seed in range(chunk, PROGRAMS, 8):
        text = Writer(seed).program()
        plain, compiled = function_of(text), dvm.compile(function_of(text))
        for call in range(CALLS):
            # Again and again: what was captured is replayed.
            for _ in range(3):
                one, two = same_arguments(seed, call)
                expected, found = outcome(plain, one), outcome(compiled, two)
                assert found == expected, (seed, call, text)
        assert not any("DVM-X" in str(reason) for reason in compiled.fallback_reasons), text


def row(x):
    x[5] += 1


def rows(x):
    v = x[10:20]
    v *= -1


def edges(x):
    x[0] = x[1]
    x[-1] = x[-2]
    x[:2, 0] = 1


def flat(x):
    x.ravel()[7] = 1
    x.flat[3] = 2


def read_again(x):
    x[3] = x[2] * 2
    return x[3] * 2 + x[4]


def places(x):
    x[[3, 9]] = x[[9, 3]]


def changed_places(x):
    x[np.array([4, -1, 4])] -= x[7]


def columns(x):
    x[4:9, [0, 2]] = 1


def at_places(x):
    np.add.at(x, 3, 1)


def at_arrays(x):
    np.maximum.at(x, np.array([4, 4, -1]), x[:3] + 0)


def at_axes(x):
    np.add.at(x, (np.array([4, 4, -1]), 2), 3)


def puts(x):
    np.put(x, [7, -1, 7], [2, 3])
    x.put([5], 3)


def places_again(x):
    x[2] = 5
    x[np.array([4, 2, 4])] += x[:3] * 2
    x[5:7] = 1
    np.add.at(x, [4, 5, 5], 2)
    x[[4, 6]] -= 3


PLAIN = [row, rows, edges, flat, read_again, places, changed_places, columns, at_places, at_arrays]
PLAIN += [at_axes, puts, places_again]


@pytest.mark.parametrize("plain", PLAIN)
def test_no_step_makes_the_whole_array(plain: Any) -> None:
    """What a path computes and copies has the size of the parts, whatever it was captured with."""
    compiled = dvm.compile(plain)
    for _ in range(3):
        compiled(np.zeros((30, 64), np.float32))
    assert not compiled.fallback_reasons
    x = np.zeros((300_000, 64), np.float32)
    compiled(x)
    assert peak_of(lambda: compiled(x)) < x.nbytes // 20
    assert compiled.stats.captures == 1


def own_places(x):
    y = x + 1
    y[[3, 9]] = 2
    y[[9, 4]] -= x[:2]
    np.add.at(y, [5, 5], 1)
    np.put(y, [0, 7], 8)
    return y


def test_an_array_of_the_path_is_written_in_place() -> None:
    compiled = dvm.compile(own_places)
    x = np.zeros((30_000, 64), np.float32)
    for _ in range(3):
        compiled(x)
    assert not compiled.fallback_reasons
    assert peak_of(lambda: compiled(x)) < x.nbytes * 1.2


def test_paths_that_read_what_another_writes_in_place() -> None:
    """Whichever of two paths with a beginning in common was there first."""

    def plain(x, both):
        y = x * 2
        before = y.copy()
        y[[0, 0]] = x[1]
        if both > 1:
            return y, before * 2
        return y, before[:1] if both else None

    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2, 0], [0, 2, 0, 1]):
        compiled = dvm.compile(plain)
        for both in [*order, *order]:
            x = np.arange(12.0).reshape(4, 3)
            assert described(compiled(x, both)) == described(plain(x, both)), (order, both)


def peak_of(call: Any) -> int:
    """The most memory that NumPy allocated during a call."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
