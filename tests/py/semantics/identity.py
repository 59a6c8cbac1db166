"""`is`, equality, hashing, -0.0 and NaN: where two equal things are not the same."""

from __future__ import annotations

import math

import numpy as np

from semantics.world import World, case, floats, ints


@case
def negative_zero_as_argument(w: World) -> None:
    @w.compiled
    def f(x, k):
        return x * k, math.copysign(1, k), k, np.copysign(1.0, k)

    for k in (0.0, 0.0, -0.0, 0.0, 0, -0.0, False):
        w(f, np.ones(3), k)


@case
def nan_as_argument(w: World) -> None:
    @w.compiled
    def f(x, k):
        return (x + 1 if k == k else x - 1), k in [k], k == k, [k] == [k]

    nan = float("nan")
    for k in (1.0, nan, nan, float("nan"), np.nan, np.float64("nan"), 1.0):
        w(f, np.ones(3), k)


@case
def negative_zero_is_kept_in_results(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 0, x * 1, -x, x - 0, 0 - x, x * -1, abs(x), np.sqrt(x), np.maximum(x, 0.0), x / 1

    for v in (0.0, -0.0, 0.0, -0.0):
        w(f, np.array([v, v]))
        w(f, np.array([v, v], "f4"))


@case
def signed_zeros_in_reductions(w: World) -> None:
    @w.compiled
    def f(x):
        return x.sum(), x.max(), x.min(), x.prod(), x.mean(), np.cumsum(x), np.add.reduce(x)

    for v in ([-0.0, -0.0], [-0.0, -0.0], [0.0, -0.0], [-0.0], [-0.0, 0.0]):
        w(f, np.array(v))


@case
def is_on_small_and_large_integers(w: World) -> None:
    @w.compiled
    def f(x, n):
        m = n + 0
        return n is m, n is one, len(x) is n, x + 1 if n is two else x

    one, two = 1, 2
    for n in (1, 1, 2, 3, 1000, 1.0):
        w(f, floats(3), n)


@case
def is_none_and_defaults(w: World) -> None:
    @w.compiled
    def f(x, y=None):
        if y is None:
            y = x
        return x + y, y is x, y is not None

    x = floats(3)
    w(f, x)
    w(f, x)
    w(f, x, x)
    w(f, x, floats(3))
    w(f, x, None)
    w(f, x, 0)
    w(f, x)


@case
def identities_of_results(w: World) -> None:
    @w.compiled
    def f(x, y):
        a = x + y
        b = a
        b += 1
        c = b[:]
        return a is b, c is b, c.base is b, a is x, id(a) == id(b), a, c

    for n in (3, 3, 5, 0):
        w(f, floats(n), floats(n))


@case
def equality_of_arrays(w: World) -> None:
    @w.compiled
    def f(x, y):
        same = x == y
        return same, np.array_equal(x, y), (x != y).any() if hasattr(same, "any") else same

    for y in (floats(3), floats(3), floats(4), floats(1), None, "a", 2, [1, 2, 3], floats(2, 3)):
        w(f, floats(3), y)


@case
def hash_of_values(w: World) -> None:
    @w.compiled
    def f(x, k):
        return hash(k) == hash(float(len(x))), {k: x + 1}, hash((k, len(x))) == hash((3, 3))

    for k in (3, 3, 3.0, True, np.int64(3), 2):
        w(f, floats(3), k)
    w(f, floats(2), [1])


@case
def id_of_an_argument(w: World) -> None:
    seen = w.watch([])
    known = {}

    @w.compiled
    def f(x):
        new = id(x) not in known
        known[id(x)] = x
        seen.append(new)
        return x * 2 if new else x

    x, y = floats(3), floats(3)
    for a in (x, y, x, y, floats(3)):
        w(f, a)


@case
def equal_numbers_of_other_types(w: World) -> None:
    @w.compiled
    def f(x, k):
        return x + k, k, type(k).__name__

    for k in (1, 1, True, 1.0, np.float32(1), np.int8(1), np.True_, 1 + 0j, 1):
        w(f, ints(3), k)


@case
def constants_of_a_branch(w: World) -> None:
    @w.compiled
    def f(x, k):
        return {0: "zero", 1: "one", -1: "minus"}.get(k, "many"), x * k

    for k in (0, 0, 1, -1, 5, 0.0, True, "a", float("nan")):
        w(f, floats(2), k)


@case
def strings_that_are_equal(w: World) -> None:
    @w.compiled
    def f(x, name):
        return x + 1 if name == "add" else x - 1, name + "!", name is f_name

    f_name = "".join(["a", "dd"])
    for name in ("add", "add", "".join(["ad", "d"]), "sub", f_name, np.str_("add")):
        w(f, floats(2), name)


@case
def tuples_as_arguments(w: World) -> None:
    @w.compiled
    def f(x, shape):
        return x.reshape(shape), shape == (2, 3), shape

    for shape in ((2, 3), (2, 3), (3, 2), (-1,), [2, 3], 6, (2, 3.0), (True, 6)):
        w(f, floats(6), shape)


@case
def booleans_of_numpy_are_not_the_constants(w: World) -> None:
    @w.compiled
    def f(x):
        t = x.sum() > 0
        return t is True, t == True, bool(t) is True, not t, type(t), t is np.True_  # noqa: E712

    for v in (1, 1, -1, 1):
        w(f, np.full(3, float(v)))


@case
def chained_is_and_in(w: World) -> None:
    @w.compiled
    def f(x, options):
        if x in options:
            return "in"
        return [o is x for o in options]

    one = floats(1)
    for options in ([1, 2], [1, 2], [one], [floats(1) + 50], [], [None]):
        w(f, one, options)


@case
def nan_in_containers_and_comparisons(w: World) -> None:
    @w.compiled
    def f(x):
        s = x.max()
        return s == s, s in [s], max(s, 1.0), min(1.0, s), sorted([s, 1.0]), s != s

    for v in (1.0, 1.0, np.nan, 2.0):
        w(f, np.array([v, v]))


@case
def interned_results(w: World) -> None:
    @w.compiled
    def f(x):
        n = int(x.sum())
        return n == 3 if False else n, n + 1, n == 3, [n] * 2, str(n)

    for v in (3, 3, 300, -7, 0):
        w(f, np.array([v]))


@case
def ids_of_functions_and_classes(w: World) -> None:
    def one() -> int:
        return 1

    def other() -> int:
        return 2

    known = {id(one), id(World)}

    @w.compiled
    def f(x, function):
        here = {id(function)}
        return x * (id(function) in known), id(type(w)) in known, id(one) in here

    for function in (one, one, other, one, int, World, World):
        w(f, floats(3), function)

    @w.compiled
    def g(x):
        class Local:
            pass

        y = x * 2
        same = id(Local) == id(Local), id(Local) in known
        return y + 1, same

    for n in (3, 3, 4):
        w(g, floats(n))
