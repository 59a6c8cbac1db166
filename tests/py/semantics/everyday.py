"""Programs as they are written every day, of which each line is an old trap.

Scalars that are new objects, rows that are views, closures that bind late, arrays that are written
while they are read.
"""

from __future__ import annotations

import math

import numpy as np

from semantics.world import World, case, floats, ints


@case
def zip_and_enumerate_over_written_arrays(w: World) -> None:
    @w.compiled
    def f(x, y):
        out = []
        for i, (a, b) in enumerate(zip(x, y)):
            x[i] = a + b
            y += 1
            out.append(a)
        return out, x, y, list(x), tuple(y), [*x], max(x), min(y), sum(x)

    for n in (3, 3, 2, 1):
        w(f, floats(n), floats(n))
        w(f, ints(n), ints(n))


@case
def scalars_are_new_objects(w: World) -> None:
    keep = w.watch([])

    @w.compiled
    def f(x):
        a = np.float64(2.0)
        b = np.sqrt(2.0)
        c = x[0]
        d = x[0]
        e = x.sum()
        g = np.pi
        h = np.float32(b)
        keep.append([a, b, c, d, e, g, h, a])
        return a is b, c is d, keep[-1][0] is a

    for _ in range(4):
        w(f, floats(3))


@case
def constants_of_numpy_types(w: World) -> None:
    @w.compiled
    def f(x):
        n = np.int64(2)
        m = np.float32(0.5)
        return (
            x[n],
            x * m,
            x.reshape(n, -1),
            range(n),
            n + 1,
            m * 2,
            x[: np.int8(1)],
            [0] * n,
            np.zeros(n),
            n is np.int64(2),
            x.sum(axis=np.int64(0)),
        )

    for s in ((4,), (4,), (6,)):
        w(f, floats(*s))
        w(f, floats(*s, dtype="f4"))


@case
def unpacking_and_views_of_rows(w: World) -> None:
    @w.compiled
    def f(x):
        a, b = x
        a += 1
        c, *d = x
        b[:] = a
        (e, g), h = x
        x[:] = 0
        return a, b, c, d, e, g, h

    for _ in range(3):
        w(f, floats(2, 2))


@case
def augmented_through_attribute_and_alias(w: World) -> None:
    class M:
        pass

    m = w.watch(M())
    m.x = floats(3)
    m.y = m.x
    m.z = m.x[1:]

    @w.compiled
    def f(v):
        m.x += v
        m.z *= 2
        m.y[0] = m.z.sum()
        return m.x is m.y, m.x, m.z

    for v in (1.0, 2.0, floats(3), 3):
        w(f, v)


@case
def type_checks(w: World) -> None:
    @w.compiled
    def f(x, n):
        return (
            type(x) is np.ndarray,
            isinstance(n, (int, np.integer)),
            isinstance(n, float),
            isinstance(x, np.generic),
            type(n) == type(x.size),  # noqa: E721
            np.isscalar(n),
            np.ndim(n),
            isinstance(n, bool),
            callable(n),
            n.__class__.__name__,
            type(x.sum()).__name__,
            isinstance(x.sum(), float),
        )

    for n in (
        1,
        True,
        1.0,
        np.int32(1),
        np.float64(1),
        np.float32(1),
        np.True_,
        "a",
        None,
        floats(2),
    ):
        w(f, floats(2), n)


@case
def rounding_and_integers_of_scalars(w: World) -> None:
    @w.compiled
    def f(x):
        s = x.sum()
        return (
            round(s),
            round(s, 1),
            int(s),
            float(s),
            bool(s),
            s.item(),
            s.astype(int),
            math.floor(s),
            math.trunc(s),
            complex(s),
            s.real,
            s.is_integer() if hasattr(s, "is_integer") else 0,
            s // 1,
            divmod(s, 2),
            -s,
            abs(s),
            +s,
            s**2,
            hash(s) == hash(float(s)),
            str(s),
            repr(s),
            f"{s:g}",
        )

    for v in ([1.5, 2.25], [1.5, 2.25], [-1.5, 0.25], [0.0, -0.0], [1e20, 1]):
        w(f, np.array(v))
        w(f, np.array(v, "f4"))


@case
def star_calls(w: World) -> None:
    def g(*a, **k):
        return sum(v.sum() for v in a), sorted(k)

    @w.compiled
    def f(xs, d):
        return g(*xs, **d), g(*xs, *xs), g(**d), g(*[x + 1 for x in xs])

    for k, d in ((1, {}), (2, {"a": 1}), (2, {"b": 1, "a": 2}), (0, {}), (2, {"a": 1})):
        w(f, [floats(2)] * k, d)


@case
def lambda_and_late_binding(w: World) -> None:
    @w.compiled
    def f(x):
        fs = [lambda v: v * i for i in range(3)]  # noqa: B023
        gs = [lambda v, i=i: v * i for i in range(3)]
        k = 2
        h = lambda v: v + k  # noqa: E731
        k = 5
        return [q(x) for q in fs], [q(x) for q in gs], h(x), (lambda *a: len(a))(x, x)

    for n in (2, 2, 3):
        w(f, floats(n))


@case
def dict_order_and_merge(w: World) -> None:
    @w.compiled
    def f(d, x):
        e = {**d, "z": x}
        e.update(a=1)
        f_ = d | {"q": 2}
        d["new"] = e.pop("z")
        return (
            e,
            f_,
            list(d.items()),
            {v: k for k, v in f_.items() if isinstance(v, int)},
            dict(zip(d, range(9))),
            next(iter(d)),
        )

    for d in ({"a": 0}, {"a": 0}, {"b": 1, "a": 2}, {}, {"z": 9}):
        w(f, d, floats(2))


@case
def string_building(w: World) -> None:
    @w.compiled
    def f(x, name):
        return (
            name + ": " + str(len(x)),
            name.upper(),
            name * len(x),
            "-".join([name, str(x.ndim)]),
            name[0],
            name[::-1],
            name in "abc",
            f"{name!r:>6}",
            name.encode(),
            name.split("b"),
            len(name),
            name < "b",
            sorted(name),
            name.replace("a", str(x.size)),
        )

    for n in ("abc", "abc", "b", "aab"):
        w(f, floats(2), n)
        w(f, floats(3), n)


@case
def matmul_and_linalg(w: World) -> None:
    @w.compiled
    def f(a, b):
        return (
            a @ b,
            np.dot(a, b),
            a.T @ a,
            np.linalg.norm(a),
            np.outer(b, b),
            np.einsum("ij,j->i", a, b),
            np.tensordot(a, b, 1),
            np.inner(a, a),
            (a @ b)[0],
            np.trace(a),
        )

    for n, m in ((2, 3), (2, 3), (3, 3), (1, 1), (0, 2)):
        if n:
            w(f, floats(n, m), floats(m))
            w(f, ints(n, m), floats(m))
            w(f, floats(m, n).T, floats(m))


@case
def boolean_masks(w: World) -> None:
    @w.compiled
    def f(x):
        m = x > 0
        y = x[m]
        x[~m] = 0
        x[m] += 1
        y *= 2
        n = m.sum()
        if m.any():
            x[m] = y
        return y, x, n, np.flatnonzero(m), x[m & (x < 3)], np.where(m)[0], m

    for v in ([1, -1, 2], [1, -1, 2], [-1, -2, -3], [0, 0, 0], [1, 2, 3]):
        w(f, np.array(v, float))
        w(f, np.array(v))


@case
def fancy_indices(w: World) -> None:
    @w.compiled
    def f(x, i):
        y = x[i]
        x[i] = 9
        x[i] += 1
        np.add.at(x, i, 1)
        y += 1
        return y, x, x.take(i), x[[0, -1]], x[np.array([True] + [False] * (len(x) - 1))]

    for i in ([0, 1], [0, 1], [1, 1], [-1], np.array([0, 2]), np.array([[0, 1], [2, 0]]), []):
        w(f, floats(3), i if isinstance(i, np.ndarray) else np.array(i, int))
        w(f, floats(3), i)


@case
def in_place_with_self(w: World) -> None:
    @w.compiled
    def f(x):
        x += x
        x -= x * 0.5
        x *= x[::-1]
        x[1:] -= x[:-1]
        x /= 2
        x **= 2
        x //= 1
        x %= 3
        x[...] = x
        x[:] = x[::-1].copy()
        np.negative(x, out=x)
        np.add(x, x[0], out=x)
        return x

    for n in (4, 4, 1, 2, 5):
        w(f, floats(n) + 5)
        w(f, (floats(n, 2) + 5).T)
