"""Operations in place: on arguments, attributes and elements, with out= and where=."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints


@case
def augmented_assignment_rebinds_a_scalar(w: World) -> None:
    @w.compiled
    def f(x):
        y = x
        y += 1
        y *= 2
        return y, x, y is x

    for x in (floats(3), floats(3), 2, 2.5, np.float64(2), np.array(2.0), [1], "a", ints(2)):
        w(f, x)


@case
def augmented_assignment_of_a_slice(w: World) -> None:
    @w.compiled
    def f(x):
        x[1:] += 1
        x[0] *= 3
        x[:, None][-1] -= 2
        return x

    for n in (3, 3, 5, 1, 0):
        w(f, floats(n))
    w(f, ints(4))
    w(f, floats(8)[::-2])


@case
def augmented_assignment_of_an_attribute(w: World) -> None:
    class Box:
        pass

    @w.compiled
    def f(b, x):
        b.v += x
        b.w[0] += x
        b.d["k"] *= 2
        return b.v

    b = w.watch(Box())
    b.v, b.w, b.d = floats(3), [floats(3), 1], {"k": floats(2)}
    for _ in range(3):
        w(f, b, floats(3))
    b.v = 2
    w(f, b, floats(3))
    b.w = (floats(3),)
    w(f, b, floats(3))
    b.w = floats(2, 3)
    w(f, b, floats(3))


@case
def a_tuple_element_in_place(w: World) -> None:
    @w.compiled
    def f(t):
        t[0] += 1
        return t

    for t in ([floats(2)], [floats(2)], (floats(2),), [1], (1,), floats(3), {0: floats(1)}):
        w(f, t)


@case
def out_argument(w: World) -> None:
    @w.compiled
    def f(x, out):
        y = np.add(x, 1, out=out)
        z = np.multiply(y, 2, out=(out,))
        np.negative(z, z)
        return y, z is out

    for shape in ((3,), (3,), (2, 2), (0,)):
        w(f, floats(*shape), np.zeros(shape))
    x = floats(3)
    w(f, x, x)
    w(f, x, None)
    w(f, x, np.zeros(3, "f4"))
    w(f, x, np.zeros(3, "i8"))
    w(f, x, np.zeros((2, 3)))
    w(f, x, np.zeros(2))


@case
def out_of_reductions(w: World) -> None:
    @w.compiled
    def f(x, out):
        r = np.sum(x, axis=0, out=out)
        x.max(axis=0, out=out)
        np.cumsum(x, axis=0, out=x)
        return r

    for n, m in ((2, 3), (2, 3), (4, 2), (1, 1), (0, 2)):
        w(f, floats(n, m), np.zeros(m))
    x = floats(3, 3)
    w(f, x, x[0])
    w(f, floats(2, 3), np.zeros(3, "f4"))
    w(f, floats(2, 3), np.zeros(2))


@case
def where_keeps_what_was_there(w: World) -> None:
    @w.compiled
    def f(x, mask, out):
        np.add(x, 1, out=out, where=mask)
        np.sqrt(x, out=out, where=x > 0)
        return out

    for n in (3, 3, 5, 0):
        w(f, floats(n), ints(n) > 0, np.full(n, 9.0))
    w(f, floats(3), True, np.full(3, 9.0))
    w(f, floats(3), np.array([[True], [False]]), np.full((2, 3), 9.0))
    x = floats(3)
    w(f, x, x > 0, x)


@case
def where_of_reductions(w: World) -> None:
    @w.compiled
    def f(x, mask):
        return (
            np.sum(x, where=mask),
            np.max(x, where=mask, initial=-1),
            np.add.reduce(x, initial=10.0),
            np.mean(x, where=mask) if mask.any() else 0,
        )

    for n in (3, 3, 5, 1):
        w(f, floats(n), ints(n) > -3)
        w(f, floats(n), np.ones(n, bool))
    w(f, floats(2, 4), np.ones(4, bool))


@case
def ufunc_methods(w: World) -> None:
    @w.compiled
    def f(x, y):
        return (
            np.add.reduce(x),
            np.add.accumulate(x),
            np.multiply.outer(x, y),
            np.maximum.reduce(x, axis=0, keepdims=True),
            np.subtract.accumulate(x, axis=0),
        )

    for n in (3, 3, 5, 1):
        w(f, floats(n), floats(2))
    w(f, floats(2, 2), floats(1))
    w(f, ints(3), floats(2))


@case
def ufunc_at_and_put(w: World) -> None:
    @w.compiled
    def f(x, i):
        np.add.at(x, i, 1)
        np.put(x, i, 5)
        x[i] += 1
        return x

    for i in ([0, 0, 1], [0, 0, 1], [2], np.array([1, 1]), [], [7]):
        w(f, floats(4), i)


@case
def masks_and_fancy_indices_write(w: World) -> None:
    @w.compiled
    def f(x):
        x[x < 0] = 0
        x[[0, -1]] *= 2
        y = x[x > 0]
        y += 100
        return y

    for n in (4, 4, 9, 1, 0):
        w(f, floats(n))
    w(f, ints(3, 4))


@case
def in_place_then_in_place(w: World) -> None:
    @w.compiled
    def f(x, y):
        x -= y
        x *= x
        x /= 2
        x **= 2
        x += x[::-1]
        y[:] = x
        return x

    for n in (3, 3, 5, 0):
        w(f, floats(n), floats(n) + 1)
    x = floats(4)
    w(f, x, x)
    w(f, ints(3), ints(3))


@case
def the_result_is_the_out_array(w: World) -> None:
    buffers = {}

    @w.compiled
    def f(x):
        out = buffers.get(x.shape)
        if out is None:
            out = buffers[x.shape] = np.empty_like(x)
        return np.add(x, 1, out=out)

    for n in (3, 3, 5, 3, 5):
        w(f, floats(n) + n)
    w.note(list(buffers.values()))


@case
def fill_sort_resize_and_friends(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        y.sort()
        x.fill(y[0] if len(y) else 3)
        z = y[::-1].copy()
        z.partition(0)
        y.itemset = None if len(y) == 99 else y.sum
        return y, z

    for n in (3, 3, 5):
        w(f, floats(n))


@case
def methods_that_write_into_the_argument(w: World) -> None:
    @w.compiled
    def f(x):
        before = x + 0
        x.sort()
        middle = x + 0
        x.fill(2)
        x.put([0], 7)
        return before, middle, x * 1

    for n in (3, 3, 5, 1):
        w(f, floats(n))
    w(f, floats(6)[::2])


@case
def copyto_and_assignment_of_lists(w: World) -> None:
    @w.compiled
    def f(x, y):
        np.copyto(x, y)
        x[:1] = [5]
        x[...] = x * 2
        return x

    for y in (floats(3), floats(3), 2, [1, 2, 3], floats(1), floats(2), 2.5, "a"):
        w(f, np.zeros(3), y)
    w(f, np.zeros(3, int), floats(3))


@case
def shapes_and_dtypes_set_in_place(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        y.shape = (y.size,)
        x.shape = (-1,)
        return x, y, x.shape

    for x in (floats(2, 3), floats(2, 3), floats(4), floats(1, 1)):
        w(f, x)


@case
def in_place_on_a_copy_of_a_global(w: World) -> None:
    global TABLE
    TABLE = floats(3)

    @w.compiled
    def f(x):
        t = TABLE
        t = t + x
        t += 1
        u = TABLE[:]
        u *= 2
        return t, u

    for n in (3, 3, 1):
        w(f, floats(n))
        w.note(TABLE)
    TABLE = TABLE[::-1]
    w(f, floats(3))
    w.note(TABLE)


TABLE = floats(3)


@case
def boolean_in_place(w: World) -> None:
    @w.compiled
    def f(x, y):
        x &= y
        x |= ~y
        x ^= True
        return x

    for dtype in ("?", "?", "i8", "u1", "f8"):
        w(f, (ints(4) > 0).astype(dtype), (ints(4) < 3).astype(dtype))


@case
def broadcasting_into_place(w: World) -> None:
    @w.compiled
    def f(x, row, col):
        x += row
        x *= col
        x[:, 0] = row[0]
        x[...] -= x.mean(axis=0)
        return x

    for n, m in ((2, 4), (2, 4), (4, 1), (1, 1), (4, 3)):
        w(f, floats(n, m), floats(m), floats(n, 1))
    w(f, floats(4, 2).T, floats(4), floats(2, 1))
    w(f, floats(2, 4), floats(2, 4), floats(1))
