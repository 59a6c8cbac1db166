"""A turn is lowered for what no other turn has shown, however often loops within it run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from dvm.magpy_capture.loops import rolling


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The loops and turns that are lowered."""
    met: list[tuple[int, int]] = []
    original = rolling.Loops._lower_turn

    def noted(self: Any, turns: Any, turn: int, rolled: Any) -> None:
        met.append((turns.begin, turn))
        original(self, turns, turn, rolled)

    monkeypatch.setattr(rolling.Loops, "_lower_turn", noted)
    return met


def gram_schmidt(a: Any) -> Any:
    q, upper = np.zeros_like(a), np.zeros((a.shape[1], a.shape[1]))
    for k in range(a.shape[1]):
        upper[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / upper[k, k]
        for j in range(k + 1, a.shape[1]):
            upper[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * upper[k, j]
    return q + upper.sum()


def twice_nested(a: Any) -> Any:
    for step in range(len(a) // 5):
        for i in range(len(a)):
            for j in range(step + i, a.shape[1]):
                a[i, j] = a[i, j] * 0.5 + step
    return a


def left_early(a: Any) -> Any:
    """The sum is an int before the first turn, and a float before the others."""
    total: Any = 0
    for i in range(len(a)):
        for j in range(i, a.shape[1]):
            total = total + a[i, j]
            if j > i:
                break
        if total > 1e3 or i > 25:
            return total, i
    return total


def in_any_order(a: Any) -> Any:
    """The loop within goes two ways, as many times and in whatever order the elements say."""
    low = high = 0.0
    for i in range(len(a)):
        for j in range(a.shape[1]):
            if a[i, j] > 0.5:
                high = high + a[i, j]
            else:
                low = low - a[i, j]
    return low, high


@pytest.mark.parametrize(
    ("function", "most"),
    [(gram_schmidt, 5), (twice_nested, 8), (left_early, 7), (in_any_order, 8)],
)
def test_few_turns_are_lowered(
    function: Callable[..., Any], most: int, lowered: list[tuple[int, int]]
) -> None:
    a = np.random.default_rng(0).random((40, 40))
    compiled = dvm.compile(function)
    for _ in range(2):
        np.testing.assert_allclose(compiled(a.copy()), function(a.copy()), rtol=1e-12)
    assert compiled.stats.hits == compiled.stats.captures == 1
    assert len(lowered) <= most, lowered
