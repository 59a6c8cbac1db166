"""One request after the other of a replay fails: for memory, of NumPy, of a function it calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm

GENERATOR = np.random.default_rng(5)
KEPT = np.zeros(2000)


def chain(x: Any) -> Any:
    return (np.sin(x) * x + 1).sum(axis=0)


def several(x: Any) -> Any:
    return x.sum(), np.cumsum(x, axis=0), x.argmax(), [x.T + 1, {"a": x * 2}]


def draws(x: Any) -> Any:
    noise = GENERATOR.normal(size=x.shape)
    return np.sort(noise.ravel())[0] + (x * noise).sum()


def writes(x: Any) -> Any:
    y = x[:, 0] * 2
    KEPT[:] = y.sum() + 1
    return y


def opaque(x: Any) -> Any:
    return np.linalg.inv(x[:3, :3] + np.eye(3)) * x[:3, :3]


FUNCTIONS = [chain, several, draws, writes, opaque]


def outcome(call: Callable[[], Any]) -> Any:
    GENERATOR.bit_generator.state = np.random.default_rng(5).bit_generator.state
    KEPT[:] = 0
    try:
        result = repr(call())
    except MemoryError:
        result = "MemoryError"
    # What a call leaves behind.
    return result, (
        repr(GENERATOR.bit_generator.state),
        KEPT.tolist(),
        np.geterr(),
    )


def recursion_left() -> int:
    def deeper(depth: int) -> int:
        try:
            return deeper(depth + 1)
        except RecursionError:
            return depth

    return deeper(0)


@pytest.mark.parametrize("shape", [(40, 7), (3000, 90)])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_request_of_a_replay_may_fail(function: Any, shape: tuple[int, int]) -> None:
    x = np.random.default_rng(1).integers(-9, 9, size=shape) * 0.5
    before = outcome(lambda: None)
    plain = outcome(lambda: function(x))
    made = dvm.compile(function)
    for _ in range(3):
        replayed = outcome(lambda: made(x))  # sums may be rounded otherwise
    assert replayed[1] == plain[1]
    references, left = sys.getrefcount(x), recursion_left()
    failed = 0
    for number in range(400):
        # Another one each time: after some drops it would leave calls to the original.
        made = dvm.compile(function)
        for _ in range(3):
            outcome(lambda made=made: made(x))
        assert made.stats.hits >= 1

        def call(number: int = number, made: Any = made) -> Any:
            _dvm.fail_at(number)
            try:
                return made(x)
            finally:
                nonlocal reached
                reached = _dvm.fail_at(-1) < 0

        reached = False
        seen = outcome(call)
        assert seen in (plain, replayed, ("MemoryError", before[1])), (number, seen)
        assert sys.getrefcount(x) == references
        if not reached:
            break
        failed += 1
    else:
        pytest.fail("a replay makes too many requests")
    assert failed > 0
    assert recursion_left() == left
    assert outcome(lambda: made(x)) == replayed


def test_a_replay_that_ends_in_an_error_of_the_core_leaves_nothing_behind() -> None:
    def function(x: Any) -> Any:
        return GENERATOR.random() * 0 + np.sort(x)[0] + x.sum()

    x = np.arange(5.0)
    left, state, modes = recursion_left(), GENERATOR.bit_generator.state, np.geterr()
    for number in range(20):
        made = dvm.compile(function)
        for _ in range(3):
            made(x)
        assert made.stats.hits >= 1
        _dvm.fail_at(number)
        GENERATOR.bit_generator.state = state
        assert made(x) == 10
        _dvm.fail_at(-1)
        after = GENERATOR.bit_generator.state
        GENERATOR.bit_generator.state = state
        function(x)
        assert GENERATOR.bit_generator.state == after
    assert recursion_left() == left
    assert np.geterr() == modes
