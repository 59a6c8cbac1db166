"""Matrices by hand."""

from __future__ import annotations

import numpy as np
from benchmarks.scripts.program import script


@script(26, 4, lambda r, n: (r.random((n, n)).tolist(), r.random((n, n)).tolist()))
def product_of_lists(a, b):
    n, m, inner = len(a), len(b[0]), len(b)
    c = [[0.0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            for k in range(inner):
                c[i][j] += a[i][k] * b[k][j]
    return c


@script(40, 5, lambda r, n: (r.random((n, n)) + n * np.eye(n), r.random(n)))
def gauss(a, b):
    a, b = a.copy(), b.copy()
    n = len(b)
    for k in range(n - 1):
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            b[i] -= factor * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


@script(24, 4, lambda r, n: (r.random((n, n)) + n * np.eye(n), r.random(n), 8))
def gauss_seidel(a, b, rounds):
    x = np.zeros(len(b))
    for _ in range(rounds):
        for i in range(len(b)):
            total = b[i]
            for j in range(len(b)):
                if j != i:
                    total -= a[i, j] * x[j]
            x[i] = total / a[i, i]
    return x
