"""Python's own arithmetic: exact integers, float corner cases, conversions, comparisons."""

from __future__ import annotations

import math
import operator

import numpy as np

from semantics.world import World, case, close, floats, ints

NAN, INF = float("nan"), float("inf")


@case
def integers_grow_without_bound(w: World) -> None:
    @w.compiled
    def f(x, a, b):
        return a + b, a * b, a - b, -a, abs(b), a << 3, x + (a * b) % 7

    for a, b in (
        (3, 4),
        (3, 4),
        (2**62, 2),
        (2**63 - 1, 1),
        (-(2**63), -1),
        (-(2**63), 1),
        (2**32, 2**31),
        (10**30, -(10**20)),
    ):
        w(f, floats(2), a, b)


@case
def floor_division_and_remainder(w: World) -> None:
    @w.compiled
    def f(x, a, b):
        return a // b, a % b, divmod(a, b), x + a % b

    pairs = [(7, 2), (7, 2), (-7, 2), (7, -2), (-7, -2), (-(2**63), -1), (0, 3), (1, 0), (2**70, 3)]
    for a, b in pairs:
        w(f, floats(2), a, b)
    for a, b in (
        (7.5, 2.0),
        (-7.5, 2.0),
        (7.5, -2.0),
        (-0.0, 2.0),
        (1.0, 0.0),
        (INF, 2.0),
        (5.0, INF),
    ):
        w(f, floats(2), a, b)


@case
def true_division_of_large_integers(w: World) -> None:
    @w.compiled
    def f(x, a, b):
        return a / b, x * (a / b)

    for a, b in (
        (6, 4),
        (6, 4),
        (2**53 + 1, 1),
        (2**62 + 1, 3),
        (10**40, 10**39),
        (1, 0),
        (10**400, 3),
    ):
        w(f, np.ones(2), a, b)


@case
def powers(w: World) -> None:
    @w.compiled
    def f(x, a, b):
        return a**b, x * 1

    for a, b in (
        (2, 10),
        (2, 10),
        (2, 70),
        (2, -1),
        (-8, 1 / 3),
        (0, -1),
        (0.0, -1.0),
        (-2.0, 3.0),
        (1e200, 2.0),
        (0, 0),
        (NAN, 0),
        (2.5, 2),
    ):
        w(f, floats(2), a, b)


@case
def shifts_and_bit_operations(w: World) -> None:
    @w.compiled
    def f(x, a, b):
        return a << b, a >> b, a & b, a | b, a ^ b, ~a, x + (a & 1)

    for a, b in (
        (5, 2),
        (5, 2),
        (1, 62),
        (1, 63),
        (1, 64),
        (-1, 3),
        (2**70, 5),
        (3, -1),
        (True, False),
    ):
        w(f, floats(2), a, b)


@case
def integers_beside_floats(w: World) -> None:
    @w.compiled
    def f(x, a, b):
        return a == b, a < b, a <= b, a + b, max(a, b), x if a > b else -x

    big = 2**53
    for a, b in (
        (1, 1.0),
        (1, 1.0),
        (big + 1, float(big)),
        (big, float(big)),
        (2**63, 2.0**63),
        (3, NAN),
    ):
        w(f, floats(2), a, b)
        w(f, floats(2), b, a)
    w(f, floats(2), 10**400, 1.0)


@case
def floats_that_are_special(w: World) -> None:
    @w.compiled
    def f(x, k):
        return k + 1, k * 0, -k, abs(k), k - k, k < 1, k == k, x * k, x + k, k // 1, k % 1

    for k in (1.5, 1.5, 0.0, -0.0, NAN, INF, -INF, 5e-324, 1.7e308, 1.5):
        w(f, np.ones(2), k)


@case
def conversions_between_numbers(w: World) -> None:
    @w.compiled
    def f(x, k):
        return int(k), float(k), bool(k), complex(k), round(k), x * int(k)

    for k in (2.5, 2.5, -2.5, 3.5, 0.0, 7, True, 1e30, INF, NAN, "3", 10**400, np.float32(2.5)):
        w(f, floats(2), k)


@case
def rounding_to_digits(w: World) -> None:
    @w.compiled
    def f(x, k, n):
        return round(k, n), round(k), x + round(k, n), math.floor(k), math.ceil(k), math.trunc(k)

    for k, n in (
        (2.675, 2),
        (2.675, 2),
        (2.5, 0),
        (-0.4, 0),
        (1234, -2),
        (1250, -2),
        (1e300, 3),
        (2.5, None),
    ):
        w(f, floats(2), k, n)


@close
@case
def mathematics(w: World) -> None:
    @w.compiled
    def f(x, k):
        return math.exp(k), math.sqrt(k), math.log(k), math.sin(k), math.pi * k, x * math.tanh(k)

    for k in (1.0, 1.0, 4, 0.5, 0.0, -1.0, 1000.0, INF, NAN, "a", np.float32(2), 2**70):
        w(f, floats(2), k)


@case
def integer_mathematics(w: World) -> None:
    @w.compiled
    def f(x, a, b):
        return (
            math.gcd(a, b),
            math.isqrt(a),
            math.factorial(b),
            math.comb(a, b),
            math.prod([a, b]),
            x,
        )

    for a, b in ((12, 8), (12, 8), (100, 3), (7, 0), (-4, 2), (2**70, 2), (25, 25), (5, 1.5)):
        w(f, floats(2), a, b)


@case
def classification_of_floats(w: World) -> None:
    @w.compiled
    def f(x, k):
        finite = math.isfinite(k)
        return finite, math.isnan(k), math.isinf(k), math.copysign(1, k), x if finite else x + 1

    for k in (1.0, 1.0, NAN, INF, -INF, -0.0, 0, 10**400, "x"):
        w(f, floats(2), k)


@case
def comparisons_chain_and_sort(w: World) -> None:
    @w.compiled
    def f(x, a, b, c):
        return (
            a < b < c,
            a <= b >= c,
            sorted([a, b, c]),
            min(a, b, c),
            max((a, b), key=abs),
            x[a < b :],
        )

    for a, b, c in (
        (1, 2, 3),
        (1, 2, 3),
        (3, 2, 1),
        (1, 1.0, True),
        (NAN, 1, 0),
        (-1, 1, -2),
        (0.0, -0.0, 0),
    ):
        w(f, floats(3), a, b, c)


@case
def truth_of_numbers(w: World) -> None:
    @w.compiled
    def f(x, k):
        return not k, k and 1, k or 2, (x if k else -x), bool(k), k is True

    for k in (1, 1, 0, 0.0, -0.0, NAN, "", "a", None, (), (0,), 0j, True, False, np.float64(0)):
        w(f, floats(2), k)


@case
def booleans_count_as_integers(w: World) -> None:
    @w.compiled
    def f(x, a, b):
        return a + b, a * 3, -a, a / 1, sum([a, b, a]), a & b, a == 1, x[a:], x * a, [5, 6][a]

    for a, b in ((True, False), (True, False), (1, 0), (False, False), (True, 1)):
        w(f, floats(3), a, b)


@case
def accumulating_in_a_loop(w: World) -> None:
    @w.compiled
    def f(x, n, start):
        total, product = start, 1
        for i in range(n):
            total += i * 0.1
            product *= i + 1
        return total, product, x * total

    for n, start in ((3, 0), (3, 0), (5, 0.5), (25, 0), (0, 1), (3, -1)):
        w(f, np.ones(2), n, start)


@case
def strings_from_numbers(w: World) -> None:
    @w.compiled
    def f(x, k):
        return str(k), repr(k), f"{k:.3f}", f"{k:>8}", f"{k:,}", "%g" % k, x.shape

    for k in (
        1.5,
        1.5,
        1,
        True,
        -0.0,
        NAN,
        INF,
        1e22,
        123456789,
        2**70,
        np.float64(1.5),
        0.1 + 0.2,
    ):
        w(f, floats(2), k)


@case
def numpy_scalars_beside_python_numbers(w: World) -> None:
    @w.compiled
    def f(x, k):
        s = x[0]
        return s + k, k + s, s * k, s // k, s % k, s**k, s < k, s == k, -s, abs(s), divmod(s, k)

    for dtype in ("f8", "f4", "i8", "i4", "u1", "f2"):
        for k in (2, 2, 2.0, True, 0):
            w(f, np.array([7, 2], dtype), k)


@case
def scalars_that_overflow(w: World) -> None:
    @w.compiled
    def f(x):
        a, b = x[0], x[1]
        return a + b, a * b, a - b, -a, abs(a), b - a

    for dtype, a, b in (
        ("i1", 1, 2),
        ("i1", 100, 100),
        ("i1", -128, 1),
        ("u1", 1, 2),
        ("i8", 2**62, 2**62),
        ("i8", -(2**63), 1),
        ("u8", 2**63, 2**63),
        ("f4", 3e38, 3e38),
        ("f2", 6e4, 6e4),
        ("i1", 1, 2),
    ):
        w(f, np.array([a, b], dtype))


@case
def scalars_of_booleans(w: World) -> None:
    @w.compiled
    def f(x):
        a, b = x[0], x[1]
        return a + b, a * b, a & b, a | b, a ^ b, ~a, a == b, a and b, not a, int(a), a + 1, a - b

    for a, b in ((1, 0), (1, 0), (0, 0), (1, 1)):
        w(f, np.array([a, b], bool))
        w(f, np.array([a, b], "i4"))


@case
def a_fold_over_python_floats(w: World) -> None:
    @w.compiled
    def f(x, values):
        total = 0
        for v in values:
            total = total * 0.5 + v
        mean = total / len(values)
        return total, mean, x - mean

    for values in ([1, 2, 3], [1, 2, 3], [1.0, 2.5], (4,), [], [NAN, 1], [10**20, 1], [True, "a"]):
        w(f, np.ones(2), values)


@case
def operators_as_functions(w: World) -> None:
    @w.compiled
    def f(x, k):
        get = operator.itemgetter(0)
        return (
            operator.add(x, k),
            operator.mul(k, k),
            get([k, x]),
            operator.neg(x),
            operator.iadd(x, 1),
            operator.attrgetter("shape")(x),
            operator.methodcaller("sum")(x),
        )

    for k in (2, 2, 2.5, ints(3)):
        w(f, floats(3), k)


@case
def complex_numbers_of_python(w: World) -> None:
    @w.compiled
    def f(x, k):
        z = k * 1j + 2
        return z, abs(z), z.real, z.conjugate(), z * z, x * z, z == k

    for k in (1, 1, 2.5, -0.0, 1j, NAN):
        w(f, floats(2), k)


@case
def integer_scalars_that_overflow_in_sums(w: World) -> None:
    @w.compiled
    def f(x):
        return sum(x), sum(n for n in x), sum([abs(n) for n in x], x[0]), sum(x, True)

    @w.compiled
    def g(x):
        sum(n for n in x)

    limits = np.iinfo(np.int64)
    for x in ([1, 2, -3], [limits.max, 2, -1], [limits.min, -1, 4], [limits.max, 1, limits.min]):
        for dtype in (np.int64, np.int8, bool, float):
            w(f, np.array(x).astype(dtype))
            w(g, np.array(x).astype(dtype))
