"""Rounding errors of sums and products of matrices are no larger than twice NumPy's."""

from __future__ import annotations

from itertools import product as pairs

import numpy as np
import pytest

import dvm
from whole import WHOLE


def product(a, b):
    return a @ b


def total(a, _b):
    return a.sum()


def columns(a, _b):
    return a.sum(0)


def rows(a, _b):
    return a.sum(1)


def spread(a, _b):
    return (a + 100).std()


def squares(a, _b):
    return (a * a).mean()


def norm(a, _b):
    return np.linalg.norm(a)


SIZES = (
    (1, 300, 64), (1, 5000, 1), (2, 3000, 17), (3, 20000, 2), (8, 1024, 300), (9, 2048, 65),
    (65, 4096, 65), (130, 2000, 130), (200, 768, 33), (5000, 60, 3), (300, 300, 300),
)  # fmt: skip


def mean_square(errors):
    """The root of it, for single results may be exact by chance."""
    return float(np.sqrt(np.mean(np.square(errors))))


def error(got, exact):
    return mean_square((np.asarray(got, exact.dtype) - exact) / exact)


HOW = tuple(pairs((False, True), ("f4", "f8")))
# Each size one way of lying in memory per dtype, by turns.
CASES = [
    (size, turned, dtype)
    for k, size in enumerate(SIZES)
    for turned, dtype in (HOW if WHOLE else (HOW[k % 2 * 2], HOW[3 - k % 2 * 2]))
]


@pytest.mark.parametrize(("size", "turned", "dtype"), CASES)
def test_errors_of_sums(size, turned, dtype):
    m, k, n = size
    rng = np.random.default_rng(1)
    draws = [(rng.random((m, k)).astype(dtype), rng.random((k, n)).astype(dtype)) for _ in range(8)]
    if turned:
        draws = [(np.asfortranarray(a), np.asfortranarray(b)) for a, b in draws]
    for function in (product, total, columns, rows, spread, squares, norm):
        compiled = dvm.compile(function)
        ours, theirs = [], []
        for a, b in draws:
            exact = function(a.astype(np.longdouble), b.astype(np.longdouble))
            with dvm.stance("force_capture"):
                ours.append(error(compiled(a, b), exact))
            theirs.append(error(function(a, b), exact))
        bound = max(2 * mean_square(theirs), 1.5 * float(np.finfo(dtype).eps))
        assert mean_square(ours) <= bound, function.__name__
