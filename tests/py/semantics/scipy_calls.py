"""Functions of SciPy: called as they are, the rest of the program compiled."""

from __future__ import annotations

import numpy as np
import scipy.fft
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.sparse.linalg
import scipy.spatial.distance
import scipy.special
import scipy.stats

from semantics.world import World, case, floats


@case
def functions_of_arrays(w: World) -> None:
    @w.compiled
    def f(x):
        y = scipy.special.logsumexp(x * 2) + scipy.special.softmax(x, axis=-1) * 3
        z = scipy.special.expit(x) - scipy.stats.norm.pdf(x * 2)
        return y, z, scipy.signal.lfilter([0.1, 0.2], [1, 0.5], x * 2) + 1

    for n in (5, 5, 9, 1):
        w(f, floats(n))


@case
def matrices(w: World) -> None:
    @w.compiled
    def f(a, b):
        factor = scipy.linalg.cho_factor(a @ a.T + np.eye(len(a)))
        s = scipy.linalg.svdvals(a * 2)
        return scipy.linalg.solve(a + 9, b) * 2, scipy.linalg.cho_solve(factor, b), s.sum()

    for n in (4, 4, 6):
        w(f, floats(n, n) + np.eye(n), floats(n))


@case
def distances_and_order(w: World) -> None:
    @w.compiled
    def nearest(points, queries):
        d = scipy.spatial.distance.cdist(queries * 2, points * 2)
        order = np.argsort(d, axis=1)[:, :2]
        return points[order].mean(axis=1), scipy.ndimage.gaussian_filter(points * 3, 1.0)

    for n in (6, 6, 8):
        w(nearest, floats(n, 3), floats(2, 3))


@case
def calls_with_effects_run_uncompiled(w: World) -> None:
    @w.compiled
    def draws(x):
        return scipy.stats.norm.rvs(size=3, random_state=1) + x

    @w.compiled
    def overwrites(a, b):
        return scipy.linalg.solve(a, b, overwrite_a=True, overwrite_b=True)

    @w.compiled
    def output(x, y):
        scipy.ndimage.uniform_filter(x, 3, y)
        return x + y

    @w.compiled
    def calls_back(b):
        return scipy.optimize.minimize(lambda v: ((v - b) ** 2).sum(), b * 0).x.round(3)

    for _ in range(3):
        w(draws, floats(3))
        w(overwrites, np.asfortranarray(floats(3, 3) + np.eye(3)), floats(3))
        w(output, floats(5), floats(5))
        w(calls_back, floats(2))


def compiles(function) -> None:
    """No call of a compiled function fell back; a plain one has no reasons."""
    reasons = getattr(function, "fallback_reasons", [])
    assert not reasons, reasons


def matrix(n: int) -> scipy.sparse.csr_matrix:
    return scipy.sparse.csr_matrix(floats(n, n) * (floats(n, n) > 0))


@case
def sparse_matrices(w: World) -> None:
    constant = matrix(4)

    @w.compiled
    def given(m, x):
        y = (m @ x) * 2 + m.T @ x - m.shape[0] + m.diagonal() * m.nnz
        return y, (x + 1) @ m, ((m + m.T) * 3 - m).toarray() * 2, (-m)[0].sum()

    @w.compiled
    def closed(x):
        return constant @ (x * 2) + constant.dot(x)

    @w.compiled
    def made(x):
        m = scipy.sparse.csr_matrix(np.outer(x, x) * (x > 0.3))
        band = scipy.sparse.diags([x[:-1] * 2, x], [1, 0], format="csr")
        return m @ x + 1, m.nnz, (band @ x).sum(), scipy.sparse.linalg.norm(m + band)

    for n in (4, 4, 6, 6):
        m = matrix(n)
        w(given, m, floats(n))
        m.data[0] = 5
        w(given, m, floats(n))
        w(given, m.tocsc(), floats(n))
        w(made, floats(n))
        w(closed, floats(4))
        constant.data[1] += 1
    for function in (given, closed, made):
        compiles(function)


@case
def sparse_matrices_keep_what_they_are_made_of(w: World) -> None:
    @w.compiled
    def written_behind(x, places, rows):
        d = x * 2
        m = scipy.sparse.csr_matrix((d, places, rows), shape=(3, 3))
        d[0] = 9
        return m @ x, d

    @w.compiled
    def written_through(x, places, rows):
        d = x * 2
        m = scipy.sparse.csr_matrix((d, places, rows), shape=(3, 3))
        m.data[0] = 9
        return m @ x, d

    @w.compiled
    def of_the_caller(x, places, rows):
        m = scipy.sparse.csr_matrix((x, places, rows), shape=(3, 3))
        x[1] = 7
        return m @ x

    @w.compiled
    def leaves(x, places, rows):
        d = x * 2
        m = scipy.sparse.csr_matrix((d, places, rows), shape=(3, 3))
        return m.data, d, m @ d

    for _ in range(4):
        for function in (written_behind, written_through, of_the_caller, leaves):
            w(function, floats(3), np.array([0, 1, 2], np.int32), np.array([0, 1, 2, 3], np.int32))


@case
def a_matrix_changed_before_it_is_used(w: World) -> None:
    @w.compiled
    def f(m, x):
        m.data[0] = x[0]
        return m @ x

    m = matrix(3)
    w.watch(m.data)
    for _ in range(3):
        w(f, m, floats(3) + 2)


@case
def operators_with_functions_of_the_user_run_uncompiled(w: World) -> None:
    seen = w.watch([])

    def product(v):
        seen.append(len(v))
        return v * 2

    m = scipy.sparse.linalg.LinearOperator((3, 3), matvec=product, dtype=float)

    @w.compiled
    def f(m, x):
        return (m @ x) * 2 + m.matvec(x)

    for _ in range(3):
        w(f, m, floats(3))
        w(f, m * 2, floats(3))


@case
def interpolators(w: World) -> None:
    knots = np.arange(5.0)
    line = scipy.interpolate.interp1d(knots, knots**2)
    curve = scipy.interpolate.CubicSpline(knots, knots**3)

    @w.compiled
    def given(x):
        return line(x * 2) + curve(x) * 2 + curve(x, 1) + curve.derivative()(x) + line.x[1]

    @w.compiled
    def made(x, y):
        line = scipy.interpolate.interp1d(x, y * 2, kind="linear", fill_value="extrapolate")
        return line(x + 0.25) + scipy.interpolate.CubicSpline(x, y * 3)(x * 0.5)

    for n in (5, 5, 8):
        w(given, np.linspace(0, 2, n))
        w(made, np.arange(float(n)), floats(n))
    compiles(given)
    w(given, np.array([9.0, 1.0]))  # beyond the knots: raises
    w(made, np.arange(4.0), floats(4))
    compiles(made)


@case
def frozen_distributions(w: World) -> None:
    normal = scipy.stats.norm(0, 2)

    @w.compiled
    def given(x):
        return normal.pdf(x * 2) + normal.cdf(x) + normal.mean() + normal.ppf(0.5)

    @w.compiled
    def made(x, loc):
        return scipy.stats.norm(loc, 1).pdf(x * 2) + scipy.stats.expon(scale=2.0).sf(x)

    @w.compiled
    def draws(x):
        return normal.rvs(size=3, random_state=3) + x

    for n in (3, 3, 5):
        w(given, floats(n))
        w(made, floats(n), 0.5)
        w(draws, floats(3))
    compiles(given)
    compiles(made)


@case
def transforms(w: World) -> None:
    @w.compiled
    def f(x):
        z = scipy.fft.ifft(scipy.fft.fft(x * 2) * 2)
        return z.real + 1, scipy.fft.rfft(x).imag.sum(), scipy.fft.dct(x * 3) + x

    @w.compiled
    def overwrites(x):
        return scipy.fft.dct(x, overwrite_x=True) + 1

    for n in (4, 4, 6, 8):
        w(f, floats(n))
        w(overwrites, floats(n))
    compiles(f)


@case
def filters_by_sections(w: World) -> None:
    @w.compiled
    def f(x, cut):
        sections = scipy.signal.butter(2, cut, output="sos")
        return scipy.signal.sosfilt(sections, x * 2) + 1

    for n in (8, 8, 12):
        w(f, floats(n), 0.2)
    compiles(f)
