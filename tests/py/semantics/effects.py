"""Effects that fail, and warnings of functions that run as they are: line, count and order."""

from __future__ import annotations

import warnings

import numpy as np

from semantics.world import World, case, floats, ints


class Bag:
    """Something with attributes."""

    def __init__(self, **values):
        self.__dict__.update(values)


@case
def popping_until_it_is_empty(w: World) -> None:
    @w.compiled
    def f(items, x):
        x += 1
        k = items.pop()
        return x * k

    items = [1, 2, 3]
    for _ in range(5):
        w(f, items, floats(3))
    items.append(floats(3))
    w(f, items, floats(3))


@case
def popping_after_other_effects(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(items, x):
        y = x * 2
        log.append(y)
        items.pop()
        log.append("popped")
        x[0] = 50
        return y + 1

    items = [1, 2, 3]
    for _ in range(5):
        w(f, items, floats(3))


@case
def removing_what_is_not_there(w: World) -> None:
    @w.compiled
    def f(items, table, x):
        x += 1
        items.remove(len(x))
        del table[len(x)]
        return x

    for n in (3, 3, 4, 2, 3):
        w(f, [3, 4], {3: 1}, floats(n))


@case
def setting_an_attribute_that_is_refused(w: World) -> None:
    class Locked:
        locked = False

        def __setattr__(self, name, value):
            if type(self).locked:
                raise AttributeError(name)
            object.__setattr__(self, name, value)

    @w.compiled
    def f(m, x):
        x += 1
        m.y = x * 2
        x += 1
        return m.y

    m = w.watch(Locked())
    for locked in (False, False, True, False, True):
        Locked.locked = locked
        w(f, m, floats(3))


@case
def setting_an_attribute_of_a_slotted_class(w: World) -> None:
    class Slotted:
        __slots__ = ("a",)

    @w.compiled
    def f(m, x):
        x += 1
        m.b = x
        return x * 2

    for m in (Bag(), Bag(), Slotted(), Bag(), 5, None):
        w(f, m, floats(3))


@case
def writing_into_what_cannot_be_written(w: World) -> None:
    @w.compiled
    def f(target, x):
        x += 1
        target[0] = x[0]
        x += 1
        return x * 2

    frozen = floats(3)
    frozen.flags.writeable = False
    for target in ([1], [1], (1,), floats(3), frozen, [], floats(0), "a", {0: 1}, [1]):
        w(f, target, floats(3))


@case
def hooks_that_raise_in_the_middle(w: World) -> None:
    log = w.watch([])

    class Table(dict):
        def __setitem__(self, key, value):
            log.append(key)
            if value is None:
                raise ValueError(key)
            dict.__setitem__(self, key, value)

    @w.compiled
    def f(table, x, last):
        table["a"] = x + 1
        table["b"] = last
        table["c"] = x + 2
        return len(table)

    for last in (1, 1, None, 2, None):
        w(f, w.watch(Table()), floats(2), last)
        w(f, {}, floats(2), last)


@case
def a_stream_that_fails(w: World) -> None:
    class Stream:
        def __init__(self, room):
            self.room, self.text = room, []

        def write(self, text):
            if len(self.text) >= self.room:
                raise OSError("full")
            self.text.append(text)

    @w.compiled
    def f(stream, x):
        x += 1
        print("one", file=stream)
        x += 1
        print("two", len(x), file=stream)
        return x

    for room in (9, 9, 3, 0, 9):
        w(f, w.watch(Stream(room)), floats(2))


@case
def effects_that_see_earlier_effects(w: World) -> None:
    seen = w.watch([])
    m = Bag(x=floats(3), n=0)

    @w.compiled
    def f(x, look):
        m.n += 1
        look()
        x += 1
        m.x = x * 2
        look()
        m.x[0] = 9
        look()
        return m.x

    def look():
        seen.append((m.n, m.x.copy()))

    for n in (3, 3, 2, 3):
        w(f, floats(n), look)
    w(f, floats(3), list)


@case
def a_callback_that_writes_into_the_arrays(w: World) -> None:
    x = w.watch(floats(3))

    @w.compiled
    def f(x, change):
        a = x * 2
        change(x)
        b = x * 2
        x += 1
        change(x)
        return a, b, x + 0

    def scale(y):
        y *= 3

    for change in (scale, scale, list, np.sort, lambda y: y.fill(1), lambda y: y.sort()):
        w(f, x, change)


@case
def warnings_of_numpys_python_code(w: World) -> None:
    @w.compiled
    def f(x):
        y = x + 1
        return np.median(y), np.nanmean(y), np.average(x) if len(x) else 0

    for n in (3, 3, 0, 1, 0, 3):
        w(f, floats(n))


@case
def warnings_of_complex_casts(w: World) -> None:
    @w.compiled
    def f(x, z):
        y = x * 2
        a = z.astype(float)
        y[:] = z
        return a + y

    for z in (floats(3), floats(3), floats(3) + 1j, floats(3), floats(3) * 1j):
        w(f, floats(3), z)


@case
def deprecated_conversions(w: World) -> None:
    @w.compiled
    def f(x):
        return float(x), int(x), x.sum()

    for x in (floats(), floats(1), floats(1), floats(1, 1), np.array(2.0), floats(2)):
        w(f, x)


@case
def a_warning_between_effects(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x):
        log.append("a")
        y = 1 / x
        log.append("b")
        z = np.log(x)
        log.append("c")
        return y + z > 0

    for v in (1, 1, 0, -1, 1):
        w(f, np.full(2, float(v)))


@case
def a_warning_handler_that_looks(w: World) -> None:
    log = w.watch([])
    x = np.zeros(2)

    @w.compiled
    def f(x):
        x += 1
        y = 1 / (x - 1)
        x += 1
        return y * 0 == 0

    class Look:
        def write(self, text):
            log.append((text, x.copy()))

    with np.errstate(divide="log"):
        old = np.seterrcall(Look())
        try:
            for v in (5, 5, 0, 5, 0):
                x[:] = v
                w(f, x)
        finally:
            np.seterrcall(old)


@case
def the_error_state_is_read(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        before = np.geterr()
        s = y.sum() / np.float64(2)
        return y, before["divide"], np.geterr()["over"], np.geterrcall(), s

    for modes in ({}, {}, {"divide": "ignore"}, {"over": "raise"}, {}):
        with np.errstate(**modes):
            w(f, floats(3))


@case
def a_callback_under_the_error_state(w: World) -> None:
    log = w.watch([])

    def key(v):
        log.append(np.geterr()["divide"])
        return np.float64(1) / v

    @w.compiled
    def f(x):
        y = x + 1
        values = sorted(y.tolist(), key=key)
        return values, list(map(key, y)), y

    for v in ([1, 2], [1, 2], [-1, 2], [0, 5]):
        w(f, np.array(v, float))


@case
def errors_raised_by_warnings_filters(w: World) -> None:
    @w.compiled
    def f(x):
        x += 1
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                y = np.float64(1) / x[0]
            except RuntimeWarning:
                y = -5
        return x * y

    for v in (0, 0, -1, 1, -1):
        w(f, np.full(2, float(v)))


@case
def numbers_that_do_not_fit_the_dtype(w: World) -> None:
    @w.compiled
    def f(x, k):
        return x * k, x + k

    for dtype, k in (
        ("f4", 2.0),
        ("f4", 2.0),
        ("f4", 1e300),
        ("f4", 3.5e38),
        ("f4", np.inf),
        ("f2", 7e4),
        ("f2", 65519.0),
        ("f4", 1e-300),
        ("f4", 10**39),
        ("f8", 10**309),
        ("f4", 16777217),
        ("f4", 2.0),
    ):
        w(f, np.ones(2, dtype), k)


@case
def two_equal_results_in_another_order(w: World) -> None:
    @w.compiled
    def f(x):
        a = x.T * 2
        b = x.T * 2
        return a, b, x.T * 2, a.T

    for x in (
        floats(2, 3),
        floats(2, 3),
        floats(3, 2).T,
        floats(4, 5),
        floats(1, 3),
        floats(2, 3, 4),
    ):
        a, b, c, _ = w(f, x)
        a += 1
        b *= 3
        w.note(a, b, c)


@case
def a_result_that_is_also_a_view_and_a_base(w: World) -> None:
    @w.compiled
    def f(x):
        y = x.T * 2
        return y.T, y, y[0], y.T[0], y.base is None

    for x in (floats(2, 3), floats(2, 3), floats(3, 2).T, floats(4, 5), floats(1, 1)):
        a, b, c, d, _ = w(f, x)
        a += 1
        w.note(a, b, c, d)


@case
def effects_on_one_array_through_two_results(w: World) -> None:
    kept = w.watch([])

    @w.compiled
    def f(x):
        y = x + 1
        kept.append(y)
        kept.append(y[1:])
        y *= 2
        kept.append(y)
        return y

    for n in (3, 3, 2, 0):
        z = w(f, floats(n))
        z -= 5
        w.note(kept)


@case
def a_scalar_kept_and_returned(w: World) -> None:
    m = w.watch(Bag(best=None))

    @w.compiled
    def f(x):
        s = x.sum()
        m.best = s
        t = s + 1
        return s, t, [s, t], m.best is s, float(s), s

    for x in (floats(3), floats(3), ints(3), floats(5, dtype="f4"), floats(0)):
        w(f, x)


@case
def arguments_rebound_in_kwargs(w: World) -> None:
    @w.compiled
    def f(x, **options):
        options["k"] = options.get("k", 1) + 1
        y = x * options.pop("k")
        options.setdefault("log", []).append(y)
        return y, options

    log = w.watch([])
    mine = {"k": 2, "log": log}
    for n in (2, 2, 3):
        w(f, floats(n), **mine)
        w(f, floats(n))
        w.note(mine)
