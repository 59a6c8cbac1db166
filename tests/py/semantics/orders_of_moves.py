"""Memory order of what np.roll, np.pad, np.tile and their kin make of arrays in any order."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints

SHAPES = ((3, 4), (3, 4), (4, 3), (1, 4), (4, 1), (1, 1), (0, 3), (3, 0))


def layouts(*shape: int) -> list[np.ndarray]:
    """The same elements in C order, in Fortran's, strided, reversed and as a transpose."""
    x = floats(*shape)
    strided = np.zeros([2 * size for size in shape])[tuple([slice(None, None, 2)] * len(shape))]
    strided[...] = x
    return [
        x,
        np.asfortranarray(x),
        strided,
        x[::-1],
        np.ascontiguousarray(x.T).T,
        strided.T.copy().T,
    ]


@case
def rolled(w: World) -> None:
    @w.compiled
    def f(x, shift):
        a = np.roll(x, shift, axis=1)
        b = np.roll(x, (shift, -1), axis=(0, 1))
        return a, b, np.roll(x, shift), a + b, np.roll(x * 2, shift, axis=0)

    for shape in SHAPES:
        for x in layouts(*shape):
            w(f, x, 1)
            w(f, x, -5)


@case
def rolled_in_three_dimensions(w: World) -> None:
    @w.compiled
    def f(x):
        a = np.roll(x, 2, axis=-1)
        return a, np.roll(a, (1, 1, 1), axis=(0, 1, 2)), a.sum(axis=1), np.roll(x, 1, axis=0) - x

    for axes in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1)):
        w(f, floats(2, 3, 4).transpose(axes))
        w(f, floats(3, 1, 4).transpose(axes))
        w(f, floats(3, 2, 0).transpose(axes))


@case
def a_roll_is_written(w: World) -> None:
    @w.compiled
    def f(x):
        a = np.roll(x, 1)
        a[0] = 9
        b = np.roll(x, 1, axis=0)
        b += a
        return a, b, x

    for shape in SHAPES:
        for x in layouts(*shape):
            if x.size:
                w(f, x)


@case
def padded_with_constants(w: World) -> None:
    @w.compiled
    def f(x, k):
        a = np.pad(x, k)
        return a, np.pad(x, ((1, 0), (0, k)), constant_values=2), a * 2, a[k:, k:]

    for shape in SHAPES:
        for x in layouts(*shape):
            w(f, x, 1)
    w(f, np.asfortranarray(floats(3, 4)), 2)


@case
def padded_by_neighbours(w: World) -> None:
    @w.compiled
    def f(x):
        edge = np.pad(x, 1, mode="edge")
        wrap = np.pad(x, ((0, 1), (1, 1)), mode="wrap")
        return edge, wrap, np.pad(x, 1, mode="reflect"), edge[1:-1, 1:-1] + x

    for shape in SHAPES[:6]:
        for x in layouts(*shape):
            w(f, x)


@case
def padded_results_of_the_program(w: World) -> None:
    @w.compiled
    def f(x):
        y = x.astype(np.float32)
        z = np.pad(y.T, 1)
        return np.pad(y, 1), z, np.pad(y + 1, ((1, 1), (2, 2)), mode="edge"), z.sum(axis=0)

    for shape in SHAPES[:6]:
        for x in layouts(*shape):
            w(f, x)


@case
def padded_in_three_dimensions(w: World) -> None:
    @w.compiled
    def f(x):
        return np.pad(x, 1), np.pad(x.T, ((1, 0), (0, 0), (0, 2))), np.pad(x, 1).sum(axis=0)

    for axes in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1)):
        w(f, ints(2, 3, 4).transpose(axes))
        w(f, ints(1, 3, 4).transpose(axes))
        w(f, ints(3, 1, 1).transpose(axes))


@case
def joined_and_repeated(w: World) -> None:
    @w.compiled
    def f(x, y):
        rows = np.concatenate([x, y])
        both = np.stack([x, x * 2])
        return rows, np.concatenate([x, y], axis=1), both, np.tile(x, 2), np.repeat(x, 2, axis=0)

    for shape in SHAPES:
        for x, y in zip(layouts(*shape), layouts(*shape), strict=True):
            if shape[0] == shape[1] or shape[0] > 0:
                w(f, x, y)
    x = floats(3, 4)
    w(f, x, np.asfortranarray(x))
    w(f, np.asfortranarray(x), x)


@case
def tiled(w: World) -> None:
    @w.compiled
    def f(x, k):
        found = np.tile(x, 2), np.tile(x, (k, 1)), np.tile(x, (2, 1, k)), np.tile(x[:, 0], k)
        return [(t, t + 1) for t in found]

    for shape in SHAPES:
        for x in layouts(*shape):
            for k in (1, 2, 3):
                if shape[1]:
                    for t in w(f, x, k) or ():
                        base = t[0].base
                        w.note(t[0].flags.owndata, base is None)


@case
def copies_of_what_repeats(w: World) -> None:
    """NumPy's copies in K order put axes of stride 0 innermost, its other results do not."""

    @w.compiled
    def of_views(x, like):
        wide = np.broadcast_to(x, like.shape)
        copies = wide.astype(np.float32), np.copy(wide), np.array(wide), np.zeros_like(wide)
        joined = np.stack([wide, wide]), np.concatenate([wide, wide]), np.roll(wide, 1, axis=1)
        return copies, joined, wide + 1, np.copy(wide.T), np.copy(wide[:, 1:])

    for shape in ((4, 3), (1, 3), (4, 1), (1, 1), (3,), (4, 3), (1, 3)):
        w(of_views, floats(*shape), floats(4, 3))

    @w.compiled
    def of_arguments(x):
        copies = x.astype(np.float32), np.copy(x), np.full_like(x, 2), x[1:].astype(np.int32)
        return copies, np.stack([x, x]), x + 1, np.roll(x, 1)

    row, column = np.broadcast_to(floats(3), (8, 3)), np.broadcast_to(floats(8, 1), (8, 3))
    for x in (floats(8, 3)[::-1], row, column, floats(8, 3)[::2], row.T, column.T):
        w(of_arguments, x)
    for x in (floats(4, 1, 3), floats(1, 2, 3), floats(1, 1, 3), floats(4, 2, 1), floats(1, 2, 1)):
        w(of_arguments, np.broadcast_to(x, (4, 2, 3)))
        w(of_arguments, np.broadcast_to(x, (4, 2, 3)).transpose(2, 0, 1))
