"""Subclasses of ndarray: NumPy's own, those of the user without code, and those with."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.ma as ma

from semantics.world import World, case, close, floats, ints


def matrix(*shape):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.matrix(floats(*shape))


def masked(*shape):
    x = floats(*shape)
    return ma.masked_array(x, mask=x < 0)


def records(n):
    return np.rec.fromarrays([ints(n), floats(n)], names="a,b")


class Bare(np.ndarray):
    """Adds nothing."""


class Named(np.ndarray):
    """As NumPy's documentation shows it."""

    def __array_finalize__(self, other):
        self.name = getattr(other, "name", "")


class Counting(np.ndarray):
    """Its code is run by NumPy, and leaves a trace."""

    log: list = []

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        self.log.append(ufunc.__name__)
        plain = [i.view(np.ndarray) if isinstance(i, Counting) else i for i in inputs]
        return getattr(ufunc, method)(*plain, **kwargs)


@case
@close
def matrices(w: World) -> None:
    @w.compiled
    def f(m, x):
        return m * m, m**2, m + x, m[0], m[:, 1], m.T, m.A, m.A1, m.sum(axis=0), np.asarray(m) * 2

    @w.compiled
    def g(m):
        before = m[0] * 2
        m[0] = 7
        m += 1
        made = m * 2
        made[1] = 0
        return before, m, made, m.mean(), [row.sum() for row in m], np.linalg.norm(m)

    for n in (3, 2, 3):
        w(f, matrix(n, n), floats(n, n))
        w(g, w.watch(matrix(n, n)))


@case
def arrays_of_records(w: World) -> None:
    @w.compiled
    def f(r):
        return r.a * 2 + r.b, r[0].a, r["b"], r.a, r[1:], r[r.a > 0].b.sum(), len(r), r.dtype.names

    @w.compiled
    def g(r):
        r.a = 5
        r["b"][0] = 9
        return r, r.b + 1, [each.b for each in r]

    for n in (4, 5, 2):
        w(f, records(n))
        w(g, w.watch(records(n)))


@case
@close
def masked_arrays(w: World) -> None:
    @w.compiled
    def f(m):
        return m + 1, m * m, m.mean(), m.sum(axis=0), m.filled(0) * 2, m.count(), m.mask, m.data * 2

    @w.compiled
    def g(m):
        if m.mask.any():
            return ma.median(m), m[~m.mask], m[0], m.compressed()
        return m.max(), ma.average(m)

    for shape in ((3, 4), (2, 5), (4, 1)):
        w(f, masked(*shape))
        w(g, masked(*shape))
    w(f, ma.masked_array(floats(2, 2)))
    w(g, ma.masked_array(floats(2, 2)))
    w(f, ma.masked_all((2, 2)))


@case
@close
def masked_arrays_that_a_path_makes(w: World) -> None:
    @w.compiled
    def f(x, limit):
        m = ma.masked_less(x, limit)
        n = ma.masked_array(x, mask=x > 1, fill_value=-1)
        return m.mean(), m, n.filled(), ma.masked_invalid(x).sum(), ma.getmaskarray(n), ma.add(m, n)

    for n in (4, 5, 3):
        w(f, floats(n), 0.0)
        w(f, floats(n) * 2, 0.5)
    w(f, np.array([np.nan, 1.0]), 0.0)


@case
def a_masked_array_shares_with_what_it_was_made_of(w: World) -> None:
    @w.compiled
    def f(x, mask):
        y = x * 2
        m = ma.masked_array(y, mask=mask)
        y[0] = 50
        mask[1] = True
        return m, y, m.sum()

    @w.compiled
    def g(x):
        mask = x > 0
        m = ma.array(x, mask=mask)
        return m, mask, m.mask is mask

    for n in (3, 4, 3):
        w(f, floats(n), floats(n) < 0)
        made = w(g, floats(n))
        if made is not None:
            made[1][:] = True
            made[0].data[0] = 3
            w.note(made)


@case
def writes_into_masked_arrays(w: World) -> None:
    @w.compiled
    def f(m):
        m[0] = ma.masked
        m[1] = 5
        m += 1
        return m, m.sum()

    for n in (3, 4):
        w(f, w.watch(masked(n)))
        w(f, masked(n)[1:])


@case
def a_class_without_code(w: World) -> None:
    @w.compiled
    def f(x):
        made = x.view(Bare)
        return x * 2 + 1, x.sum(), np.asarray(x) * 2, np.sqrt(abs(x)), made[1:], type(x).__name__

    for n in (3, 4, 2):
        w(f, floats(n, 2).view(Bare))
        w(f, floats(n, 2))


@case
def a_class_that_gains_code(w: World) -> None:
    class Late(np.ndarray):
        pass

    @w.compiled
    def f(x):
        return x + 1

    w(f, floats(3).view(Late))
    Late.__add__ = lambda self, other: "late"
    w(f, floats(3).view(Late))
    del Late.__add__
    Late.__array_ufunc__ = lambda self, ufunc, *rest: ufunc.__name__
    w(f, floats(3).view(Late))


@case
def classes_with_code(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        return y, y.name, x.sum()

    @w.compiled
    def g(x):
        return x + 1, np.sum(x), np.concatenate([x, x])

    Counting.log.clear()
    for n in (3, 4):
        named = floats(n).view(Named)
        named.name = "n"
        w(f, named)
        w(g, floats(n).view(Counting))
        w.note(Counting.log)


@case
def views_of_subclasses(w: World) -> None:
    @w.compiled
    def f(m):
        plain = np.asarray(m)
        plain += 1
        return m, plain, plain.base is m

    @w.compiled
    def g(x):
        m = np.asmatrix(x)
        return m, m.A * 2, m.T, x * 1, m.base is x

    @w.compiled
    def h(x):
        z = x.view(np.complex128)
        return z, z.real * 2, x.view([("a", "f8")])["a"] + 1

    for n in (2, 4, 2):
        w(f, w.watch(matrix(n, n)))
        w(f, masked(n))
        w(g, floats(n, n))
        w(h, floats(n))
        w(h, floats(n) * 2)


@case
def the_masked_constant_in_arrays(w: World) -> None:
    @w.compiled
    def f(x):
        x[1] = ma.masked
        return x + ma.masked, x

    @w.compiled
    def g(m):
        return m[0] is ma.masked, m[0], m + ma.masked

    for n in (3, 4):
        w(f, floats(n))
        w(g, masked(n))
        w(g, -masked(n))


@case
def masks_that_are_shared(w: World) -> None:
    @w.compiled
    def f(m):
        mask = ma.getmaskarray(m)
        mask.sort()
        return m, mask

    @w.compiled
    def g(m, mask):
        before = m.sum()
        mask[...] = False
        return before, m.sum(), m

    @w.compiled
    def h(m):
        mask = m.mask
        mask[0] = True
        return m.sum(), mask

    for n in (3, 4):
        w(f, w.watch(masked(n)))
        w(f, ma.masked_array(floats(n)))
        m = masked(n)
        w(g, m, floats(n) > 0)
        w(g, m, m._mask)
        w(h, masked(n))


class Unit(np.ndarray):
    """With a unit, a constructor and a method of its own."""

    def __new__(cls, values, unit=""):
        made = np.asarray(values).view(cls)
        made.unit = unit
        return made

    def __array_finalize__(self, other):
        if other is None:
            return
        self.unit = getattr(other, "unit", "")

    def twice(self):
        return self * 2


class Derived(np.ndarray):
    """Its attribute is a property."""

    @property
    def label(self):
        LOG.append("asked")
        return "derived"

    def __array_finalize__(self, other):
        self.tag = getattr(other, "label", "none")


class Overriding(np.ndarray):
    """NumPy calls its methods."""

    def sum(self, *args, **kwargs):
        LOG.append("summed")
        return 5


LOG: list = []


@case
def finalizers_that_hand_attributes_on(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        return y, y.unit, x[1:].unit, x.twice(), hasattr(y, "gone"), getattr(y, "unit", 0), x + y

    @w.compiled
    def g(x, unit):
        made = Unit(x * 2, unit)
        other = Unit(x)
        return made, made + other, (made * 2).unit, other.unit

    shared = ["a", "list"]
    for n in (3, 4, 2):
        w(f, Unit(floats(n), "m"))
        w(f, Unit(floats(n), "s"))
        made = w(f, Unit(floats(n), shared))
        if made is not None:
            w.note(made[1] is shared)
        w(g, floats(n), "kg")
        w(g, floats(n), 2.5)
        w(g, floats(n), shared)


@case
def finalizers_that_do_more(w: World) -> None:
    @w.compiled
    def f(x):
        return x * 2, np.sum(x)

    LOG.clear()
    for kind in (Derived, Overriding, Derived):
        w(f, floats(3).view(kind))
        w(f, floats(4).view(kind))
        w.note(LOG)


@case
def a_finalizer_is_replaced(w: World) -> None:
    class Late(np.ndarray):
        def __array_finalize__(self, other):
            self.tag = "first"

    @w.compiled
    def f(x):
        return (x + 1).tag

    def second(self, other):
        LOG.append("second")
        self.tag = "second"

    LOG.clear()
    w(f, floats(3).view(Late))
    w(f, floats(3).view(Late))
    Late.__array_finalize__.__code__ = (lambda self, other: setattr(self, "tag", "code")).__code__
    w(f, floats(3).view(Late))
    Late.__array_finalize__ = second
    w(f, floats(3).view(Late))
    w.note(LOG)
