"""Subclasses of ndarray and objects that answer for themselves."""

from __future__ import annotations

import warnings

import numpy as np

from semantics.world import World, case, floats


def matrix(*shape):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.matrix(floats(*shape))


class Tagged(np.ndarray):
    """Carries a tag through views and operations."""

    def __array_finalize__(self, other):
        self.tag = getattr(other, "tag", None)


class Loud(np.ndarray):
    """Writes down every ufunc."""

    log: list = []

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        self.log.append((ufunc.__name__, method))
        plain = [i.view(np.ndarray) if isinstance(i, Loud) else i for i in inputs]
        result = getattr(ufunc, method)(*plain, **kwargs)
        return result.view(Loud) if isinstance(result, np.ndarray) else result


class Duck:
    """Is no array, but takes part in ufuncs and NumPy functions."""

    def __init__(self, value):
        self.value = value

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        values = [i.value if isinstance(i, Duck) else i for i in inputs]
        return Duck(getattr(ufunc, method)(*values, **kwargs))

    def __array_function__(self, function, types, args, kwargs):
        return ("function", function.__name__, len(args))


class Prior:
    """Takes operators over from arrays."""

    __array_priority__ = 1000
    __array_ufunc__ = None

    def __radd__(self, other):
        return "radd", type(other).__name__

    def __add__(self, other):
        return "add", type(other).__name__


class Convertible:
    """Turns into an array when asked, and counts how often."""

    def __init__(self, value):
        self.value, self.asked = value, 0

    def __array__(self, dtype=None, copy=None):
        self.asked += 1
        return np.asarray(self.value, dtype)


def tagged(*shape, tag="t"):
    x = floats(*shape).view(Tagged)
    x.tag = tag
    return x


@case
def matrices_multiply_as_matrices(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x * y, x.T, x.sum(axis=0), x[0]

    for x, y in (
        (floats(2, 2), floats(2, 2)),
        (floats(2, 2), floats(2, 2)),
        (matrix(2, 2), matrix(2, 2)),
        (matrix(2, 2), floats(2, 2)),
        (floats(2, 2), matrix(2, 2)),
        (floats(2, 2), floats(2, 2)),
    ):
        w(f, x, y)


@case
def masked_arrays_stay_masked(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1, x.sum(), x * x, np.sqrt(x * x)

    masked = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    for x in (floats(3), masked, floats(3), masked, np.ma.array([1.0, 2.0]), floats(3)):
        w(f, x)


@case
def a_masked_operand_beside_a_plain_one(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x + y, np.add(x, y), np.maximum(y, x)

    masked = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    for x, y in (
        (floats(3), floats(3)),
        (floats(3), masked),
        (masked, floats(3)),
        (floats(3), floats(3)),
        (floats(3), np.ma.masked),
    ):
        w(f, x, y)


@case
def a_subclass_with_an_attribute(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        return y, x[1:], getattr(y, "tag", "none"), type(y).__name__, np.sum(x, axis=0)

    for x in (floats(3), floats(3), tagged(3), floats(3), tagged(3, tag="u"), tagged(2, 2)):
        w(f, x)


@case
def a_subclass_made_within(w: World) -> None:
    @w.compiled
    def f(x):
        y = x.view(Tagged)
        y.tag = x.shape
        z = y + 1
        return z, z.view(np.ndarray), y

    for n in (3, 3, 4, 0):
        w(f, floats(n))


@case
def a_subclass_that_overrides_ufuncs(w: World) -> None:
    Loud.log = w.watch([])

    @w.compiled
    def f(x, y):
        z = x + y
        return z * 2, z.sum()

    for x, y in (
        (floats(3), floats(3)),
        (floats(3).view(Loud), floats(3)),
        (floats(3), floats(3).view(Loud)),
        (floats(3), floats(3)),
        (floats(3).view(Loud), floats(3).view(Loud)),
    ):
        w(f, x, y)


@case
def an_in_place_operation_with_a_subclass(w: World) -> None:
    @w.compiled
    def f(x, y):
        x += y
        return x

    for x, y in (
        (floats(3), floats(3)),
        (floats(3), tagged(3)),
        (tagged(3), floats(3)),
        (floats(3), floats(3)),
        (floats(3), np.ma.array([1.0, 2, 3], mask=[1, 0, 0])),
        (floats(2, 2), matrix(2, 2)),
    ):
        w(f, x, y)


@case
def a_duck_takes_part(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x + y, np.multiply(x, y), np.sum(y), np.concatenate([x, y])

    for y in (floats(3), floats(3), Duck(floats(3)), Duck(2), floats(3), Duck(floats(3))):
        w(f, floats(3), y)


@case
def an_object_that_takes_over_the_operator(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x + y, y + x

    for y in (floats(3), Prior(), floats(3), Prior(), 2):
        w(f, floats(3), y)


@case
def an_object_that_becomes_an_array(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x + y, np.add(y, x), np.asarray(y)

    for y in (floats(3), Convertible([1.0, 2, 3]), floats(3), Convertible(2), [1, 2, 3], (1, 2, 3)):
        w(f, floats(3), y)


@case
def lists_and_tuples_as_operands(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x * y, np.sum(y), np.maximum(x, y)

    for y in (
        [1, 2, 3],
        [1, 2, 3],
        [1.5, 2, 3],
        (1, 2, 3),
        [[1], [2]],
        [1, 2],
        range(3),
        [True] * 3,
    ):
        w(f, floats(3), y)


@case
def a_subclass_of_float_and_of_int(w: World) -> None:
    class Metres(float):
        def __mul__(self, other):
            return Metres(float(self) * other) if isinstance(other, float) else NotImplemented

    class Count(int):
        def __index__(self):
            return 1

    @w.compiled
    def f(x, k):
        return x * k, k * 2.0, k + 1

    for k in (2.0, Metres(2.0), 2.0, Metres(3.0), 3, Count(3), True):
        w(f, floats(3), k)


@case
def a_memmap_and_a_recarray(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1 if x.dtype.names is None else x["a"] + 1

    records = np.array([(1, 2.0), (3, 4.0)], [("a", "i8"), ("b", "f8")])
    for x in (
        floats(3),
        records,
        records.view(np.recarray),
        floats(3),
        floats(3).view(np.recarray),
    ):
        w(f, x)


@case
def the_subclass_of_a_global(w: World) -> None:
    global WEIGHT

    @w.compiled
    def f(x):
        return x * WEIGHT

    for weight in (floats(3), floats(3), tagged(3), np.ma.array([1.0, 2, 3], mask=[1, 0, 0]), 2.0):
        WEIGHT = weight
        w(f, floats(3))
        w(f, floats(3))


@case
def the_class_of_an_instance_changes(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1

    x = floats(3).view(Tagged)
    x.tag = "a"
    w(f, floats(3))
    for kind in (Tagged, Loud, Tagged):
        y = floats(3).view(kind)
        w(f, y)
    w(f, x)
    w(f, floats(3))


WEIGHT = floats(3)
