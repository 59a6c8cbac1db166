"""functools.lru_cache: on functions and methods, by all that tells calls apart."""

# ruff: noqa: B019  (methods that keep their objects alive are what is looked at)

from __future__ import annotations

import functools

import numpy as np

from semantics.world import World, case, floats


@case
def told_by_each_kind_of_value(w: World) -> None:
    made = w.watch([])

    @functools.cache
    def table(*key, **named):
        made.append((key, sorted(named)))
        return np.arange(len(made) + 2.0)

    @w.compiled
    def f(x, k):
        y = x + table(x.shape)[0] + table(x.dtype)[1] + table(None)[1] + table()[0]
        y = y + table(k, len(x))[1] + table(name=k)[0] + table(1, b=x.shape, a="text")[2]
        return y + table(float, True)[0] + table(x.dtype.type)[0] + table((k, (1, "a")))[1]

    for k in (1, 1, 1.0, True, "text", b"b", 2, 2):
        for n in (3, 3, 4):
            w(f, floats(n), k)
            w.note(table.cache_info())


@case
def the_first_call_is_captured(w: World) -> None:
    @functools.lru_cache(maxsize=2)
    def basis(n):
        y = np.zeros(n)
        y[0] = 2.0
        for i in range(1, n):
            y[i] = y[i - 1] / 2
        return y

    @functools.cache
    def nested(n):
        return n if n < 2 else nested(n - 1) + nested(n - 2)

    @w.compiled
    def f(x):
        return x * basis(len(x)) + nested(6)

    for _ in range(4):
        w(f, floats(3))
    w.replayed(f)
    w.note(basis.cache_info(), nested.cache_info())
    for n in (4, 5, 3, 3, 4, 6, 5):
        w(f, floats(n))
        w.note(basis.cache_info())
    basis.cache_clear()
    for n in (3, 3):
        w(f, floats(n))
        w.note(basis.cache_info())


@case
def told_by_types_as_well(w: World) -> None:
    @functools.lru_cache(typed=True)
    def table(k, scale=1):
        return np.full(2, k * scale, type(k))

    @w.compiled
    def f(x, k):
        return x + table(k) + table(k, scale=k)

    for k in (1, 1, 1.0, True, 2, 1.0):
        w(f, floats(2), k)
        w.note(table.cache_info())


@case
def methods_that_cache(w: World) -> None:
    class Model:
        made = 0

        def __init__(self, scale):
            self.scale = scale
            self.calls = 0

        @functools.lru_cache
        def window(self, n, *, shift=0.0):
            return np.hanning(n) * self.scale + shift

        @functools.cache
        def constant(self):
            return self.scale

        @classmethod
        @functools.lru_cache
        def of_class(cls, n):
            return n + 1.0

        @staticmethod
        @functools.lru_cache
        def plain(n):
            return n * 2.0

        def __call__(self, x):
            self.calls += 1
            y = x * self.window(len(x)) + self.window(len(x), shift=0.5)
            return y + self.constant() + self.of_class(2) + Model.plain(self.calls > 0)

    @w.compiled
    def f(model, x):
        return model(x)

    one, other = Model(2.0), Model(3.0)
    for _ in range(4):
        w.note(f(one, floats(4)), one.calls)
    w.replayed(f)
    for model, n in ((other, 4), (other, 4), (one, 4), (one, 5), (one, 5)):
        w.note(f(model, floats(n)), model.calls)
    w.note(Model.window.cache_info(), Model.constant.cache_info(), Model.plain.cache_info())
    Model.window = lambda self, n, shift=0.0: np.ones(n)
    w.note(f(one, floats(4)))


@case
def objects_that_are_equal(w: World) -> None:
    class Key:
        def __init__(self, name):
            self.name = name

        def __eq__(self, other):
            return self.name == other.name

        def __hash__(self):
            return hash(self.name)

    @functools.lru_cache
    def table(key):
        return np.arange(3.0) + len(key.name)

    @w.compiled
    def f(x, key):
        return x + table(key)

    for name in ("a", "a", "ab", "a"):
        w.note(f(floats(3), Key(name)))
        w.note(table.cache_info())


@case
def what_cannot_be_a_key(w: World) -> None:
    @functools.lru_cache
    def table(key):
        return 1.0

    @w.compiled
    def f(x, key):
        return x + table(key)

    nan = float("nan")
    for key in ([1], [1], nan, nan, float("nan"), (1, [2]), np.float64("nan"), np.float64(1)):
        w(f, floats(3), key)
        w.note(table.cache_info())


@case
def bodies_with_effects(w: World) -> None:
    seen, counts = w.watch([]), w.watch({"made": 0})

    @functools.lru_cache
    def table(n):
        counts["made"] += 1
        seen.append(n)
        print("made", n)
        return np.ones(n)

    @w.compiled
    def f(x):
        before = counts["made"]
        y = x + table(len(x))
        return y + (counts["made"] - before), len(seen)

    for n in (3, 3, 3, 4, 4, 3):
        w(f, floats(n))


@case
def what_was_cached_is_written(w: World) -> None:
    @functools.lru_cache
    def state(n):
        return np.zeros(n)

    @w.compiled
    def f(x):
        total = state(len(x))
        total += x
        return state(len(x)) * 1

    for n in (3, 3, 3, 4, 4, 3):
        w(f, floats(n))
        w.note(state(3), state(4))
