"""Attributes of arrays: flags, base, flat, views of other dtypes, and who owns the memory."""

from __future__ import annotations

import copy

import numpy as np

from semantics.world import World, case, floats, ints


def layouts():
    """Arrays that lie in memory in every way."""
    wide = floats(6, 8)
    return [floats(3, 4), floats(3, 4).T, wide[::2, ::2], floats(1, 4), floats(0, 4), wide[:, 1:]]


@case
def flags_of_arrays_and_views(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        return [
            (z.flags.c_contiguous, z.flags["F_CONTIGUOUS"], z.flags.writeable, z.flags.owndata)
            for z in (x, y, x.T, y[1:], x.reshape(-1))
        ]

    for x in layouts():
        w(f, x)
        w(f, x)


@case
def a_branch_on_a_flag(w: World) -> None:
    @w.compiled
    def f(x):
        if not x.flags.c_contiguous:
            return np.ascontiguousarray(x) + 1
        return x - 1

    for x in layouts():
        w(f, x)
    locked = floats(3, 4)
    locked.flags.writeable = False

    @w.compiled
    def g(x):
        if x.flags.writeable:
            x += 1
        return x.sum()

    for x in (floats(3, 4), locked, floats(2, 2), locked):
        w(g, x)


@case
def flags_are_set(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        y.flags.writeable = False
        return y

    @w.compiled
    def g(x):
        x.setflags(write=False)
        return x

    for x in (floats(3), floats(4)):
        w(f, x)
        w(g, x)
        w(g, x)


@case
def base_of_arrays_and_views(w: World) -> None:
    @w.compiled
    def f(x):
        y = x + 1
        return x.base is None, x[1:].base is x, x[1:][:1].T.base is x, y.base, y[1:].base is y, y

    whole = floats(4, 4)
    for x in (whole, floats(2, 2), whole[1:], whole.T):
        w(f, x)
    w(f, np.frombuffer(bytes(32)).reshape(2, 2))
    w(f, np.frombuffer(bytes(32)))


@case
def linspace_is_a_view_of_its_ramp(w: World) -> None:
    @w.compiled
    def f(n):
        made = np.linspace(0.0, 1.0, n), np.linspace(0.0, 1.0, n, endpoint=False)
        return [(x, x.base is None, x.flags.owndata) for x in made]

    for n in (5, 3, 7, 1, 0):
        w(f, n)

    @w.compiled
    def g(x):
        line = np.linspace(x[0], x[-1], 4)
        line[1:3] *= 2
        return line, line.base is None, line.base.shape

    for x in (floats(3), floats(5)):
        w(g, x)


@case
def flat_is_read(w: World) -> None:
    @w.compiled
    def f(x):
        return x.flat[1], x.flat[::2], x.flat[[0, 2]], len(x.flat), x.flat.copy(), x.flat.base is x

    for x in layouts():
        w(f, x)

    @w.compiled
    def g(x, y):
        total = 0.0
        for a, b in zip(x.flat, (x * 2).flat):
            total = total + a * b
        return total, list(y.flat)

    for x in (floats(2, 3), floats(2, 3), floats(3, 2).T):
        w(g, x, ints(2))


@case
def flat_is_written(w: World) -> None:
    @w.compiled
    def f(x, v):
        y = x.copy()
        y.flat[:: y.shape[1] + 1] = v
        x.flat[1] = v
        z = np.zeros_like(x)
        z.flat = 3
        return y, z, x

    for x in layouts():
        w(f, x, 7.0)
        w(f, x, 2)
    w(f, ints(3, 3), 2)
    w(f, ints(3, 3), 2.5)

    @w.compiled
    def g(x):
        x.flat[::2] = [1.0, 2.0]
        return x

    for x in layouts():
        w(g, x)


@case
def flat_sees_what_is_written_meanwhile(w: World) -> None:
    @w.compiled
    def f(x):
        seen = []
        for i, v in enumerate(x.flat):
            seen.append(v)
            x[-1] = i
        return seen

    for x in (floats(2, 2), floats(2, 2), floats(3, 1)):
        w(f, x)

    @w.compiled
    def g(x):
        line = x.flat
        first = next(line)
        return first, list(line), line.index

    for x in (floats(2, 2), floats(2, 2)):
        w(g, x)


@case
def ndindex_and_ndenumerate(w: World) -> None:
    @w.compiled
    def f(x):
        y = np.zeros_like(x)
        for place, v in np.ndenumerate(x):
            y[place] = v * place[0]
        for i, j in np.ndindex(x.shape):
            y[i, j] += j
        for (i,) in np.ndindex(2):
            y[0, i] -= 1
        return y, list(np.ndindex(*x.shape)), list(np.ndindex())

    for x in (floats(2, 3), floats(2, 3), floats(3, 2).T, floats(1, 2)):
        w(f, x)


@case
def views_of_other_dtypes(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        bits = y.view(np.uint64)
        bits ^= np.uint64(1) << np.uint64(63)
        return y, bits, x.view("i8") >> 52, (x > 0).view(np.uint8).sum(axis=0), x.view(np.uint8)

    for x in (floats(3, 4), floats(2, 2), floats(0, 4)):
        w(f, x)
        w(f, x)

    @w.compiled
    def g(x):
        x.view(np.int64)[...] = 0
        return x, x.view(np.int64), x.view(), x.view(np.ndarray)

    for x in layouts():
        w(g, x)


@case
def a_view_of_an_array_written_later(w: World) -> None:
    @w.compiled
    def f(x):
        bits = x.view(np.int64)
        before = bits + 0
        x *= -1
        return before, bits + 0, bits

    for x in (floats(3), floats(4), floats(2, 2)):
        w(f, x)
        w(f, x)


@case
def copies_of_all_depths(w: World) -> None:
    @w.compiled
    def f(x, table):
        deep, flat = copy.deepcopy(table), copy.copy(table)
        deep["w"] += 1
        flat["z"] = copy.copy(x)
        return deep, flat, copy.deepcopy([x, x, 1]), copy.deepcopy((x, 2.0)), copy.deepcopy(x.T)

    for n in (3, 4, 2):
        x = floats(n, 2)
        w(f, x, {"w": x, "list": [x, {"deeper": floats(n)}], "n": n, "t": (1, 2)})

    @w.compiled
    def g(x):
        ring = [x]
        ring.append(ring)
        made = copy.deepcopy(ring)
        return made, made[1] is made, copy.deepcopy((1, "a")), copy.deepcopy({1, 2})

    w(g, floats(2))
    w(g, floats(3))


@case
def real_and_imaginary_parts_of_real_numbers(w: World) -> None:
    @w.compiled
    def f(x):
        return x.real is x, x.imag, x.real + x.imag, x.device, x[0, 0].real

    for x in (floats(3, 4), floats(2, 2), floats(2, 3).T):
        w(f, x)


@case
def arrays_become_read_only(w: World) -> None:
    @w.compiled
    def f(x, late):
        y = x * 2
        y.flags.writeable = False
        z = np.sort(x)
        z.setflags(write=False)
        if late:
            y.setflags(write=True)
            y[0] = 1
        return y, z, y[1:], y.flags.writeable, z.reshape(-1).flags.writeable, y + z

    @w.compiled
    def g(x):
        y = x * 2
        part = y[1:]
        y.setflags(write=False)
        part[0] = 5
        return y, part

    @w.compiled
    def h(x):
        y = x * 2
        y.setflags(write=False)
        y[0] = 5
        return y

    @w.compiled
    def zeros(x, free):
        part = x.imag
        if free:
            part.setflags(write=True)
        part[0] = 1
        return part

    for n in (3, 4, 2):
        w(f, floats(n), False)
        w(f, floats(n), True)
        w(g, floats(n))
        w(h, floats(n))
        w(zeros, floats(n), False)
        w(zeros, floats(n), True)


@case
def arrays_of_bytes(w: World) -> None:
    @w.compiled
    def f(x):
        data = x.tobytes()
        y = np.frombuffer(data, x.dtype)
        return y * 2, y, y.flags.writeable, type(y.base).__name__, hash((len(data), 1.5, "a"))

    @w.compiled
    def g(data):
        y = np.frombuffer(data, np.uint8)
        y[0] = 1
        return y

    for n in (3, 4, 2):
        w(f, floats(n))
        w(f, ints(n, 2))
        w(g, bytes(range(n)))
        w(g, bytearray(range(n)))
        w(g, ints(n))


@case
def arrays_in_fortran_order(w: World) -> None:
    @w.compiled
    def f(x):
        y = np.asfortranarray(x)
        z = np.asfortranarray(x * 2)
        z[0] = 7
        return (
            y,
            y is x,
            z,
            y.flags.f_contiguous,
            x.mT if x.ndim > 1 else x,
            np.fromiter([1, 2], "f4"),
        )

    @w.compiled
    def g(x):
        y = np.asfortranarray(x)
        y[0] = 7
        return x, y

    for x in (*layouts(), floats(3), floats(2, 3, 4)):
        w(f, x)
        w(g, x)


@case
def deep_copies_of_aliases(w: World) -> None:
    @w.compiled
    def f(a, b):
        made = copy.deepcopy({"a": a, "b": [b]})
        return made, made["a"] is made["b"][0]

    x, ring = floats(3), [1]
    for pair in ((x, floats(3)), (x, x), (x, x[:]), ([1], [1]), (ring, ring), (x, floats(2))):
        w(f, *pair)


@case
def a_scalar_is_put_into_an_array(w: World) -> None:
    @w.compiled
    def f(x):
        s = x.sum()
        wide, flat = s[None], s[...]
        wide[0] = 7
        flat[...] = 8
        return s, wide, flat, s[()], s[None, None].T

    for n in (3, 4):
        w(f, floats(n))
        w(f, ints(n))


@case
def a_loop_of_stores(w: World) -> None:
    @w.compiled
    def f(x, n):
        y = np.zeros(n)
        for i in range(n):
            y[i] = x[i % 3] * i
        y[n // 2] += y[0]
        return y

    for n in (40, 40, 7):
        w(f, floats(3), n)
    w(f, floats(2), 40)
