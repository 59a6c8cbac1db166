"""Lifetimes, order of effects and look-ups are those of the plain program, however it is run.

A program runs plain, and compiled: captured, replayed, in parts. Each time it returns or raises the
same, and its world has been told the same in the same order: what died and what the world was then,
what answered, what was looked up, printed and written.

DVM_TEST_COUNT=3000 runs so many programs.
"""

from __future__ import annotations

import gc
import signal
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dvm
from lifetimes.programs import program_of
from lifetimes.world import Plain, World
from whole import how_many

COUNT = how_many(48, 1000)
PARTS = 4
CALLS = 6


@pytest.fixture(autouse=True)
def _nothing_is_collected() -> Iterator[None]:
    """What is kept alive by a cycle is still there when that is looked at."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Run:
    """A program in a world of its own."""

    def __init__(self, text: str, seed: int, *, compiled: bool) -> None:
        self.world = World()
        self.module = types.ModuleType(f"program_{seed}")
        vars(self.module).update(
            world=self.world,
            Plain=Plain,
            Dying=self.world.Dying,
            Printing=self.world.Printing,
        )
        exec(compile(text, f"<program {seed}>", "exec"), vars(self.module))
        self.function: Any = vars(self.module)["f"]
        if compiled:
            self.function = dvm.compile(self.function)

    def call(self, number: int) -> Any:
        """All that can be seen of one call."""
        world, out, x = self.world, [], np.arange(4.0) + number
        world.renew(number)
        world.told.clear()
        before = signal.signal(signal.SIGUSR1, world.interrupt)
        try:
            result: Any = np.asarray(self.function(world.p, world.q, x, out)).tolist()
        except Exception as error:
            result = type(error).__name__
        finally:
            signal.signal(signal.SIGUSR1, before)
        told = list(world.told)
        with open(world.path) as file:
            return {
                "result": result,
                "out": out,
                "told": told,
                "world": world.state(),
                "argument": x.tolist(),
                "printed": world.printed(),
                "file": file.read(),
                "there": [name for name in world.references if world.is_there(name)],
            }

    def close(self) -> None:
        vars(self.module).clear()
        self.world.close()


def difference(seed: int) -> tuple[str, dvm.Stats]:
    """How a compiled program's calls differ from the plain one's, or nothing; and its counts."""
    text = program_of(seed)
    plain, compiled = (Run(text, seed, compiled=compiled) for compiled in (False, True))
    try:
        for number in range(CALLS):
            wanted, given = plain.call(number), compiled.call(number)
            for name, value in wanted.items():
                if given[name] != value:
                    body = text[text.index("def f(") :]
                    found = f"seed {seed}, call {number}, {name}: {value}\ngiven {given[name]}\n"
                    return found + body, compiled.function.stats
        return "", compiled.function.stats
    finally:
        plain.close()
        compiled.close()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_what_a_program_sees_of_lifetimes_is_the_same_compiled(part: int) -> None:
    found, hits, splits = [], 0, 0
    for seed in range(part, COUNT, PARTS):
        text, stats = difference(seed)
        hits, splits = hits + stats.hits, splits + stats.splits
        if text:
            found.append(text)
    assert not found, f"{len(found)} differ\n" + "\n".join(found[:3])
    assert hits > 0
    assert splits > 0
