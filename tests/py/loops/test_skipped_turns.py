"""Long loops are captured at their first call, of which turns in the middle are not recorded."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import magpy_capture
from loops.check import differences, outcome
from loops.generated import function_of
from loops.numbers import Writer

PROGRAMS = 20
LONG = 1500


def horner(x, n):
    y = 0.0
    for a in x.tolist():
        y = y * 0.5 + a
    return y


def recurrence(x, n):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


def appended(x, n):
    out = []
    for i, v in enumerate(x):
        out.append(v + i)
    return out


def arrays(x, n):
    for i in range(n):
        x = x * 0.5 + i
    return x


def greatest(x, n):
    best, at = -1.0, -1
    for i, v in enumerate(x.tolist()):
        if v > best:
            best, at = v, i
    return best, at


def dots(x, n):
    total = 0.0
    for a, b in zip(x, x[::-1], strict=True):
        total += a * b
    return total


def closed_over(x, n):
    total = 0.0

    def add(value):
        nonlocal total
        total = total + value

    for value in x.tolist():
        add(value)
        total = total * 0.5
    return total


def two_loops(x, n):
    s = t = 0
    for i in range(n):
        s = (s * 3 + i) % 1009
    for i in range(n, 0, -1):
        t = (t * 5 + i + s) % 1013
    return s, t


def table(x, n):
    t = np.zeros((40, 40))
    for i in range(1, 40):
        for j in range(1, 40):
            t[i, j] = max(t[i - 1, j], t[i, j - 1]) + x[i] * x[j]
    return t


LOOPS = (horner, recurrence, appended, arrays, greatest, dots, two_loops, table)


@pytest.mark.parametrize("function", [*LOOPS, closed_over], ids=lambda f: f.__name__)
def test_long_loops(function: Any) -> None:
    """Of any length afterwards."""
    compiled = dvm.compile(function)
    for number, n in enumerate((LONG, LONG, LONG + 3, 50, LONG)):
        x = np.random.default_rng(number).random(n)
        plain, got = (outcome(each, [x.copy(), n]) for each in (function, compiled))
        assert differences(plain[0], got[0]) == []
        assert plain[1:3] == got[1:3]


def test_they_are_captured_before_they_have_run_for_long() -> None:
    """In all, recording takes less than as many turns would, each of them traced."""
    captured = 0
    for function in LOOPS:
        compiled = dvm.compile(function)
        x = np.random.default_rng(0).random(LONG)
        for _ in range(3):
            compiled(x.copy(), LONG)
        captured += compiled.stats.captures > 0 and compiled.stats.hits > 0
    assert captured > len(LOOPS) / 2


def fills(xs, out):
    for v in xs:
        out.append(v)
    return len(out)


def maps(xs, out):
    table = {}
    for v in xs:
        table[v] = len(table)
    out.append(len(table))
    return table


@pytest.mark.parametrize("function", [fills, maps])
def test_loops_that_stay_turn_by_turn(function: Any) -> None:
    """A path of some of their turns would be another program."""
    compiled = dvm.compile(function)
    for n in (LONG, LONG, LONG, 20, LONG):
        xs = [float(i) for i in range(n)]
        outs: list[Any] = [[], []]
        plain, got = (each(xs, out) for each, out in zip((function, compiled), outs, strict=True))
        assert plain == got
        assert outs[0] == outs[1]


def left_at(n, at):
    s = 0
    for i in range(n):
        s += i
        if s > at:
            break
    return i, s


def rare(n, at):
    s = 0
    for i in range(n):
        if i == at:
            s += 1000
        s += i
    return s


@pytest.mark.parametrize("function", [left_at, rare])
def test_what_happens_in_turns_that_were_not_recorded(function: Any) -> None:
    """A turn that is wanted is recorded the next time; a loop that is left has no last turns."""
    compiled = dvm.compile(function)
    end = time.monotonic() + 60
    number = 0
    while compiled.stats.hits < 20 and time.monotonic() < end:
        at = [700, 900_000, 3, 800, LONG - 1, LONG, 5][number % 7]
        assert compiled(LONG, at) == function(LONG, at)
        number += 1
    assert compiled.stats.hits >= 20


@pytest.mark.parametrize("part", range(4))
def test_written_programs(part: int) -> None:
    hits = 0
    for seed in range(part, 4 * PROGRAMS, 4):
        source = Writer(seed).source()
        function = function_of(source, seed)
        compiled = dvm.compile(function)
        for number, n in enumerate((LONG, LONG - 7, 3, LONG, 0)):
            chosen = np.random.default_rng((seed, number))
            x, m = chosen.normal(size=LONG + 9), chosen.integers(-9, 9, LONG + 9)
            s: Any = [1.0, 2, np.float64(0.5)][int(chosen.integers(3))]
            args = [x, m, s, float(chosen.normal()), int(chosen.integers(1, 9)), n]
            plain, got = (
                outcome(each, [a.copy() if isinstance(a, np.ndarray) else a for a in args])
                for each in (function, compiled)
            )
            assert differences(plain[0], got[0]) == [], source
            assert plain[1:3] == got[1:3], source
            assert differences(plain[3], got[3]) == [], source
        hits += compiled.stats.hits
    assert hits > 0


@pytest.mark.usefixtures("captures_at_its_cost")
@pytest.mark.parametrize("kind", [str, bytes])
def test_letters_of_long_texts_are_not_all_recorded(kind: Any) -> None:
    """Nor those of two: a call that has 60,000 is captured before it has run for long."""

    def differing(a, b):
        count = 0
        for x, y in zip(a, b):
            if x != y:
                count += 1
        return count

    compiled = dvm.compile(differing)
    letters = np.random.default_rng(0).integers(97, 101, (2, 60_000), np.uint8)
    a, b = (each.tobytes() if kind is bytes else each.tobytes().decode() for each in letters)
    for _ in range(30):
        assert compiled(a, b) == differing(a, b)
    assert compiled.stats.hits > 0


def smoothed(x, n):
    """Few turns of the outer loop, which are all recorded, and many of those within."""
    grid = np.zeros((20, 60))
    for i in range(1, 20):
        for j in range(1, 60):
            total = 0.0
            for k in range(j):
                total += x[k] * grid[i - 1, k]
            grid[i, j] = total * 1e-3 + x[i + j]
    return grid


def total_of(row):
    s = 0.0
    for value in row:
        s = s * 0.5 + value
    return s


def first_above(row, least):
    for i, value in enumerate(row):
        if value > least:
            return i
    return -1


def row_by_row(x, n):
    """Loops of functions that are called in turns, one of which a turn may leave."""
    rows = x[:1200].reshape(20, 60)
    return [(total_of(row), first_above(row, 0.9)) for row in rows], total_of(x)


class Walk:
    def __init__(self):
        self.at, self.steps = 0.0, 0

    def run(self, x):
        for i in range(30):
            for j in range(40):
                self.at = self.at * 0.5 + x[i + j]
                self.steps += 1
        return self.at


WALK = Walk()


def of_a_method(x, n):
    WALK.at, WALK.steps = 0.0, 0
    return WALK.run(x), WALK.steps


def pulled(x, n):
    """The loop of a generator is recorded whole, for it stands still within its turns."""

    def items():
        for i in range(50):
            yield x[i] * 2

    return [sum(items()) for _ in range(4)]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events each recording had."""
    events: list[int] = []
    lower = magpy_capture.lower

    def noted(compiled: Any, recording: Any, nanos: int) -> Any:
        events.append(len(recording["events"]))
        return lower(compiled, recording, nanos)

    monkeypatch.setattr(magpy_capture, "lower", noted)
    return events


@pytest.mark.parametrize(
    ("function", "most"),
    [(smoothed, 6000), (row_by_row, 4000), (of_a_method, 4000), (pulled, 4000)],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_loops_within(function: Any, most: int, recorded: list[int]) -> None:
    """Of each run the first turns and the last are recorded, in whatever function it lies."""
    compiled = dvm.compile(function)
    for number in range(6):
        x = np.random.default_rng(number).random(LONG)
        plain, got = (outcome(each, [x.copy(), LONG]) for each in (function, compiled))
        assert differences(plain[0], got[0]) == []
        assert plain[1:3] == got[1:3]
    assert recorded[0] < most
    assert compiled.stats.hits > 0


@pytest.mark.usefixtures("captures_at_its_cost")
def test_a_recording_that_was_too_dear_skips_turns_again(recorded: list[int]) -> None:
    """What ended it was its budget, and no turn that was not recorded."""
    compiled = dvm.compile(smoothed)
    for number in range(80):
        x = np.random.default_rng(number % 3).random(LONG)
        assert (compiled(x, LONG) == smoothed(x, LONG)).all()
    assert compiled.stats.hits > 0
    assert max(recorded) < 6000
