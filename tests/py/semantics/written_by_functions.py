"""NumPy functions that write into an array, ask about dtypes, or count in floats."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case


@case
def copies_into_an_array(w: World) -> None:
    @w.compiled
    def f(x, y):
        np.copyto(x, y)
        np.copyto(x[::2], 5)
        np.copyto(x, y, where=y > 2)
        np.copyto(x, np.nan if x.dtype == float else 1, where=x == 1)
        return np.copyto(x, x[::-1])

    for t in ("f8", "f4", "i8"):
        w(f, np.zeros(5, t), np.arange(5).astype(t))
        w(f, np.zeros(5, t)[::-1], np.arange(5).astype(t))
        w(f, np.zeros(5, t), np.arange(1).astype(t))
        w(f, np.zeros(1, t), np.arange(5).astype(t))
        w(f, np.zeros((3, 2), t), np.arange(2).astype(t))


@case
def copies_that_numpy_refuses(w: World) -> None:
    @w.compiled
    def f(x, y, casting):
        np.copyto(x, y, casting)
        return x

    for casting in ("same_kind", "unsafe", "no"):
        w(f, np.zeros(3, "i4"), np.arange(3.0), casting)
        w(f, np.zeros(3, "f4"), np.arange(3.0), casting)
        w(f, np.zeros(3, "f4"), np.arange(3, dtype="f4"), casting)
    w(lambda x: np.copyto(x, 300), np.zeros(3, "i1"))
    read_only = np.zeros(3)
    read_only.setflags(write=False)
    w(lambda x: np.copyto(x, 1), read_only)


@case
def numbers_put_where_a_mask_is(w: World) -> None:
    @w.compiled
    def f(x, test, number):
        np.putmask(x, test, number)
        np.place(x, ~test, -1)
        np.putmask(x, x > 3, x**2)
        return x

    for t in ("f8", "f4", "i4"):
        for shape in ((6,), (2, 3), (0,)):
            x = np.arange(int(np.prod(shape))).reshape(shape).astype(t)
            w(f, x.copy(), x > 2, 9)
            w(f, x.T.copy(), x.T > 2, 7)
    w(f, np.arange(3.0), np.array([True, False]), 1)


@case
def diagonals_filled(w: World) -> None:
    @w.compiled
    def f(x, number):
        np.fill_diagonal(x, number)
        np.fill_diagonal(x.T, 2)
        return np.fill_diagonal(x, 3.0 if x.dtype == float else 3)

    for shape in ((3, 3), (4, 2), (2, 4), (1, 1), (0, 2)):
        for t in ("f8", "i4"):
            w(f, np.zeros(shape, t), 5)
            w(f, np.zeros(shape, t, "F"), 1)
    w(lambda x: np.fill_diagonal(x, [1, 2]), np.zeros((4, 4)))
    w(lambda x: np.fill_diagonal(x, 1, wrap=True), np.zeros((5, 2)))
    w(lambda x: np.fill_diagonal(x, 1), np.zeros((2, 2, 2)))
    w(lambda x: np.fill_diagonal(x, 1), np.zeros(3))


@case
def differences_with_ends(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            np.ediff1d(x),
            np.ediff1d(x, to_end=x[:1]),
            np.ediff1d(x, to_begin=[0, 1], to_end=9),
            np.ediff1d(x, 7, 8),
        )

    for shape in ((4,), (1,), (0,), (2, 3)):
        for t in ("f8", "i4", "f4"):
            w(f, np.ones(shape, t))
    w(lambda x: np.ediff1d(x, to_end=0.5), np.arange(3))


@case
def questions_about_dtypes(w: World) -> None:
    @w.compiled
    def f(x, y, number):
        dtype = np.result_type(x, y, number)
        if np.can_cast(x, dtype) and np.issubdtype(x.dtype, np.floating):
            x = x.astype(dtype) + number
        return x, dtype, np.promote_types(x.dtype, np.int8), np.can_cast(x.dtype, "f4")

    for x in (np.ones(3), np.ones(3, "f4"), np.ones(3, "i2")):
        for y in (np.ones(2), np.ones(2, "i1"), np.float32(2)):
            for number in (1, 1.5, True, 10**6):
                w(f, x, y, number)
    w(lambda x: np.can_cast(3, x.dtype), np.ones(3))


@case
def ranges_of_floats(w: World) -> None:
    @w.compiled
    def f(x, step):
        return (
            np.arange(3.0),
            np.arange(0, 1, 0.1) * 2,
            np.arange(2.0, -1, -0.3),
            np.arange(0, x.max(), step),
            np.arange(0, x.size, step),
            np.arange(x.sum()),
            np.arange(-0.0, 2, 0.5),
            np.arange(1e16, 1e16 + 9, 1.5),
        )

    for x in (np.array([1.0, 2.5]), np.array([0.0]), np.array([-3.0, 2]), np.array([7.25, 0])):
        for step in (0.5, 1, 0.3, -0.7):
            w(f, x, step)
    w(f, np.ones(2), 0.0)
    w(f, np.ones(2), np.inf)
    w(f, np.array([np.nan]), 1.0)
    for start in (0.5, 0.0, -0.0, 1e16, 3, -2.75):
        w(lambda x, step: np.arange(x, 3, step), start, 0.25 if abs(start) < 9 else -1e15)
    w(lambda x: np.arange(1 - x[0], x[0], 2) * np.hanning(len(x)), np.array([3.0, 4, 5]))
    w(lambda x: np.arange(0, 3, x, dtype="f4"), 0.5)


@case
def gradients_and_products(w: World) -> None:
    @w.compiled
    def f(x, y):
        return np.kron(x, y), np.gradient(x, 0.5), np.trapezoid(y, dx=2), np.unwrap(y)

    for n in (2, 3, 7):
        w(f, np.arange(float(n)) ** 2, np.arange(float(n)) * 2)

    @w.compiled
    def g(x, y):
        made = np.kron(x, y)
        return made, np.kron(y, x), np.kron(x, 2), np.kron(3.0, y)

    for t in ("f8", "f4", "i1", "?"):
        for shapes in (((2, 3), (3, 2)), ((2, 3), (4,)), ((3,), (1,)), ((0, 2), (2, 2))):
            x, y = (np.arange(int(np.prod(shape))).reshape(shape).astype(t) for shape in shapes)
            w(g, x, y)
            w(g, x.T, np.asfortranarray(y))


@case
def elements_put_in_and_left_out(w: World) -> None:
    @w.compiled
    def f(x, place):
        return (
            np.insert(x, place, 7),
            np.insert(x, 0, [1, 2]),
            np.delete(x, place),
            np.delete(x, -1),
        )

    for t in ("f8", "i4", "?"):
        for n in (5, 3, 1):
            for place in (0, 1, -1, 2, -3, 4, 9):
                w(f, np.arange(n).astype(t), place)
    w(f, np.arange(6.0).reshape(2, 3), 2)
    w(lambda x: np.insert(x, len(x), 5), np.arange(3))
    w(lambda x: np.delete(x, [0, 1]), np.arange(3))
    w(lambda x: np.delete(x, 1, axis=0), np.arange(6).reshape(3, 2))
    w(lambda x: np.insert(x, 1, 2.75), np.arange(3))


@case
def arrays_like_others(w: World) -> None:
    @w.compiled
    def f(x, n):
        y = np.empty_like(x, shape=(n, 2))
        y[...] = 1
        return y, np.zeros_like(x, shape=n), np.full_like(x, 3, shape=(2, n), dtype="f4")

    for x in (np.ones((2, 3)), np.ones((2, 3), "i4", "F"), np.ones(4)):
        for n in (0, 1, 4):
            w(f, x, n)


@case
def results_rounded_and_repaired_in_place(w: World) -> None:
    @w.compiled
    def f(x, out):
        made = np.round(x, 1, out=out)
        np.nan_to_num(x, copy=False, nan=5)
        return made is out, np.nan_to_num(x, copy=False) is x, x.round(out=x) is x

    for t in ("f8", "f4", "i4"):
        x = np.array([1.25, np.nan, np.inf, -2.06] if t[0] == "f" else [1, 2, 3, 4], t)
        w(f, x, np.zeros(4, t))
        w(f, x, np.zeros(3, t))
    w(lambda x: np.round(x, 1, out=np.zeros(2, "f4")), np.ones(2))


@case
def products_of_vectors(w: World) -> None:
    @w.compiled
    def f(x, y):
        return np.cross(x, y), np.cross(y, x[..., ::-1]) + 1

    for t in ("f8", "f4", "i4"):
        x = np.arange(12).reshape(4, 3).astype(t)
        w(f, x, x[::-1] * 2)
        w(f, x[0], x[1])
        w(f, x[1], x)
        w(f, x, x[:1])
        w(f, x, np.ones(3))
        w(f, np.asfortranarray(x), x)
    w(f, np.zeros((0, 3)), np.ones(3))
    w(f, np.ones((4, 2)), np.ones((4, 2)))
    w(f, np.ones((2, 3)), np.ones((4, 3)))
    w(lambda x: np.cross(x, x, axis=0), np.ones((3, 4)))


@case
def blocks(w: World) -> None:
    @w.compiled
    def f(x, y):
        square = np.block([[x, np.zeros_like(x)], [np.ones_like(x), x * 2]])
        return square, np.block([y, y]), np.block([x, 1 + x]), np.block([[y], [y]])

    @w.compiled
    def g(x, number):
        return np.block([[x, x], [x[:1], x[:1]]]), np.block([[number, 2], [3, 4]]), np.block(x)

    for n in (3, 1, 0):
        w(f, np.ones((n, 2)), np.arange(float(n)))
        w(g, np.ones((n, 2), "f4"), 5)
    w(lambda x: np.block([[x, x], [x]]), np.ones((2, 2)))
    w(lambda x: np.block([[x, x], x]), np.ones((2, 2)))
    w(lambda x: np.block([]), np.ones((2, 2)))
    w(lambda x: np.block([x, x]), np.ones((2, 3)).T)


@case
def elements_taken_in_every_mode(w: World) -> None:
    @w.compiled
    def f(x, places, out):
        made = np.take(x, places, out=out)
        wrapped, clipped = [np.take(x, places, 0, mode=mode) for mode in ("wrap", "clip")]
        return made is out, wrapped, clipped, x.take(places, mode="clip")

    for x in (np.arange(5.0), np.arange(6).reshape(3, 2)):
        for places in ([0, 1, -1], [2, 0, 0], [3, 9, -7], []):
            at = np.array(places, int)
            w(f, x, at, np.zeros(len(places), x.dtype))
    w(f, np.arange(0.0), np.array([0]), np.zeros(1))
    w(f, np.arange(3.0), np.array([0, 1]), np.zeros(3))
