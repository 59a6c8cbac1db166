"""States of generators of random numbers are put back where a replay is given up, and cheaply."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm


class OwnBits(np.random.MT19937):
    """One of the user's, which may keep more than bytes."""


BITS = [
    np.random.PCG64,
    np.random.PCG64DXSM,
    np.random.MT19937,
    np.random.Philox,
    np.random.SFC64,
    OwnBits,
]
MAKERS = {
    **{bits.__name__: lambda bits=bits: np.random.Generator(bits(3)) for bits in BITS},
    "RandomState": lambda: np.random.RandomState(3),
    "RandomState of PCG64": lambda: np.random.RandomState(np.random.PCG64(3)),
    "Random": lambda: random.Random(3),
}


def state_of(generator: Any) -> bytes:
    if isinstance(generator, random.Random):
        return pickle.dumps(generator.getstate())
    if isinstance(generator, np.random.Generator):
        return pickle.dumps(generator.bit_generator.state)
    return pickle.dumps(generator.get_state(legacy=False))


def noisy(rng: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """An odd number of draws leaves half of a pair behind, of normals and of small integers."""
    if isinstance(rng, random.Random):
        noise = rng.gauss(0, 1) + rng.randint(0, 9)
    elif isinstance(rng, np.random.Generator):
        noise = rng.standard_normal() + rng.integers(0, 9, dtype=np.uint16)
    else:
        noise = rng.standard_normal() + rng.randint(0, 9)
    return x + y + noise


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_given_up_has_drawn_nothing(name: str) -> None:
    generator, twin = MAKERS[name](), MAKERS[name]()
    f, x = dvm.compile(noisy), np.ones(3)
    for k in range(1000):  # more than any of them makes at once
        before = state_of(generator)
        dvm._dvm.explain_miss(f, generator, x, x)  # all but what others would see
        assert state_of(generator) == before, k
        if k % 20 == 9:  # behind the draws
            with pytest.raises(ValueError, match="broadcast"):
                noisy(twin, x, np.ones(2))
            with pytest.raises(ValueError, match="broadcast"):
                f(generator, x, np.ones(2))
        else:
            np.testing.assert_array_equal(f(generator, x, x), noisy(twin, x, x))
        assert state_of(generator) == state_of(twin), k
    assert f.stats.hits > 600, f.stats


OLD = np.random.RandomState(0)
NEW = np.random.Generator(np.random.MT19937(0))
PYTHONS = random.Random(0)
DRAWING: dict[str, Callable[[Any], Any]] = {
    "global": lambda x: x * np.random.rand(3),
    "old": lambda x: x * OLD.normal(size=3),
    "new": lambda x: x * NEW.random(3),
    "Python's": lambda x: x * PYTHONS.random(),
}


@pytest.mark.parametrize("name", DRAWING)
def test_draws_are_hits(name: str) -> None:
    f, x = dvm.compile(DRAWING[name]), np.ones(3)
    for _ in range(20):
        f(x)
    assert (f.stats.captures, f.stats.hits) == (1, f.stats.calls - 1)
