"""Norms and their kind that write where they read: steps behind a sum read their operands again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm

Array = np.ndarray[Any, Any]


def mean(x: Array) -> Array:
    return x.mean(-1, keepdims=True)


def norm_over_itself(x: Array, w: Array, _o: Array) -> Any:
    d = x - mean(x)
    x[...] = d * w / np.sqrt(mean(d * d) + 1)
    return x


def norm_into_another(x: Array, w: Array, o: Array) -> Any:
    d = x - mean(x)
    o[...] = d / np.sqrt(mean(d * d) + 1) * w
    return o


def difference_after_a_write(x: Array, w: Array, _o: Array) -> Any:
    m = mean(x)
    d = x - m
    v = mean(d * d)
    x -= m
    x /= np.sqrt(v + 1)
    return x, d * w


def two_targets(x: Array, w: Array, o: Array) -> Any:
    d = x - mean(x)
    np.divide(d, np.sqrt(mean(d * d) + 1), out=x)
    np.multiply(x, w, out=o)
    np.add(d, o, out=o)
    return d


def product_behind_two_sums(x: Array, w: Array, _o: Array) -> Any:
    d = x * w
    s = d.sum(-1, keepdims=True)
    q = d / (s * s + 1)
    return d - q.sum(-1, keepdims=True), q


def exponentials_over_another(x: Array, _w: Array, o: Array) -> Any:
    d = x + x
    np.exp(d - d.max(-1, keepdims=True), out=o)
    o /= o.sum(-1, keepdims=True)
    return o + d


def temporary_that_dies(x: Array, _w: Array, _o: Array) -> Any:
    y = np.abs(x)
    d = y - mean(y)
    y[...] = d / np.sqrt(mean(d * d) + 1)
    return y


def reversed_rows(x: Array, _w: Array, _o: Array) -> Any:
    d = x[:, ::-1] - mean(x)
    x[...] = d / np.sqrt(mean(d * d) + 1)
    return x


PROGRAMS = [
    norm_over_itself,
    norm_into_another,
    difference_after_a_write,
    two_targets,
    product_behind_two_sums,
    exponentials_over_another,
    temporary_that_dies,
    reversed_rows,
]


def arguments(shape: tuple[int, int], dtype: str, lies: str) -> tuple[Array, Array, Array]:
    """Return x [rows, columns], w [columns] and o like x, apart, the same, or one further."""
    rng = np.random.default_rng(sum(shape))
    rows, columns = shape
    memory = rng.standard_normal(rows * columns + 1).astype(dtype)
    x = memory[:-1].reshape(shape)
    others = {"same": x, "shifted": memory[1:].reshape(shape), "apart": np.zeros(shape, dtype)}
    return x, rng.standard_normal(columns).astype(dtype), others[lies]


def arrays(result: Any) -> tuple[Array, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("lies", ["apart", "same", "shifted"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_rows_that_write_where_they_read(program: Callable[..., Any], lies: str) -> None:
    compiled = dvm.compile(program)
    for dtype, tolerance in (("f4", 2e-4), ("f8", 1e-10)):
        for shape in ((3, 5), (64, 64), (9, 100), (5, 1000), (33, 1024), (2, 20000), (0, 4)):
            for _ in range(2):  # captured, then replayed
                theirs, ours = (arguments(shape, dtype, lies) for _ in range(2))
                wanted, found = arrays(program(*theirs)), arrays(compiled(*ours))
                for a, b in zip((*wanted, *theirs), (*found, *ours), strict=True):
                    assert (a.dtype, a.shape) == (b.dtype, b.shape)
                    np.testing.assert_allclose(b, a, rtol=tolerance, atol=10 * tolerance)
