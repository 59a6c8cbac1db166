"""Managers of `with`: caught warnings and expected exceptions."""

# ruff: noqa: PT027  (unittest's own form is what is looked at)

from __future__ import annotations

import unittest
import warnings

import numpy as np
import pytest

from semantics.world import World, case, floats


@case
def warnings_that_are_recorded(w: World) -> None:
    @w.compiled
    def f(x):
        with warnings.catch_warnings(record=True) as log:
            warnings.simplefilter("always")
            y = np.log(x)
        return y, len(log)

    for x in (floats(3) + 1, floats(3) + 1, np.zeros(2), floats(2) + 1, -floats(3)):
        w(f, x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        w(f, floats(3) + 1)
        w(f, np.zeros(3))
    w.note(len(warnings.filters) > 0)


@case
def warnings_that_are_recorded_from_the_start(w: World) -> None:
    @w.compiled
    def f(x):
        with warnings.catch_warnings(record=True) as log:
            warnings.simplefilter("always")
            y = 1 / x
        return y, [str(m.message) for m in log]

    for x in (np.zeros(2), np.zeros(2), floats(2) + 1, floats(2) + 1):
        w(f, x)


@case
def warnings_ignored_or_raised_within(w: World) -> None:
    @w.compiled
    def f(x, action):
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            return np.sqrt(x)

    for action in ("ignore", "error", "always"):
        for x in (floats(3) + 1, floats(3) + 1, np.array([-1.0]), floats(2) + 1):
            w(f, x, action)


@case
def callers_that_ignore(w: World) -> None:
    @w.compiled
    def f(x):
        with warnings.catch_warnings(record=True) as log:
            warnings.simplefilter("always")
            y = 1 / x
        return y, len(log)

    def quiet(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(x)

    for x in (floats(2) + 1, floats(2) + 1, np.zeros(2), floats(2) + 1):
        w(f, x)
        w(quiet, x)


@case
def callers_with_the_filters_of_python(w: World) -> None:
    """Which ignore warnings of what is deprecated."""

    @w.compiled
    def ignoring(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return np.log(x) + np.sort(x)

    @w.compiled
    def recording(x):
        with warnings.catch_warnings(record=True) as log:
            warnings.simplefilter("always")
            y = np.sqrt(x) * 2
        return y, len(log), np.sort(y)

    @w.compiled
    def calling(x):
        with warnings.catch_warnings(record=True) as log:
            warnings.simplefilter("always")
            y = np.asmatrix(x) * 2
        return y, len(log)

    @w.compiled
    def changing(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            y = x + 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                z = np.float32(1e38) * np.float32(x[0])
        return y, z

    def usual(f, x):
        with warnings.catch_warnings():
            warnings.resetwarnings()
            warnings.simplefilter("ignore", PendingDeprecationWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            return f(x)

    for x in (floats(3) + 1, floats(3) + 1, -floats(3), np.full(2, 9.0), floats(2) + 1):
        for f in (ignoring, recording, calling, changing):
            w(usual, f, x)
            w(f, x)


@case
def filters_that_stay(w: World) -> None:
    @w.compiled
    def f(x):
        warnings.filterwarnings("ignore", message="mine")
        return x + 1

    before = list(warnings.filters)
    for n in (2, 2, 3):
        w(f, floats(n))
    w.note(len(warnings.filters) == len(before))


@case
def exceptions_that_are_expected(w: World) -> None:
    @w.compiled
    def f(x, y):
        with pytest.raises(ValueError, match="broadcast") as info:
            x + y
        return x * 2, str(info.value), info.type

    for a, b in ((3, 2), (3, 2), (4, 2), (3, 3), (2, 3)):
        w(f, floats(a), floats(b))


@case
def exceptions_of_unittest(w: World) -> None:
    @w.compiled
    def f(x, y):
        check = unittest.TestCase()
        check.assertRaises(ValueError, np.add, x, y)
        with check.assertRaises(TypeError):
            np.add(x, "a")
        return x * 2

    for a, b in ((3, 2), (3, 2), (4, 2), (3, 3), (2, 3)):
        w(f, floats(a), floats(b))


@case
def names_of_functions(w: World) -> None:
    @w.compiled
    def f(x):
        return np.sort.__name__, x.sum.__name__, np.add.__name__, x + 1

    for n in (2, 2, 3):
        w(f, floats(n))
