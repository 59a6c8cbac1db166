"""State that a function carries from call to call: a value that changes is no reason to recapture.

Each case counts the captures, too, for a program that is captured at every call behaves well and is
never compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from semantics.world import World, case, floats

TOTAL = 0


@dataclass
class Record:
    """Defaults of a dataclass are attributes of its class as well, one of them None."""

    calls: int = 0
    mean: float = 0.0
    last: Any = None


class Slotted:
    __slots__ = ("best", "calls")

    def __init__(self) -> None:
        self.calls, self.best = 0, None


class Shared:
    calls = 0


@case
def attributes_with_defaults_in_the_class(w: World) -> None:
    record = w.watch(Record())

    @w.compiled
    def f(x):
        record.calls += 1
        record.mean += (float(x.mean()) - record.mean) / record.calls
        record.last = x
        return x * record.calls

    for n in range(1, 7):
        w(f, floats(n))
    w.captured(f, 1)


@case
def an_attribute_that_was_none(w: World) -> None:
    record = w.watch(Record())

    @w.compiled
    def f(x):
        record.last = x if record.last is None else record.last + x.max()
        return x

    for n in range(1, 7):
        w(f, floats(n))
    w.captured(f, 2)


@case
def the_class_gets_another_default_between_calls(w: World) -> None:
    class Local(Record):
        last = None

    record = w.watch(Local())
    del record.last

    @w.compiled
    def f(x):
        record.calls += 1
        return x if record.last is None else x + record.last

    w(f, floats(3))
    w(f, floats(3))
    Local.last = 2.0
    w(f, floats(3))
    del Local.last
    w(f, floats(3))
    del Record.last
    try:
        w(f, floats(3))
    finally:
        Record.last = None


@case
def slots(w: World) -> None:
    state = w.watch(Slotted())

    @w.compiled
    def f(x):
        state.calls += 1
        state.best = x.max() if state.best is None else max(state.best, x.max())
        return x - state.best

    for n in (3, 1, 7, 2, 9):
        w(f, floats(n))
    w.captured(f, 2)


@case
def of_the_class(w: World) -> None:
    Shared.calls = 0

    @w.compiled
    def f(x):
        Shared.calls += 1
        return x * Shared.calls

    for n in range(1, 7):
        w(f, floats(n))
    w.note(Shared.calls)
    w.captured(f, 1)


@case
def first_read_from_the_class_then_from_the_object(w: World) -> None:
    Shared.calls = 0
    state = w.watch(Shared())

    @w.compiled
    def f(x):
        state.calls += 1
        return x * state.calls

    for n in range(1, 7):
        w(f, floats(n))


@case
def in_containers(w: World) -> None:
    state = w.watch({"calls": 0, "sum": 0.0})
    counts = w.watch([0, 0])

    @w.compiled
    def f(x, i):
        state["calls"] += 1
        state["sum"] += float(x.sum())
        counts[i] += 1
        return x / state["calls"]

    for n in range(1, 7):
        w(f, floats(n), 0)
    w.captured(f, 1)


@case
def globals_and_cells(w: World) -> None:
    global TOTAL
    TOTAL = 0
    total = 0

    @w.compiled
    def f(x):
        global TOTAL
        nonlocal total
        TOTAL += 1
        total += 2
        return x * TOTAL, total

    for n in range(1, 7):
        w(f, floats(n))
    w.note(TOTAL, total)
    w.captured(f, 1)


@case
def numpy_scalars_and_elements(w: World) -> None:
    record = w.watch(Record(calls=np.int32(0)))
    counts = w.watch(np.zeros(3, int))

    @w.compiled
    def f(x):
        record.calls += 1
        counts[1] += 1
        return x * record.calls

    for n in range(1, 7):
        w(f, floats(n))
    w.captured(f, 1)


@case
def beyond_64_bits(w: World) -> None:
    record = w.watch(Record(calls=2**63 - 3))

    @w.compiled
    def f(x):
        record.calls += 1
        return x + 1

    for n in range(1, 7):
        w(f, floats(n))
    w.captured(f, 1)


@case
def only_what_it_decides_makes_a_path(w: World) -> None:
    record = w.watch(Record())

    @w.compiled
    def f(x):
        record.calls += 1
        if record.calls % 3 == 0:
            record.last = f"{record.calls} calls"
            return -x
        return x

    for n in range(1, 10):
        w(f, floats(n))
    w.captured(f, 2)


@case
def fresh_objects_with_defaults_of_the_class(w: World) -> None:
    class Tally:
        count = 0
        history = None

    @w.compiled
    def f(tally, x):
        tally.count += 1
        if tally.history is None:
            tally.history = x * 1
        return x * tally.count, tally.history

    for n in (3, 4, 1):
        tally = w.watch(Tally())
        for _ in range(3):
            w(f, tally, floats(n))
    w.captured(f, 2)


@case
def the_best_so_far_in_the_class(w: World) -> None:
    class Model:
        best = None

    @w.compiled
    def f(x):
        total = float(x.sum())
        if Model.best is None or total > Model.best:
            Model.best = total
        return Model.best * x

    for n in (3, 5, 4, 9, 9, 2):
        w(f, floats(n))
        w.note(Model.best)
    w.captured(f, 3)


@case
def an_attribute_that_the_first_call_makes(w: World) -> None:
    record = w.watch(Record())

    @w.compiled
    def f(x):
        record.sum = record.sum + x.sum() if hasattr(record, "sum") else x.sum()
        return x

    for n in range(1, 7):
        w(f, floats(n))
    del record.sum
    for n in range(1, 4):
        w(f, floats(n))
    w.captured(f, 2)


@case
def an_attribute_that_is_only_asked_for(w: World) -> None:
    record = w.watch(Record())

    @w.compiled
    def f(x):
        return x + 1 if hasattr(record, "flag") else x

    w(f, floats(3))
    record.flag = 0
    w(f, floats(3))
    record.flag = None
    w(f, floats(3))
    del record.flag
    w(f, floats(3))
    w.captured(f, 2)
