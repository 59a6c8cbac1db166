"""Objects that only look like what is compiled: arrays of other kinds, types that are equal."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import inspect
import tempfile

import numpy as np

from semantics.world import World, case, floats, ints


class Logged(np.ndarray):
    log = []

    def __array_ufunc__(self, ufunc, method, *inputs, **kw):
        Logged.log.append((ufunc.__name__, method))
        inputs = [np.asarray(i) for i in inputs]
        return getattr(ufunc, method)(*inputs, **kw)


class Duck:
    def __init__(self, a):
        self.a = a

    def __array_function__(self, func, types, args, kwargs):
        return ("af", func.__name__)

    def __array_ufunc__(self, ufunc, method, *args, **kw):
        return ("au", ufunc.__name__, method)


class LyingEq:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return True

    def __hash__(self):
        return 1

    def __bool__(self):
        return False


@case
def array_ufunc_subclass(w: World) -> None:
    Logged.log = w.watch([])

    @w.compiled
    def f(x, y):
        return x + y, y * 2, np.sqrt(x), x.sum()

    for mk in (lambda: floats(3), lambda: floats(3).view(Logged), lambda: floats(3)):
        w(f, mk() ** 2, floats(3))
        w(f, floats(3) ** 2, mk())


@case
def duck_arrays(w: World) -> None:
    @w.compiled
    def f(x, d):
        return x * 2, np.concatenate([x, d]) if not isinstance(d, float) else 0, x + d, np.sum(d)

    for d in (floats(2), floats(2), Duck(1), Duck(2), floats(2), 1.5):
        w(f, floats(2), d)


@case
def byteswapped_and_structured(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1, x[::-1], x.sum() if x.dtype.names is None else x["a"]

    for a in (floats(3), floats(3).astype(">f8"), ints(3).astype(">i4"), floats(3)):
        w(f, a)
    s = np.zeros(3, [("a", "f8"), ("b", "i4")])

    @w.compiled
    def g(s):
        s["a"] += 1
        s[0] = (5, 6)
        return s["a"] * 2, s["b"].sum(), s

    for _ in range(3):
        w(g, s)


@case
def objects_with_lying_eq(w: World) -> None:
    @w.compiled
    def f(x, a, b):
        if a == b:
            x = x + 1
        if a:
            x = x * 2
        return x, a in [b], a is b, {a: 1}.get(b)

    a = LyingEq(1)
    for p in ((a, a), (a, LyingEq(2)), (a, 3), (3, a), (3, 3)):
        w(f, floats(2), *p)


@case
def matrix_masked_memmap(w: World) -> None:
    @w.compiled
    def f(x):
        return x * x, x.sum(), x[0], x.T, x.shape

    with tempfile.NamedTemporaryFile() as t:
        m = np.memmap(t.name, "f8", "w+", shape=(2, 2))
        m[:] = floats(2, 2)
        for a in (
            floats(2, 2),
            floats(2, 2).view(np.matrix),
            np.ma.array(floats(2, 2), mask=[[1, 0], [0, 0]]),
            np.array(m),
            floats(2, 2),
        ):
            w(f, a)


@case
def numpy_bools(w: World) -> None:
    @w.compiled
    def f(x, b):
        if b:
            x = x + 1
        return x, not b, b is True, b == True, ~b if isinstance(b, np.bool_) else ~b, b and 3  # noqa: E712

    for b in (np.True_, np.False_, True, False, np.bool_(1), 1, 0):
        w(f, floats(2), b)


@case
def bool_int_float_guards(w: World) -> None:
    @w.compiled
    def f(x, n):
        return x * n, type(n).__name__, n == 1

    for n in (
        1,
        True,
        1.0,
        np.int64(1),
        np.float64(1),
        np.True_,
        1,
        True,
        1.0,
        0,
        False,
        0.0,
        -0.0,
    ):
        w(f, ints(3), n)


@case
def branch_on_value_equal_but_other_type(w: World) -> None:
    @w.compiled
    def f(x, n):
        if n == 1:
            return x + n
        return x - n

    for n in (1, 1.0, True, 2, 2.0, np.float32(1), 1):
        w(f, ints(3), n)


@case
def interned_strings(w: World) -> None:
    @w.compiled
    def f(x, how):
        if how == "sum":
            return x.sum()
        if how == "max":
            return x.max()
        return how

    for how in ("sum", "max", "".join(["s", "um"]), "".join(["ma", "x"]), "other", "sum"):
        w(f, floats(3), how)


@case
def complex_arrays_inside(w: World) -> None:
    @w.compiled
    def f(x):
        c = x + 1j * x
        c.real[0] = 9
        c.imag *= 2
        d = c.conj()
        c += 1
        c[1:] = 0
        return c, d, abs(c), c.real, np.angle(d), (c * d).sum()

    for n in (3, 3, 4):
        w(f, floats(n))
        w(f, floats(n) + 0j)


@case
def complex_argument_views(w: World) -> None:
    @w.compiled
    def f(c, x):
        r = c.real
        c *= 2
        x += r
        return r, x, c

    for _ in range(3):
        w(f, floats(3) + 1j, floats(3))
        c = floats(3) + 1j
        w(f, c, c.real)
        w(f, c, c.imag)


@case
def object_arrays(w: World) -> None:
    @w.compiled
    def f(o, x):
        o[0] = x
        p = o * 2
        o[1] += 1
        return o, p, o.sum() if x.size < 3 else 0, x + 1

    for n in (2, 2, 3):
        w(f, np.array([1, 2.5, "a" if n == 3 else 7], object), floats(n))


@case
def datetimes_and_strings(w: World) -> None:
    @w.compiled
    def f(d, x):
        return d + np.timedelta64(1, "D"), d[0], d.astype("i8") + x, d - d[0]

    for s in ("2020-01-01", "2020-02-01"):
        w(f, np.array([s, "2021-01-01"], "M8[D]"), ints(2))

    @w.compiled
    def g(s):
        return s == "a", np.char.upper(s), s[0] + "b", s

    for s in (["a", "b"], ["b", "cc"]):
        w(g, np.array(s))


@case
def dataclasses_and_enums(w: World) -> None:
    class Mode(enum.Enum):
        A = 1
        B = 2

    @dataclasses.dataclass
    class P:
        x: np.ndarray
        mode: Mode = Mode.A
        tags: list = dataclasses.field(default_factory=list)

    @dataclasses.dataclass(frozen=True)
    class Q:
        v: float

    @w.compiled
    def f(p, q):
        if p.mode is Mode.A:
            y = p.x * q.v
        else:
            y = p.x - q.v
        p.tags.append(p.mode.name)
        return dataclasses.replace(q, v=3.0), y, P(y), p == p, Mode(2)

    for m in (Mode.A, Mode.A, Mode.B, Mode.B):
        w(f, P(floats(2), m), Q(2.0))
    w(lambda: setattr(Q(1.0), "v", 2))


@case
def callbacks_inside_numpy(w: World) -> None:
    log = w.watch([])

    def cb(v):
        log.append(float(np.sum(v)))
        return v * 2

    @w.compiled
    def f(x):
        a = np.apply_along_axis(cb, 0, x)
        b = np.vectorize(cb)(x)
        c = np.fromfunction(lambda i: i * x[0], (2,))
        d = np.piecewise(x, [x < 0, x >= 0], [cb, 3])
        return a, b, c, d

    for n in (2, 2, 3):
        w(f, floats(n))


@case
def what_a_function_shows(w: World) -> None:
    def f(x, y=2, *, z: int = 3) -> float:
        """Doc."""
        return x * y + z

    f.mark = 5
    g = w.compiled(f)
    w.note(
        str(inspect.signature(g)),
        g.__doc__,
        g.__name__,
        g.__qualname__,
        g.__module__,
        g.mark,
        g.__defaults__ if hasattr(g, "__defaults__") else None,
        g.__annotations__,
        callable(g),
        inspect.unwrap(g) is f or g is f,
    )
    w(g, floats(2))
    w(g, floats(2), 3, z=4)
    w(g)
    w(g, 1, 2, 3)
    w(g, floats(2), q=1)
    w(g, floats(2), y=1, z=2)
    w(g, x=floats(2))
    w(g, floats(2), x=1)

    class C:
        m = g
        s = staticmethod(g)
        c = classmethod(w.compiled(lambda cls, x: (cls.__name__, x + 1)))
        p = property(w.compiled(lambda self: np.ones(2) * self.v))
        v = 3

        def __mul__(self, o):
            return ("mul", o)

    c = C()
    w(C.m, floats(2))
    w(c.s, floats(2))
    w(c.c, floats(2))
    w(lambda: c.p)
    w(lambda: c.p)
    w(c.m)
    w(c.m)
    w(functools.partial(g, y=5), floats(2))
    w(functools.partial(g, floats(2)), 7)
    w(lambda: list(map(g, [floats(2), 3])))
    w(lambda: copy.deepcopy(g)(floats(2)))
    w(lambda: copy.copy([g])[0](floats(2)))


@case
def huge_ints(w: World) -> None:
    @w.compiled
    def f(x, n):
        return n * n, x * (n % 7), n > 2**63, -n, n // 3

    for n in (3, 10**10, 10**20, 2**63, -(2**63), 2**64, 5):
        w(f, ints(3), n)

    @w.compiled
    def g(x, n):
        return x + n

    for n in (1, 2**31, 2**63 - 1, 2**63, -1, 300, 10**30):
        w(g, ints(3), n)
        w(g, ints(3, dtype="u1"), n)
        w(g, floats(2), n)


@case
def inplace_type_change(w: World) -> None:
    @w.compiled
    def f(n, x):
        n += x.sum()
        n /= 2
        n //= 1
        return n, type(n).__name__

    for n in (1, 1.5, True, np.int8(3), np.float32(2), 10**25):
        w(f, n, floats(3))
        w(f, n, ints(3))


@case
def numpy_integers_everywhere(w: World) -> None:
    @w.compiled
    def f(x):
        n = x.max()
        return (
            range(n),
            [0] * n,
            x[n - 1],
            x[:n],
            n // 2,
            n % 2,
            -n,
            n**2,
            n << 1,
            int(n),
            float(n),
            n == 3,
            {n: 1},
            f"{n}",
            divmod(n, 2),
            round(n),
            n.bit_length() if hasattr(n, "bit_length") else 0,
            bin(n),
            "ab"[n % 2],
        )

    for a in ([1, 2, 3], [1, 2, 3], [2, 2, 2], [0, 0, 1]):
        w(f, np.array(a))
        w(f, np.array(a, "u1"))
