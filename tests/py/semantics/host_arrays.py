"""Arrays that NumPy itself computes with: complex, structured, byte-swapped, text, objects."""

from __future__ import annotations

import copy
import datetime
import types
from decimal import Decimal
from fractions import Fraction

import numpy as np

from semantics.world import World, case, close, floats, ints


def complexes(*shape):
    return floats(*shape) + 1j * ints(*shape)


def records(n):
    made = np.zeros(n, [("a", "i8"), ("b", "f8"), ("c", "U3")])
    made["a"], made["b"], made["c"] = ints(n), floats(n), "xy"
    return made


def kinds(n):
    """An array of each kind, to be read and written."""
    return [
        complexes(n),
        records(n),
        floats(n).astype(">f8"),
        np.array(["ab", "c", "ddd"] * n)[:n],
        np.datetime64("2020-01-01") + np.arange(n),
        ints(n).astype(object),
    ]


class Loud:
    """Its operators are the user's."""

    log: list = []

    def __add__(self, other):
        self.log.append(other)
        return "added"


@case
def elements_are_written(w: World) -> None:
    @w.compiled
    def f(x):
        before = x[:2].copy()
        x[1:] = x[:-1]
        x[0] = x[-1]
        return before, x, x.copy(), x[::-1].copy()

    for n in (4, 5, 2):
        for x in kinds(n):
            w(f, x)
            w(f, x)


@case
def the_written_array_is_the_callers(w: World) -> None:
    @w.compiled
    def f(x, holder):
        x += 1
        holder["x"] = x
        return x, x.flags.owndata, x.base is None, x.strides

    for x in (complexes(3), complexes(2, 3), complexes(4)[::2], complexes(2, 2).T, complexes(0)):
        w(f, w.watch(x), {})
    whole = complexes(6)
    w(f, whole[1:], {})
    w.note(whole)
    locked = complexes(3)
    locked.flags.writeable = False
    w(f, locked, {})


@case
def operators_in_place(w: World) -> None:
    @w.compiled
    def f(x, y):
        x *= 2
        z = x + y
        z -= y
        z[0] += 1
        return x, z, (x * 1j).real

    for n in (3, 4):
        w(f, complexes(n), complexes(n))
        w(f, floats(n).astype(">f8"), floats(n))
        w(f, floats(n), floats(n).astype(">f4"))
        w(f, ints(n).astype(object), ints(n))
        w(f, ints(n), ints(n).astype(object))
    same = complexes(4)
    w(f, same, same)
    w(f, same, same[:])
    w(f, same[1:], same[:-1])


@case
def fields_are_read_and_written(w: World) -> None:
    @w.compiled
    def f(x):
        return x["a"] * 2 + x["b"], x["a"], x[0]["b"], x[x["a"] > 0]["b"].sum(), x[["a", "c"]]

    @w.compiled
    def g(x, v):
        x["a"] = v
        x["b"][1:] += x["a"][:-1]
        x[0]["c"] = "q"
        return x, x["b"] * 2

    for n in (4, 5, 2):
        w(f, records(n))
        w(g, records(n), 7)
        w(g, w.watch(records(n)), n)


@case
def a_field_is_written_through_an_alias(w: World) -> None:
    @w.compiled
    def f(x, field):
        field += 1
        return x["b"] * 2

    @w.compiled
    def g(x, field):
        first = x["b"] * 2
        field *= 3
        return first, x["b"] + 1, field

    for n in (4, 3):
        x = records(n)
        w(f, x, floats(n))
        w(f, x, x["b"])
        w(g, x, x["b"])
        w(g, x, floats(n))


@case
@close
def real_and_imaginary_parts(w: World) -> None:
    @w.compiled
    def f(z):
        return z.real * 2 + z.imag, np.abs(z) ** 2, z.real, z.conj(), np.angle(z)

    @w.compiled
    def g(z):
        z.real = 0
        z.imag *= 2
        spectrum = np.fft.fft(z)
        low = spectrum.real
        spectrum.real = 1
        return z, spectrum, low, low + 1

    for n in (4, 5, 1):
        w(f, complexes(n, 2))
        w(f, complexes(n, 2).T)
        w(g, complexes(n))


@case
def a_part_of_a_made_array_is_read_before_it_is_written(w: World) -> None:
    @w.compiled
    def f(x):
        z = x * (1 + 1j)
        part = z.imag
        before = part * 2
        z[0] = 5j
        after = part * 2
        part[1] = -1
        return before, after, z, part

    for n in (3, 4):
        w(f, floats(n))
        w(f, floats(n))


@case
def objects_that_are_plain(w: World) -> None:
    @w.compiled
    def f(x):
        return x * 2 + x, x > x[0], x.sum(), x[1:], x.tolist(), sorted(x), x[0], copy.deepcopy(x)

    numbers = [1, 2.5, Decimal("0.5"), Fraction(1, 3), True, 2**70, np.float32(2), np.int8(3)]
    for number in numbers:
        w(f, np.array([number, number + 1, number], object))
    w(f, np.array(["a", "b"], object))
    day = datetime.timedelta(1)
    w(f, np.array([day, day * 2], object))
    w(f, np.array([None, 1], object))


@case
def objects_that_are_the_users(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1

    Loud.log.clear()
    w(f, np.array([1, 2], object))
    w(f, np.array([Loud(), 2], object))
    w.note(Loud.log)
    w(f, np.array([[1], [2, 3], None], object)[:2])
    w(f, np.array([1, 2], object))

    @w.compiled
    def g(x):
        return x * 2

    w(g, complexes(2))
    w(g, np.array([Loud()], object))
    w.note(Loud.log)


@case
def arrays_of_objects_hold_what_was_stored(w: World) -> None:
    @w.compiled
    def f(x, thing):
        made = np.empty(3, object)
        made[0] = x
        made[1] = thing
        made[2] = 5
        made[0][0] = 9
        return made, made[0] is x

    @w.compiled
    def g(x):
        made = np.empty(3, dtype=object)
        made[:] = 1
        made[1] = "s"
        made[2] = x.sum()
        return made, made + made

    for n in (2, 3):
        w(f, floats(n), [1, 2])
        w(g, floats(n))


@case
def a_fraction_whose_operator_was_replaced(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1

    thirds = np.array([Fraction(1, 3), Fraction(2, 3)], object)
    w(f, thirds)
    own = Fraction.__add__
    Fraction.__add__ = lambda a, b: "replaced"
    try:
        w(f, thirds)
    finally:
        Fraction.__add__ = own
    w(f, thirds)


@case
def text_of_any_width(w: World) -> None:
    @w.compiled
    def f(x):
        return x == "ab", np.char.upper(x), x[0], len(x)

    for words in (["ab", "c"], ["ab", "longer"], ["x" * 9, "ab", "y"]):
        w(f, np.array(words))
        w(f, np.array(words, "S"))


@case
def views_of_a_written_array_leave(w: World) -> None:
    @w.compiled
    def f(x):
        x[0] = 5
        part = x[1:]
        part[0] = 7
        return part, part[:1], x.T, x.reshape(-1), x

    @w.compiled
    def g(x):
        x["b"] = 2
        first = x[0]
        return x["a"], first, x["b"][1:]

    whole = complexes(8)
    for x in (complexes(4), whole[::2], whole[::-1], complexes(3), complexes(2, 3)[:, 1:]):
        made = w(f, x)
        if made is not None:
            made[0][...] = 1j
            w.note(made, x, whole)
    for n in (3, 4):
        made = w(g, records(n))
        if made is not None:
            made[0][0] = 99
            w.note(made)


@case
def an_empty_slice_is_a_view_too(w: World) -> None:
    @w.compiled
    def f(x, n):
        part = x[:n]
        part += 1
        return x * 1, part

    for n in (0, 0, 2, 3):
        w(f, w.watch(complexes(4)), n)


@case
def an_array_of_objects_has_no_parts(w: World) -> None:
    @w.compiled
    def f(x, v):
        x.real = v
        return x

    for v in (1, np.complex128(2 + 1j), 2.5):
        w(f, ints(3).astype(object), v)
        w(f, complexes(3), v)
        w(f, floats(3), v)


@case
def iterators_over_host_arrays(w: World) -> None:
    @w.compiled
    def f(x):
        one, two = x.flat, x.flat
        return next(one), one is two, list(two)

    for n in (3, 4):
        w(f, complexes(n))


def raised(x):
    x += 1
    return x[x == x]


def reversed_in_place(x):
    x[...] = x[::-1].copy()
    return x[x == x], x[::-1]


def raised_through_a_view(x):
    v = x[1:]
    np.add(v, 1, out=v)
    return x[x == x], x[[0]] if len(x) else x


def put_everywhere(x):
    np.put(x, range(len(x)), 7)
    return x[x == x], x[:2], np.sort(x)


def filled(x):
    z = np.asarray(x)
    x.fill(7)
    return z[z == z], np.ravel(z), x.reshape(-1)[x == x]


def check_written_and_read(w: World, *dtypes: str) -> None:
    functions = raised, reversed_in_place, raised_through_a_view, put_everywhere, filled
    for plain in functions:
        for dtype in dtypes:
            for first in (0, 1, 2):
                f = w.compiled(types.FunctionType(plain.__code__, plain.__globals__))
                for n in (first, 4, first, 5):
                    x = np.arange(n).astype(dtype)
                    w(f, x)
                    w.note(x)


@case
def written_and_read_first_without_elements(w: World) -> None:
    check_written_and_read(w, "c16", "f8", "i8", "O")


@case
def dtypes_with_parameters_first_without_elements(w: World) -> None:
    check_written_and_read(w, ">f8", ">i4", "m8[s]")
