"""Draws from generators of random numbers in loops: the same numbers, the same states behind."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import differences, outcome
from loops.drawing import SAID, SCOPE, arguments, program_of, states
from loops.people import PROGRAMS
from whole import how_many

SEEDS = 30
CALLS = (5, 5, 9, 0, 6, 40, 7)


def state_of(args: list[Any]) -> list[str]:
    return states(args[0], args[1], args[2].r)


def seen_of(function: Callable[..., Any], number: int, n: int) -> tuple[Any, ...]:
    args = arguments(number, n)
    value, raised, warned, _ = outcome(function, args)
    return [value, args[3], args[2].count, list(SAID)], raised, warned, state_of(args)


def check_program(seed: int) -> tuple[int, int]:
    """Hits, and turns without a replay."""
    source = program_of(seed)
    scope = dict(SCOPE)
    exec(compile(source, f"drawing{seed}", "exec"), scope)
    compiled = dvm.compile(scope["f"])
    for number, n in enumerate(CALLS):
        one, other = (seen_of(function, number, n) for function in (scope["f"], compiled))
        found = differences(one[0], other[0])
        assert not found, f"{seed}, call {number}: {found}\n{source}"
        assert one[1:3] == other[1:3], f"{seed}, call {number}\n{source}"
        assert one[3] == other[3], f"{seed}: another state behind call {number}\n{source}"
    loops = vars(compiled).get("loops", {}).values()
    turns = sum(loop.turns["on_the_machine"] for loop in loops if loop.rolled)
    return compiled.stats.hits, turns


@pytest.mark.parametrize("part", range(3))
def test_generated_programs_draw_the_same(part: int) -> None:
    count = how_many(SEEDS, 300) // 3
    found = [check_program(seed) for seed in range(part * count, (part + 1) * count)]
    # Most are replayed, and of some the turns are numbers'.
    assert sum(hits > 0 for hits, _ in found) > count // 2
    assert sum(turns > 0 for _, turns in found) > count // 8


@pytest.mark.parametrize("program", PROGRAMS[2:4], ids=lambda each: each.__name__)
def test_draws_of_people_are_on_the_machine(program: Any) -> None:
    compiled = dvm.compile(program)
    for number in range(8):
        one, other = program.make(number), program.make(number)
        assert not differences(program(*one), compiled(*other))
        assert one[0].bit_generator.state == other[0].bit_generator.state
    assert compiled.stats.captures <= 3, compiled.stats
    assert compiled.stats.hits >= 5, compiled.stats
    turns = [loop.turns for loop in vars(compiled)["loops"].values() if loop.rolled]
    assert sum(each["replayed"] for each in turns) < 200, turns


def ends_badly(rng, x, n):
    total = 0.0
    for i in range(n):
        total += rng.random() + x[i] / (rng.integers(0, 40) - 20)
        if rng.random() < 0.01:
            total += float(rng.normal(1.0, x[i] - 0.25))
    return total


def test_an_exception_leaves_the_state_that_the_program_leaves() -> None:
    compiled = dvm.compile(ends_badly)
    raised = 0
    for number in range(16):
        args = [np.random.default_rng(number), np.random.default_rng(1).random(20).tolist(), 20]
        one, other = copy.deepcopy(args), copy.deepcopy(args)
        first, second = outcome(ends_badly, one), outcome(compiled, other)
        raised += first[1] is not None
        assert first[:3] == second[:3]
        assert one[0].bit_generator.state == other[0].bit_generator.state
    assert 0 < raised < 16
    assert compiled.stats.hits > 0


def shared_bits(one, other, n):
    total = 0.0
    for _ in range(n):
        total += one.random() - other.normal()
    if total > 0.0:
        total = -total
    return total


def test_generators_of_the_same_bits() -> None:
    compiled = dvm.compile(shared_bits)
    for number in range(10):
        ends = []
        for function in (shared_bits, compiled):
            bits = np.random.PCG64(number)
            value = function(np.random.Generator(bits), np.random.Generator(bits), 50)
            ends.append((value, str(bits.state)))
        assert ends[0] == ends[1]
    assert compiled.stats.hits > 5


def test_one_that_another_thread_draws_from_is_left_alone() -> None:
    def total(rng, n):
        found = 0.0
        for _ in range(n):
            found += rng.random()
        return found

    compiled = dvm.compile(total)
    for number in range(4):
        compiled(np.random.default_rng(number), 100)
    rng, same = np.random.default_rng(5), np.random.default_rng(5)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with rng.bit_generator.lock:
            held.set()
            done.wait(0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    value = compiled(rng, 100)
    done.set()
    thread.join()
    assert value == total(same, 100)
    assert rng.bit_generator.state == same.bit_generator.state
