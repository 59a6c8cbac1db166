"""Functions of SciPy: called as they are, the rest of the program compiled."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
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
