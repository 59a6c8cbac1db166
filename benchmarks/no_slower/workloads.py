"""Programs that dvm has been slow on: each with the arguments of its calls, in 30 sizes.

Results of library functions that are named tuples, trip counts that change, writes into a part of
an array, loops over elements, functions that fall back or raise behind work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Cases = Callable[[np.random.Generator], Iterator[tuple[Any, ...]]]
SIZES = 30
WORKLOADS: dict[str, tuple[Callable[..., Any], Cases]] = {}


def on(cases: Cases) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Name the arguments that a program is called with."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        WORKLOADS[function.__name__] = function, cases
        return function

    return add


def vectors(low: int, high: int) -> Cases:
    """Vectors of 30 lengths."""

    def cases(rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
        for n in rng.permutation(np.linspace(low, high, SIZES).astype(int)):
            yield (rng.normal(size=n),)

    return cases


def matrices(low: int, high: int, columns: int = 0) -> Cases:
    """Matrices of 30 sizes, square ones if `columns` is 0."""

    def cases(rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
        for n in rng.permutation(np.linspace(low, high, SIZES).astype(int)):
            yield (rng.normal(size=(n, columns or n)),)

    return cases


def trips(size: int, low: int, high: int) -> Cases:
    """Vectors of one length, with 30 trip counts."""

    def cases(rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
        for n in rng.permutation(np.linspace(low, high, SIZES).astype(int)):
            yield rng.normal(size=size), int(n)

    return cases


def rows(low: int, high: int) -> Cases:
    """Matrices of 64 columns, and the index of some of their rows."""

    def cases(rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
        for n in rng.permutation(np.linspace(low, high, SIZES).astype(int)):
            yield rng.normal(size=(n, 64)), rng.choice(n, 200, replace=False)

    return cases


# ---- results that are named tuples


@on(matrices(60, 120))
def singular_values(m: Array) -> Any:
    return np.linalg.svd(m)[1].sum()


@on(matrices(200, 600, 12))
def principal_components(x: Array) -> Any:
    x = x - x.mean(axis=0)
    _, s, vt = np.linalg.svd(x, full_matrices=False)
    return x @ vt[:2].T, s**2 / len(x)


@on(matrices(40, 80))
def decompositions(m: Array) -> Any:
    q, r = np.linalg.qr(m)
    sign, logdet = np.linalg.slogdet(m)
    return q @ r, sign * logdet, np.linalg.eigh(m + m.T).eigenvalues


@on(vectors(20_000, 60_000))
def covariances(x: Array) -> Any:
    return np.cov(x), np.histogram2d(x[:-1], x[1:], bins=10)[0].max()


# ---- trip counts that change


@on(trips(20_000, 5, 60))
def relax(x: Array, n: int) -> Any:
    for _ in range(n):
        x = x * 0.5 + np.roll(x, 1) * 0.5
    return x


@on(trips(20_000, 5, 60))
def cumulative(x: Array, n: int) -> Any:
    out = []
    for k in range(n):
        out.append((x * k).sum())
    return np.array(out)


@on(matrices(80, 160))
def heat(u: Array) -> Any:
    for _ in range(len(u) // 8):
        v = u.copy()
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
        u = v
    return u


@on(vectors(10_000, 30_000))
def converging(x: Array) -> Any:
    steps, y = 0, x.copy()
    while np.abs(y).max() > 1e-3 and steps < 500:
        y = y * 0.8
        steps += 1
    return y, steps


@on(matrices(60, 100))
def gray_scott(u: Array) -> Any:
    v = np.zeros_like(u)
    v[10:20, 10:20] = 0.5
    for _ in range(20):
        lu = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
        lv = np.roll(v, 1, 0) + np.roll(v, -1, 0) + np.roll(v, 1, 1) + np.roll(v, -1, 1) - 4 * v
        uvv = u * v * v
        u = u + 0.16 * lu - uvv + 0.06 * (1 - u)
        v = v + 0.08 * lv + uvv - 0.12 * v
    return u, v


@on(matrices(60, 100))
def mandelbrot(c: Array) -> Any:
    z, n = np.zeros(c.shape, complex), np.zeros(c.shape, int)
    for _ in range(30):
        inside = np.abs(z) < 2
        z[inside] = z[inside] ** 2 + c[inside]
        n += inside
    return n


@on(vectors(200, 600))
def bootstrap(x: Array) -> Any:
    rng = np.random.default_rng(0)
    return np.std([rng.choice(x, len(x)).mean() for _ in range(40)])


@on(matrices(20, 40, 3))
def n_body(p: Array) -> Any:
    v = np.zeros_like(p)
    for _ in range(5):
        for i in range(len(p)):
            d = p - p[i]
            r = np.sqrt((d**2).sum(axis=1) + 0.01)
            v[i] += (d / r[:, None] ** 3).sum(axis=0) * 0.01
        p = p + v * 0.01
    return p


# ---- loops over elements


@on(vectors(1000, 4000))
def moving_average(x: Array) -> Any:
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = 0.9 * y[i - 1] + 0.1 * x[i]
    return y


@on(vectors(1000, 4000))
def gains(x: Array) -> Any:
    return sum(v for v in x if v > 0) / len(x)


@on(vectors(2000, 8000))
def builtin_sum(x: Array) -> Any:
    return sum(x)


@on(vectors(2000, 8000))
def positive(x: Array) -> Any:
    return [v for v in x.ravel() if v > 0]


@on(vectors(20_000, 60_000))
def through_lists(x: Array) -> Any:
    return np.array(x.tolist()) * 2


@on(vectors(200, 600))
def relative_strength(x: Array) -> Any:
    up, down, out = 0.0, 0.0, np.zeros_like(x)
    for i in range(1, len(x)):
        change = x[i] - x[i - 1]
        up = (up * 13 + max(change, 0)) / 14
        down = (down * 13 + max(-change, 0)) / 14
        out[i] = 100 - 100 / (1 + up / down) if down else 100.0
    return out


@on(matrices(20, 50, 3))
def all_distances(x: Array) -> Any:
    d = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        for j in range(i):
            d[i, j] = d[j, i] = np.sqrt(((x[i] - x[j]) ** 2).sum())
    return d


def fft(x: Array) -> Array:
    if len(x) <= 1:
        return x
    even, odd = fft(x[::2]), fft(x[1::2])
    k = np.exp(-2j * np.pi * np.arange(len(x) // 2) / len(x)) * odd
    return np.concatenate([even + k, even - k])


@on(lambda rng: ((rng.normal(size=2 ** (5 + k % 5)),) for k in range(SIZES)))
def recursive_fft(x: Array) -> Any:
    return fft(x)


# ---- writes into a part


@on(rows(20_000, 40_000))
def add_at(x: Array, i: Array) -> Any:
    np.add.at(x, i, 1)


@on(rows(20_000, 40_000))
def swap_rows(x: Array, i: Array) -> Any:
    x[i[:100]] = x[i[100:]]


@on(rows(20_000, 40_000))
def step_down(x: Array, i: Array) -> Any:
    x[i] -= 0.1 * (x[i] ** 2).mean(axis=0)


@on(matrices(200, 400))
def borders(x: Array) -> Any:
    x[0], x[-1], x[:, 0], x[:, -1] = 0, 1, 2, 3
    return np.pad(x, 2, mode="edge").sum()


# ---- functions that fall back, or raise or warn, behind work


@on(matrices(60, 100))
def falls_back(m: Array) -> Any:
    y = np.sort(m, axis=0) @ np.linalg.inv(m + 100 * np.eye(len(m)))
    return sorted(locals()), y


@on(vectors(20_000, 60_000))
def warns(x: Array) -> Any:
    y = np.sort(x)
    with np.errstate(all="ignore"):
        y = y / 0.0
    return np.log(y[:3]) + np.sqrt(x[:3] - 100)


@on(vectors(5_000, 20_000))
def lambdas(x: Array) -> Any:
    return sum((lambda v, k=k: np.tanh(v * k))(x) for k in range(5))


@on(matrices(100, 300, 8))
def nearest(x: Array) -> Any:
    labels = []
    for row in x[:40]:
        d = ((x - row) ** 2).sum(axis=1)
        labels.append(int(np.argsort(d)[1]))
    return labels
