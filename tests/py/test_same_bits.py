"""Once a path exists and holds, the same call gives the same bits: no clock decides which."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dvm

pytestmark = pytest.mark.usefixtures("captures_at_its_cost")

rng = np.random.default_rng(0)
LARGE = rng.standard_normal(600_001).astype("f4")
SMALL = rng.standard_normal((40, 50)).astype("f4")


def added(x: Any) -> Any:
    return x.sum()


def as_a_number(x: Any) -> float:
    return float(x.sum())


def spread(x: Any) -> Any:
    return x.std(), np.exp(x).mean()


def product(x: Any) -> Any:
    return x.reshape(-1, 50)[:12000:3].T @ x.reshape(-1, 50)[:12000:3]


def written(x: Any) -> Any:
    y = x.copy()
    y[3] = 1
    return y, np.tanh(x)


FUNCTIONS = [added, as_a_number, spread, product, written]


def bits(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    return np.asarray(value).tobytes()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("x", [LARGE[:600_000], SMALL])
def test_all_hits_and_all_calls_behind_the_first_have_one_result(function: Any, x: Any) -> None:
    compiled, calls = dvm.compile(function), 120
    while not compiled.stats.hits and compiled.stats.calls < 1000:
        first = bits(compiled(x))
    assert compiled.stats.hits == 1
    fallbacks = compiled.stats.fallbacks
    for _ in range(calls):
        assert bits(compiled(x)) == first
    assert compiled.stats.hits == calls + 1
    assert compiled.stats.fallbacks == fallbacks


def test_a_path_that_rounds_stays_however_slow_it_is() -> None:
    """A large array of the caller's is copied whole for a few elements; and something is added."""

    def marked(a, i):
        a[i] = 1
        return a[i].sum() * np.float32(0.1)

    compiled, a, i = dvm.compile(marked), np.zeros(1_000_000, "f4"), np.arange(3)
    seen = {bits(compiled(a, i)) for _ in range(60)}
    assert len(seen) == 1
    assert compiled.stats.hits == 58


def test_calls_that_no_path_takes_leave_those_that_one_takes_alone() -> None:
    """However many are replayed for nothing in between, or captured without a hit."""

    @dvm.compile
    def f(x, n):
        y = np.exp(x) * x.sum()
        for _ in range(int(y.sum() * 0) + n):
            y = np.concatenate([y, y[:1]]) if n % 2 else y * 0.5
        return y if n else y.sum()

    x = LARGE[:20_000]
    while not f.stats.hits:
        first = bits(f(x, 0))
    for k in range(120):
        f(x, 1 + k % 60)
        assert bits(f(x, 0)) == first, k


def looped(x: Any) -> Any:
    y = x
    for k in range(12):
        y = y * 0.9 + x * k
    return y.sum(axis=0)


def marked(x: Any) -> Any:
    x[3] = 1
    return x[3].sum()


def counted(x: Any) -> Any:
    total = 0.0
    for value in x[0].tolist():
        total = total * 0.5 + value
    return total


TWENTY = [
    *(added, as_a_number, spread, product, written, looped, marked, counted),
    lambda x: x.mean(axis=1),
    lambda x: np.exp(x).sum(axis=0),
    lambda x: (x * x).sum() / x.size,
    lambda x: x.var(),
    lambda x: x.prod(axis=0),
    lambda x: np.log1p(np.abs(x)),
    lambda x: x / np.sqrt((x * x).sum(axis=1, keepdims=True)),
    lambda x: np.cumsum(x, axis=0),
    lambda x: x[:8] @ x[:8].T,
    lambda x: np.einsum("ij,ij->i", x, x),
    lambda x: np.linalg.norm(x),
    lambda x: np.where(x > 0, np.tanh(x), x).sum(axis=1),
]


@pytest.mark.parametrize("number", range(len(TWENTY)))
def test_ten_thousand_calls_have_one_result_each_once_a_path_exists(number: int) -> None:
    """Twenty functions, 500 calls each, of which any may be timed."""
    compiled, seen, first = dvm.compile(TWENTY[number]), set(), 0
    for _ in range(500):
        result = bits(compiled(SMALL.copy()))
        first = first or compiled.stats.hits
        if first:
            seen.add(result)
    assert len(seen) <= 1
    assert first or compiled.stats.price, compiled.fallback_reasons
