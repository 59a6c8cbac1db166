"""Truths and extremes of computed numbers: stored, returned, compared by identity, branched on."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints


@case
def truths_that_are_only_stored(w: World) -> None:
    @w.compiled
    def f(x, y):
        same = np.array_equal(x, y)
        other = not same
        low = float(x.sum()) < 3
        return same, other, low, not low, bool(other), bool(x.sum()), [same], {"low": low}

    for n in (3, 3, 0, 1):
        w(f, floats(n), floats(n))
        w(f, floats(n), floats(n) + 1)
        w(f, floats(n), floats(n + 1))


@case
def truths_in_arithmetic(w: World) -> None:
    @w.compiled
    def f(x, limit):
        flag = limit < 2
        count = flag + flag
        return x * flag, x.astype(np.int8) + flag, count, -flag, flag * 2.5, np.where(flag, x, -x)

    for limit in (1.0, 3.0, 2, 1, np.float32(1), np.nan):
        w(f, floats(3), limit)


@case
def truths_compared_by_identity(w: World) -> None:
    @w.compiled
    def f(x):
        big = float(x.max()) > 1
        if big is True:
            x = x + 1
        if (not big) is False:
            x = x * 2
        return x, big is None, big is not None, big == 1

    for n in (3, 5, 9, 3, 12):
        w(f, floats(n))


@case
def truths_as_keys_and_indices(w: World) -> None:
    @w.compiled
    def f(x):
        big = float(x.sum()) > 1
        names = {True: "big", False: "small"}
        pair = ("no", "yes")
        return names[big], pair[big], f"{big} {not big!r}", str(big), sorted([big, not big])

    for n in (3, 5, 9, 3, 12):
        w(f, floats(n))


@case
def truths_that_steer_later(w: World) -> None:
    class Result:
        pass

    @w.compiled
    def f(x, r):
        r.converged = abs(float(x.sum())) < 1
        r.sizes.append(x.size > 3)
        steps = 0
        while not r.converged and steps < 4:
            x = x / 2
            r.converged = abs(float(x.sum())) < 1
            steps += 1
        return x, steps, r.converged

    for n in (3, 5, 9, 3, 12):
        r = Result()
        r.sizes = []
        w(f, floats(n), r)
        w.note(r)


@case
def extremes_of_several_types(w: World) -> None:
    @w.compiled
    def f(x, limit):
        total = x.sum()
        scale = min(1.0, limit / (total + 1))
        return (
            x * scale,
            scale,
            max(total, 0),
            max(0, total),
            min(total, 2.5, len(x)),
            min(limit, 1),
        )

    for n in (3, 3, 5, 9, 1, 0, 12):
        for limit in (0.5, 2.0, 1.0):
            w(f, floats(n), limit)


@case
def extremes_keep_the_object(w: World) -> None:
    @w.compiled
    def f(x, y):
        a, b = x.max(), y.max()
        most = max(a, b)
        return most is a, most is b, most, max([a, 1.0, b]), min((True, a, 1))

    w(f, floats(3), floats(3))
    w(f, floats(5), floats(3))
    w(f, floats(3), floats(5))
    w(f, ints(3), floats(5))
    w(f, floats(9, dtype=np.float32), floats(5))


@case
def extremes_with_nan_and_zeros(w: World) -> None:
    @w.compiled
    def f(x, limit):
        first = x[0]
        return max(first, limit), max(limit, first), min(first, limit), min(limit, first)

    for first in (1.0, np.nan, 0.0, -0.0, np.inf):
        for limit in (0.0, -0.0, 1, np.nan, 2.5, -1):
            w(f, np.array([first, 2.0]), limit)


@case
def extremes_of_three_and_more(w: World) -> None:
    @w.compiled
    def f(x, y):
        step = max(1e-3, min(x.mean(), y, 10))
        return step, x / step, max(len(x), 2.5, step), min([1, 2.5, x.max(), len(x)])

    for n in (1, 3, 5, 9, 3):
        w(f, floats(n), 0.25)
        w(f, ints(n), 3)
