"""Reshapes and their kin, which are views or copies as sizes and strides will have it.

Whether results own their memory and what their base is are noted beside what `World` describes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semantics.world import World, case, floats

SHAPES = ((4, 6), (4, 6), (2, 6), (6, 4), (1, 6), (4, 1), (1, 1), (0, 4), (4, 0))


def layouts(*shape: int) -> list[np.ndarray]:
    """The same elements in C order, in Fortran's, strided both ways and reversed."""
    x = floats(*shape)
    wide = np.zeros((shape[0] * 2, shape[1] * 3))
    wide[::2, ::3] = x
    halves = np.zeros((shape[0], shape[1] + 2))
    halves[:, 1:-1] = x
    return [x, np.asfortranarray(x), wide[::2, ::3], halves[:, 1:-1], x[::-1]]


def owned(w: World, f: Any, *args: Any) -> None:
    """Call, and note of each result whether it owns its memory, and its base's shape."""
    results = w(f, *args)
    for result in results or ():
        if isinstance(result, np.ndarray):
            base = result.base
            shape = None if base is None else base.shape
            w.note(
                result.flags.owndata, shape, result.flags.c_contiguous, result.flags.f_contiguous
            )


@case
def reshapes_that_are_returned(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        return x.reshape(-1), y.reshape(-1), y.T.reshape(-1), x.reshape(x.shape[1], x.shape[0])

    for shape in SHAPES:
        if 0 not in shape:
            for x in layouts(*shape):
                owned(w, f, x)


@case
def axes_that_are_split(w: World) -> None:
    @w.compiled
    def f(x):
        rows, columns = x.shape[0] // 2 * 2, x.shape[1] // 2 * 2
        blocks = x[:rows, :columns].reshape(rows // 2, 2, columns // 2, 2)
        return blocks, blocks.sum(axis=(1, 3)), blocks + 1, blocks[:, 0] * blocks[:, 1]

    for shape in SHAPES:
        for x in layouts(*shape):
            owned(w, f, x)


@case
def axes_that_are_merged(w: World) -> None:
    @w.compiled
    def f(x, heads):
        rows, width = x.shape
        y = (x * 2).reshape(rows, heads, width // heads).transpose(1, 0, 2)
        z = y.reshape(heads * rows, width // heads)
        back = y.transpose(1, 0, 2).reshape(rows, width)
        return z, back, back + x, z + 1, y.reshape(heads, -1).sum(axis=1)

    for shape in SHAPES[:7]:
        for x in layouts(*shape):
            for heads in (1, 2, 3):
                if shape[1] % heads == 0:
                    owned(w, f, x, heads)


@case
def written_through_a_reshape(w: World) -> None:
    @w.compiled
    def f(x):
        y = x.reshape(-1)
        y[1:] = 5
        z = x.T.reshape(-1)
        z += 1
        return x, y, z

    for shape in SHAPES[:6]:
        for x in layouts(*shape):
            owned(w, f, x)


@case
def read_after_the_base_is_written(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 1
        flat, turned, ravelled = y.reshape(-1), y.T.reshape(-1), np.ravel(y.T)
        before = turned.sum()
        y += 1
        x[0] = 7
        whole = x.reshape(-1)
        x[:, 0] = 8
        return before, flat, turned, turned * 1, ravelled, ravelled + 0, whole, whole + 0

    for shape in SHAPES[:7]:
        for x in layouts(*shape):
            owned(w, f, x)


@case
def views_of_what_may_be_a_view(w: World) -> None:
    @w.compiled
    def f(x):
        y = x.T.reshape(-1)
        part, pairs = y[::2], y.reshape(-1, 2)
        pairs[0] = 9
        return part, pairs, y, x, part * 1, pairs.T + 1

    for shape in ((4, 6), (4, 6), (2, 3), (1, 6), (4, 1)):
        for x in layouts(*shape):
            owned(w, f, x)


@case
def ravelled_and_made_contiguous(w: World) -> None:
    @w.compiled
    def f(x):
        flat, dense, inner = x.ravel(), np.ascontiguousarray(x), np.ascontiguousarray(x[1:])
        total = flat.sum() + dense.sum()
        return flat, dense, inner, total, np.ravel(x[1:]), np.ravel(x + 1), x[1:].reshape(-1)

    for shape in SHAPES:
        for x in layouts(*shape):
            owned(w, f, x)


@case
def ravelled_and_written(w: World) -> None:
    @w.compiled
    def f(x):
        flat, dense = x.ravel(), np.ascontiguousarray(x)
        flat[:1] = 3
        dense += 1
        return x, flat, dense

    for shape in SHAPES:
        for x in layouts(*shape):
            owned(w, f, x)


@case
def in_three_dimensions(w: World) -> None:
    @w.compiled
    def f(x):
        a, b, c = x.shape
        left, right = x.reshape(a * b, c), x.reshape(a, b * c)
        return left, right, left + 1, right * 2, left.T + 1, x.reshape(c, -1) - 1

    for axes in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1)):
        for shape in ((2, 3, 4), (2, 3, 4), (1, 3, 4), (2, 1, 4), (2, 3, 1)):
            owned(w, f, floats(*shape).transpose(axes))


@case
def axes_of_one_come_and_go(w: World) -> None:
    @w.compiled
    def f(x):
        y = x.reshape(x.shape[0], 1, x.shape[1])
        z = x.T.reshape(1, x.shape[1], x.shape[0])
        return y, z, y + z.sum(), z * 2, y.reshape(x.shape), (y * 1).reshape(x.shape)

    for shape in SHAPES[:7]:
        for x in layouts(*shape):
            owned(w, f, x)


@case
def sizes_that_do_not_fit(w: World) -> None:
    @w.compiled
    def f(x, n):
        return x.T.reshape(n, -1), x[:, ::2].reshape(n, n)

    for n in (2, 3, 2, 5, 0):
        owned(w, f, floats(4, 2), n)
        owned(w, f, floats(3, 6), n)


@case
def made_after_the_argument_is_written(w: World) -> None:
    @w.compiled
    def f(x):
        x *= 2
        flat = x.T.ravel()
        x.T.reshape(-1)[:1] = 100
        return flat, flat[:3], x.T.reshape(-1), np.ascontiguousarray(x.T), x[:, ::2].reshape(-1)

    for shape in SHAPES:
        for x in layouts(*shape):
            owned(w, f, x)


@case
def blocks_that_become_empty(w: World) -> None:
    @w.compiled
    def f(x):
        rows, columns = x.shape
        whole = x[: rows // 2 * 2, : columns // 2 * 2]
        blocks = whole.reshape(rows // 2, 2, columns // 2, 2).swapaxes(1, 2)
        flat = blocks.reshape(-1, 4)
        flat[:, 0] = 0
        return blocks, flat, whole, x

    for shape in SHAPES[:7]:
        for x in layouts(*shape):
            owned(w, f, x)


@case
def shapes_that_agree_by_chance(w: World) -> None:
    @w.compiled
    def f(x):
        y = x.reshape(x.shape[-1], -1)
        return y, y + 1, y.reshape(-1), x.reshape(*x.shape, 1) * 2, y.T.reshape(x.shape) + x

    for shape in ((4, 6), (3, 3), (6, 4), (2, 6), (1, 1), (2, 2), (4, 1)):
        for x in layouts(*shape):
            owned(w, f, x)


@case
def copies_written_backwards(w: World) -> None:
    @w.compiled
    def f(x):
        x += 1
        dense = np.ascontiguousarray(x)
        twice = np.repeat(dense, 2, axis=0)
        dense[...] = dense[::-1]
        back = np.ascontiguousarray(x.T)
        back[...] = back[:, ::-1]
        return dense, twice, back, x.T.copy()[::-1].copy()

    for shape in SHAPES:
        for x in layouts(*shape):
            owned(w, f, x)
