"""NumPy functions at the edges of their arguments, and what they share with their inputs."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, close, floats, ints


@case
def concatenate_and_stack(w: World) -> None:
    @w.compiled
    def f(x, y, axis):
        return (
            np.concatenate([x, y], axis),
            np.stack((x, y), axis),
            np.concatenate((x, y), axis=None),
        )

    for n, m, axis in (
        (2, 2, 0),
        (2, 2, 0),
        (2, 2, 1),
        (2, 2, -1),
        (2, 3, 0),
        (0, 0, 0),
        (2, 2, 2),
    ):
        w(f, floats(n, 2), floats(m, 2), axis)
    w(f, floats(2, 2).T, ints(2, 2), 0)
    w(f, floats(2), floats(2, 2), 0)


@case
def concatenate_other_dtypes_and_out(w: World) -> None:
    @w.compiled
    def f(x, y):
        out = np.zeros(len(x) + len(y))
        return (
            np.concatenate([x, y]),
            np.concatenate([x, y], out=out) is out,
            np.hstack([x, y, [1]]),
        )

    for a, b in (("f8", "f8"), ("f4", "f8"), ("i4", "f4"), ("i8", "u8"), ("?", "i1"), ("f8", "f8")):
        w(f, ints(3, dtype=a), ints(2, dtype=b))


@case
def one_piece_is_still_a_copy(w: World) -> None:
    @w.compiled
    def f(x):
        parts = (
            np.concatenate([x]),
            np.stack([x])[0],
            np.hstack([x]),
            np.atleast_2d(x),
            np.array([x]),
        )
        parts[0][...] = 5
        return parts, x

    for n in (3, 3, 0, 5):
        w(f, floats(n))


@case
def squeeze_and_expand(w: World) -> None:
    @w.compiled
    def f(x):
        a = np.squeeze(x)
        a += 1
        return a, x[..., None], np.expand_dims(x, -1), x.squeeze(0) if x.shape[0] == 1 else x

    for shape in ((1, 3), (1, 3), (1, 1), (2, 3), (1, 1, 3), (3, 1)):
        w(f, floats(*shape))


@case
def squeeze_of_an_axis_that_is_longer(w: World) -> None:
    @w.compiled
    def f(x):
        return x.squeeze(axis=1) + 1

    for n, m in ((3, 1), (3, 1), (4, 1), (3, 2), (3, 0), (0, 1)):
        w(f, floats(n, m))


@case
def repeat_and_tile(w: World) -> None:
    @w.compiled
    def f(x, k):
        return (
            np.repeat(x, k),
            np.tile(x, k),
            np.tile(x, (2, k)),
            x.repeat(2, axis=0),
            np.repeat(x, 1),
        )

    for n, k in ((3, 2), (3, 2), (2, 3), (3, 0), (0, 2), (3, -1), (3, 1)):
        w(f, floats(n), k)
    w(f, floats(2, 2), 2)


@case
def roll_and_flip(w: World) -> None:
    @w.compiled
    def f(x, k):
        return (
            np.roll(x, k),
            np.roll(x, k, axis=0),
            np.flip(x),
            np.flipud(x),
            np.rot90(np.atleast_2d(x)),
        )

    for n, k in ((4, 1), (4, 1), (4, -1), (4, 9), (4, 0), (0, 3), (1, 1), (5, 2)):
        w(f, floats(n), k)
        w(f, floats(n, 2), k)


@case
def pad(w: World) -> None:
    @w.compiled
    def f(x, k):
        return np.pad(x, k), np.pad(x, (k, 1), constant_values=5), np.pad(x, k, mode="edge")

    for n, k in ((3, 1), (3, 1), (3, 0), (4, 2), (0, 1), (3, -1)):
        w(f, floats(n), k)
    w(f, floats(2, 2), 1)


@case
def ranges(w: World) -> None:
    @w.compiled
    def f(a, b, step):
        return np.arange(a), np.arange(a, b), np.arange(a, b, step)

    for a, b, step in (
        (2, 5, 1),
        (2, 5, 1),
        (0, 3, 2),
        (5, 2, -1),
        (3, 3, 1),
        (0, 1, 0.25),
        (0, 2, 0),
        (-2, 1, 1),
    ):
        w(f, a, b, step)


@case
def linear_spaces(w: World) -> None:
    @w.compiled
    def f(a, b, n):
        return np.linspace(a, b, n), np.linspace(a, b, n, endpoint=False)

    for a, b, n in (
        (0, 4, 5),
        (0, 4, 5),
        (0, 1, 1),
        (0, 1, 0),
        (2, -2, 3),
        (0.5, 0.5, 2),
        (0, 1, -1),
    ):
        w(f, a, b, n)


@case
def filled_arrays(w: World) -> None:
    @w.compiled
    def f(shape, value):
        a, b = np.zeros(shape), np.full(shape, value)
        a += 1
        return (
            a,
            b,
            np.ones(shape, int),
            np.zeros_like(b),
            np.full_like(b, 2),
            np.empty(shape).shape,
        )

    for shape, value in (
        (3, 1),
        (3, 1),
        ((2, 2), 2.5),
        ((), 1),
        (0, True),
        ((2, 0), 1j),
        (-1, 1),
        ("a", 1),
    ):
        w(f, shape, value)


@case
def triangles_and_diagonals(w: World) -> None:
    @w.compiled
    def f(x, k):
        return np.tril(x, k), np.triu(x, k), np.tri(len(x)), np.eye(len(x), k=k), np.diag(x[0], k)

    for n, m, k in ((3, 3, 0), (3, 3, 0), (2, 4, 1), (4, 2, -1), (1, 1, 5), (3, 3, -9)):
        w(f, floats(n, m), k)


@case
def taking_elements(w: World) -> None:
    @w.compiled
    def f(x, i):
        return np.take(x, i), x.take(i, axis=0), x[i], np.take(x, i, mode="wrap")

    for i in ([0, 2], [0, 2], [2, 0, 1], 1, [], [-1], [3], np.array([[0, 1]]), [True, False, True]):
        w(f, floats(3), i)
        w(f, floats(3, 2), i)


@case
def taking_along_an_axis(w: World) -> None:
    @w.compiled
    def f(x):
        order = np.argsort(x, axis=1)
        y = np.take_along_axis(x, order, axis=1)
        np.put_along_axis(x, order[:, :1], 9, axis=1)
        return y, x

    for n, m in ((2, 3), (2, 3), (3, 2), (1, 1), (0, 2)):
        w(f, floats(n, m)[::-1])


@case
def advanced_indices_mixed(w: World) -> None:
    @w.compiled
    def f(x, i):
        return x[i, 0], x[:, i], x[i][:, None], x[..., i, None], x[i, i]

    for i in ([0, 1], [0, 1], [1], np.array([0, 0]), slice(0, 1), 0, [True, False]):
        w(f, floats(2, 2), i)
    w(f, floats(3, 4), [0, 2])


@case
def selecting_by_mask(w: World) -> None:
    @w.compiled
    def f(x, mask):
        y = x[mask]
        x[mask] = -1
        x[~mask] += 1
        return y, y.sum(), len(y), np.where(mask)

    for n in (4, 4, 7, 0, 1):
        w(f, floats(n), ints(n) > 0)
    w(f, floats(3), np.array([True, False]))
    w(f, floats(2, 2), np.eye(2) > 0)


@case
def assigned_by_indices_with_duplicates(w: World) -> None:
    @w.compiled
    def f(x, i, v):
        x[i] = v
        x[i] += v
        return x

    for i, v in (
        ([0, 1], 1),
        ([0, 1], 1),
        ([1, 1], [5, 6]),
        ([2], 2.5),
        ([], []),
        ([9], 1),
        ([0, 1], [1, 2, 3]),
    ):
        w(f, floats(3), i, v)


@case
def products_of_matrices(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x @ y, np.dot(x, y), x.dot(y)

    for a, b in (
        ((2, 3), (3, 2)),
        ((2, 3), (3, 2)),
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 2)),
        ((2, 3), (2, 3)),
        ((2, 2, 3), (3, 2)),
    ):
        w(f, floats(*a), floats(*b))
    w(f, ints(2, 2), ints(2, 2))
    w(f, floats(2, 2, dtype="f4"), floats(2, 2).T)


@case
def einsum_tensordot_outer(w: World) -> None:
    @w.compiled
    def f(x, y):
        return (
            np.einsum("ij,jk->ik", x, y),
            np.tensordot(x, y, 1),
            np.outer(x, y),
            np.inner(x, y.T),
            np.einsum("ii", x @ y),
            np.kron(x, y),
        )

    for n, m in ((2, 3), (2, 3), (3, 1), (1, 1), (0, 2)):
        w(f, floats(n, m), floats(m, n))
    w(f, floats(2, 3), floats(2, 3))


@case
def products_into_an_operand(w: World) -> None:
    @w.compiled
    def f(x, y):
        np.matmul(x, y, out=x)
        x @= y
        return x + 1

    for n in (2, 2, 3, 1):
        w(f, floats(n, n), floats(n, n))
    x = floats(2, 2)
    w(f, x, x)
    w(f, x, x.T)
    w(f, floats(2, 3), floats(3, 3))
    w(f, ints(2, 2), floats(2, 2))


@close
@case
def linear_algebra(w: World) -> None:
    @w.compiled
    def f(x):
        y = x + 1
        return np.linalg.norm(x), np.linalg.det(y), np.linalg.solve(y, x[0]), np.linalg.inv(y)

    for x in (
        np.eye(2),
        np.eye(2),
        np.eye(3) * 2,
        -np.ones((2, 2)),
        np.zeros((0, 0)),
        floats(2, 3),
    ):
        w(f, x)


@close
@case
def fourier_transforms(w: World) -> None:
    @w.compiled
    def f(x):
        spectrum = np.fft.rfft(x)
        return abs(spectrum), np.fft.irfft(spectrum, n=len(x)), np.fft.fftfreq(len(x))

    for n in (4, 4, 6, 1, 5, 0):
        w(f, floats(n))


@case
def reductions_over_axes(w: World) -> None:
    @w.compiled
    def f(x, axis, keepdims):
        return x.sum(axis, keepdims=keepdims), x.max(axis=axis, keepdims=keepdims), np.any(x, axis)

    for axis, keep in (
        (0, False),
        (0, False),
        (1, True),
        ((0, 1), True),
        (None, True),
        (-1, False),
        ((), False),
    ):
        w(f, floats(2, 3), axis, keep)
        w(f, floats(3, 1), axis, keep)
    w(f, floats(2, 3), 2, False)
    w(f, floats(2, 3), (0, 0), False)
    w(f, floats(2, 0), 0, False)


@case
def histograms_and_bins(w: World) -> None:
    @w.compiled
    def f(x, bins):
        counts, edges = np.histogram(x, bins)
        return (
            counts,
            edges,
            np.digitize(x, edges),
            np.bincount(x.astype(int) + 1),
            np.searchsorted(edges, x),
        )

    for n, bins in ((4, 2), (4, 2), (8, [0, 1, 2]), (4, 3), (0, 2), (4, 0)):
        w(f, floats(n), bins)


@case
def interpolation_and_polynomials(w: World) -> None:
    @w.compiled
    def f(x):
        y = np.interp(x, [0, 1, 2], [0, 10, 30])
        return (
            y,
            np.polyval([1, 2], x),
            np.trapezoid(y),
            np.gradient(x),
            np.convolve(x, [1, 1], "same"),
        )

    for n in (4, 4, 6, 2, 1, 0):
        w(f, floats(n))


@case
def sets_of_elements(w: World) -> None:
    @w.compiled
    def f(x, y):
        values, counts = np.unique(x, return_counts=True)
        return (
            values,
            counts,
            np.isin(x, y),
            np.intersect1d(x, y),
            np.setdiff1d(x, y),
            np.union1d(x, y),
        )

    for n, m in ((4, 2), (4, 2), (12, 3), (0, 2), (3, 0)):
        w(f, ints(n), ints(m))


@case
def keyword_forms_of_functions(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            np.sum(a=x, axis=0),
            np.clip(a=x, a_min=0, a_max=1),
            np.where(x > 0, x, 0),
            np.add(x1=x, x2=1) if False else np.add(x, 1, casting="same_kind", order="F"),
            np.mean(x, axis=-1, keepdims=True),
            np.reshape(x, shape=(-1,)),
            x.astype(dtype="f4", order="C", casting="unsafe"),
            np.full(shape=(2,), fill_value=3, dtype="i2"),
        )

    for n in (3, 3, 4, 1):
        w(f, floats(n))
        w(f, floats(2, n))


@case
def wrong_keywords(w: World) -> None:
    @w.compiled
    def f(x, how):
        if how == 0:
            return np.sum(x, axis=0, nothing=1)
        if how == 1:
            return x.reshape()
        if how == 2:
            return np.add(x)
        if how == 3:
            return np.add(x, x, x, x)
        if how == 4:
            return np.clip(x)
        if how == 5:
            return x.sum(0, 0, 0, 0, 0, 0)
        if how == 6:
            return np.where(x, x)
        return x.astype("f4", casting="safe")

    for how in (0, 0, 1, 2, 3, 4, 5, 6, 7):
        w(f, floats(3), how)


@case
def vectorize_piecewise_apply(w: World) -> None:
    log = w.watch([])

    def scalar(v):
        log.append(float(v))
        return v * 2 if v > 0 else 0.0

    @w.compiled
    def f(x):
        return np.vectorize(scalar, otypes=[float])(x), np.piecewise(
            x, [x > 0], [1, lambda v: v - 1]
        )

    for n in (3, 3, 2, 5):
        w(f, floats(n))


@case
def iterating_numpys_iterators(w: World) -> None:
    @w.compiled
    def f(x):
        total = 0
        for index, value in np.ndenumerate(x):
            total += value * sum(index)
        for row in x.flat:
            total += row
        with np.nditer(x, op_flags=["readwrite"]) as it:
            for v in it:
                v[...] = v * 2
        return total, x, [*np.ndindex(x.shape)]

    for shape in ((2,), (2,), (2, 2), (1,)):
        w(f, floats(*shape))


@case
def functions_that_return_their_input(w: World) -> None:
    @w.compiled
    def f(x):
        a, b, c = np.asarray(x), np.asanyarray(x), np.atleast_1d(x)
        a += 1
        return a is x, b is x, c is x, np.asarray(x, dtype=x.dtype) is x, np.require(x) is x, a, x

    for x in (floats(3), floats(3), ints(2), floats(2, 2).T, floats()):
        w(f, x)


@case
def arrays_made_of_lists(w: World) -> None:
    @w.compiled
    def f(x, k):
        return (
            np.array([x, x + k]),
            np.array([k, 1, 2.5]),
            np.array([[k], [1]]),
            np.asarray([k]),
            np.array(k),
        )

    for k in (1, 1, 2.5, True, np.float32(1), "a", floats(3), 2**70):
        w(f, floats(3), k)
    w(f, floats(2), floats(3))
