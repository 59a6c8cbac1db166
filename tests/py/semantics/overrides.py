"""Objects that answer attribute access, comparison, truth, iteration and hashing themselves."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints


@case
def getattr_makes_values_up(w: World) -> None:
    log = w.watch([])

    class Lazy:
        def __getattr__(self, name):
            log.append(name)
            if name == "gone":
                raise AttributeError(name)
            return len(log)

    @w.compiled
    def f(m, x):
        return x * m.k + m.k, getattr(m, "gone", 5), hasattr(m, "gone")

    m = Lazy()
    w(f, m, floats(3))
    w(f, m, floats(3))
    m.k = 2
    w(f, m, floats(3))
    m.gone = 1
    w(f, m, floats(3))
    del m.k
    w(f, m, floats(3))


@case
def getattribute_sees_every_access(w: World) -> None:
    log = w.watch([])

    class Spy:
        k = 2

        def __init__(self):
            self.x = floats(3)

        def __getattribute__(self, name):
            log.append(name)
            return object.__getattribute__(self, name)

        def go(self, y):
            return self.x * self.k + y

    @w.compiled
    def f(m, y):
        return m.go(y), m.x

    m = Spy()
    for n in (3, 3, 1, 2):
        w(f, m, floats(n))


@case
def setattr_changes_what_is_stored(w: World) -> None:
    class Doubler:
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value * 2)

    @w.compiled
    def f(m, x):
        m.x = x
        m.x += 1
        return m.x

    m = w.watch(Doubler())
    for n in (3, 3, 4):
        w(f, m, floats(n))
    m2 = w.watch(type("Plain", (), {})())
    w(f, m2, floats(3))


@case
def eq_returns_something_else(w: World) -> None:
    log = w.watch([])

    class Same:
        def __eq__(self, other):
            log.append("eq")
            return "equal"

        __hash__ = None

    @w.compiled
    def f(m, x):
        return m == 1, m != 1, (x + 1 if m == 2 else x), m in [1, m], [1, 2].count(m)

    for m in (1, 1, Same(), 2, Same(), 1):
        w(f, m, floats(3))


@case
def truth_with_side_effects(w: World) -> None:
    log = w.watch([])

    class Flag:
        def __init__(self, answers):
            self.answers = list(answers)

        def __bool__(self):
            log.append("asked")
            return self.answers.pop(0)

    @w.compiled
    def f(flag, x):
        if flag:
            x = x + 1
        y = x * 2 if not flag else x * 3
        return y, flag and 1

    for answers in ((1, 1, 1), (1, 1, 1), (0, 1, 0), (1, 0, 1), (True, True, True)):
        w(f, Flag(map(bool, answers)), floats(3))
    w(f, Flag([True]), floats(3))
    w(f, Flag([2]), floats(3))


@case
def len_decides_truth(w: World) -> None:
    class Sized:
        def __init__(self, n):
            self.n = n

        def __len__(self):
            self.n -= 1
            return self.n

    @w.compiled
    def f(s, x):
        return x + 1 if s else x, len(s)

    for n in (5, 5, 1, 3, 0):
        w(f, Sized(n), floats(3))
    w(f, [], floats(3))
    w(f, "a", floats(3))


@case
def iteration_with_side_effects(w: World) -> None:
    log = w.watch([])

    class Batches:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            log.append("iter")
            for i in range(self.n):
                log.append(i)
                yield floats(3) + i
            log.append("end")

    @w.compiled
    def f(batches):
        total = 0
        for b in batches:
            total = total + b
            log.append("used")
        return total

    for n in (2, 2, 3, 0, 2):
        w(f, Batches(n))
    w(f, [floats(3)])


@case
def an_iterator_class(w: World) -> None:
    class Count:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return self

        def __next__(self):
            if self.n == 0:
                raise StopIteration
            self.n -= 1
            return self.n

    @w.compiled
    def f(c, x):
        return [x * i for i in c], list(c)

    c = Count(2)
    for each in (c, c, Count(3), Count(0), range(2)):
        w(f, each, floats(2))


@case
def sequence_protocol_without_iter(w: World) -> None:
    log = w.watch([])

    class Old:
        def __getitem__(self, i):
            log.append(i)
            if i >= 3:
                raise IndexError
            return i * 2

    @w.compiled
    def f(s, x):
        for v in s:
            x = x + v
        return x, 4 in s

    for s in (Old(), Old(), [1, 4], Old()):
        w(f, s, floats(2))


@case
def hash_and_equality_of_keys(w: World) -> None:
    log = w.watch([])

    class Key:
        def __init__(self, v):
            self.v = v

        def __hash__(self):
            log.append("hash")
            return 1

        def __eq__(self, other):
            log.append("eq")
            return isinstance(other, Key) and self.v == other.v

    @w.compiled
    def f(d, k, x):
        d[k] = d.get(k, 0) + 1
        return x * d[k]

    d = {}
    for v in (1, 1, 2, 1):
        w(f, d, Key(v), floats(2))
    w(f, d, "s", floats(2))


@case
def index_and_float_conversions(w: World) -> None:
    log = w.watch([])

    class Number:
        def __index__(self):
            log.append("index")
            return 1

        def __float__(self):
            log.append("float")
            return 2.5

    @w.compiled
    def f(x, n):
        return x[n], x[n:], x * float(n), x.reshape(n, -1) if x.size else x

    for n in (1, 1, Number(), 1, Number(), 2.0):
        w(f, floats(3), n)


@case
def comparisons_that_return_arrays(w: World) -> None:
    class Column:
        def __init__(self, v):
            self.v = v

        def __gt__(self, other):
            return self.v > other

        def __and__(self, other):
            return "and"

    @w.compiled
    def f(c, k):
        mask = c > k
        return mask, mask & (c > 0) if hasattr(mask, "dtype") else mask

    for c in (Column(floats(4)), Column(floats(4)), Column(3), floats(4), 5, Column(ints(2, 2))):
        w(f, c, 0.25)


@case
def str_and_repr_overrides(w: World) -> None:
    log = w.watch([])

    class Named:
        n = 0

        def __str__(self):
            log.append("str")
            Named.n += 1
            return f"named {Named.n}"

        def __format__(self, spec):
            log.append(("format", spec))
            return "formatted"

        def __repr__(self):
            return "repr"

    @w.compiled
    def f(m, x):
        text = f"{m} {m:>3} {m!r} {m!s}"
        return text, str(m), x + len(text)

    for m in (Named(), Named(), 5.0, Named()):
        w(f, m, floats(2))
    w(f, "s", floats(2))


@case
def attributes_that_vanish_while_read(w: World) -> None:
    class Once:
        def __init__(self):
            self.v = 2

        @property
        def k(self):
            v = self.v
            del self.v
            return v

    @w.compiled
    def f(m, x):
        y = x * m.k
        return y, hasattr(m, "v")

    for _ in range(2):
        m = Once()
        w(f, m, floats(2))
        w(f, m, floats(2))


@case
def isinstance_that_lies(w: World) -> None:
    class Liar:
        @property
        def __class__(self):
            return np.ndarray

    class Meta(type):
        answer = True

        def __instancecheck__(cls, obj):
            return cls.answer

    class Any(metaclass=Meta):
        pass

    @w.compiled
    def f(m, x):
        return isinstance(m, np.ndarray), isinstance(m, Any), x + 1 if isinstance(m, Any) else x

    for m in (floats(2), Liar(), 3):
        w(f, m, floats(2))
        w(f, m, floats(2))
    Meta.answer = False
    w(f, 3, floats(2))
    Meta.answer = 1
    w(f, 3, floats(2))


@case
def del_runs_when_the_program_drops_it(w: World) -> None:
    log = w.watch([])

    class Dying:
        def __init__(self, x):
            self.x = x

        def __del__(self):
            log.append("died")

    @w.compiled
    def f(x):
        d = Dying(x + 1)
        y = d.x * 2
        del d
        log.append("after")
        return y

    for n in (2, 2, 3):
        w(f, floats(n))


@case
def an_argument_dies_with_the_call(w: World) -> None:
    log = w.watch([])

    class Dying:
        def __init__(self, k):
            self.k = k

        def __del__(self):
            log.append(self.k)

    @w.compiled
    def f(d, x):
        return x * d.k

    def call(k):
        w.note(f(Dying(k), floats(2)), list(log))

    for k in (1, 1, 2, 3, 1):
        call(k)


@case
def getitem_of_a_class(w: World) -> None:
    log = w.watch([])

    class Table:
        def __class_getitem__(cls, key):
            return key * 2

        def __getitem__(self, key):
            log.append(key)
            return floats(3) if isinstance(key, int) else key

        def __setitem__(self, key, value):
            log.append((key, value))

        def __delitem__(self, key):
            log.append(("del", key))

    @w.compiled
    def f(t, k):
        t[k] = t[0] + 1
        t[k, 1:] += (2,)
        del t[k]
        return Table[k], t[...], t[1:2, k]

    for k in (1, 1, 2, 3):
        w(f, Table(), k)


@case
def contains_and_reversed(w: World) -> None:
    class Box:
        def __init__(self, *items):
            self.items = items

        def __contains__(self, x):
            return x in self.items

        def __reversed__(self):
            return [i * 2 for i in self.items]

    @w.compiled
    def f(b, x):
        return x + 1 if 2 in b else x, reversed(b) if isinstance(b, Box) else b[::-1]

    for b in (Box(1, 2), Box(1, 2), Box(3), [1, 2], (3,), Box(2)):
        w(f, b, floats(2))


@case
def special_methods_that_answer_wrongly(w: World) -> None:
    class Odd:
        answer = 1

        def __len__(self):
            return self.answer

        def __contains__(self, x):
            return self.answer

        def __index__(self):
            return self.answer

        def __hash__(self):
            return self.answer

        def __str__(self):
            return self.answer

    @w.compiled
    def f(o, x, how):
        if how == "len":
            return x + len(o)
        if how == "in":
            return 3 in o, x
        if how == "index":
            return x[o]
        if how == "hash":
            return {o: 1}[o], x + 1
        if how == "str":
            return str(o), f"{o}", x
        return x if o else -x

    for how in ("len", "in", "index", "hash", "str", "truth"):
        for answer in (1, 1, 2, -1, 0, True, 2.5, "a", None, 10**30, 1):
            Odd.answer = answer
            w(f, Odd(), floats(3), how)


@case
def init_that_returns_something(w: World) -> None:
    class Model:
        result = None

        def __init__(self, x):
            self.x = x
            return self.result

    @w.compiled
    def f(x):
        m = Model(x + 1)
        return m.x * 2

    for result in (None, None, 5, None, floats(2)):
        Model.result = result
        w(f, floats(3))


@case
def operators_that_are_not_implemented_for_some(w: World) -> None:
    class Amount:
        def __init__(self, v):
            self.v = v

        def __add__(self, o):
            return Amount(self.v + o) if o is not None else NotImplemented

        def __radd__(self, o):
            return NotImplemented if isinstance(o, str) else ("radd", o)

        def __eq__(self, o):
            return NotImplemented if o is None else self.v == o

        def __lt__(self, o):
            return NotImplemented

        __hash__ = None

    @w.compiled
    def f(a, b):
        same = a == b
        return same, a != b, a + b

    a = Amount(floats(2))
    for x, y in ((a, 1), (a, 1), (a, None), (a, "s"), ("s", a), (1, a), (a, floats(2)), (a, 1)):
        w(f, x, y)


@case
def reflected_operators_change_sides(w: World) -> None:
    class Base:
        def __sub__(self, o):
            return "base sub"

        def __rsub__(self, o):
            return "base rsub"

    class Derived(Base):
        def __rsub__(self, o):
            return "derived rsub"

    @w.compiled
    def f(a, b, x):
        return a - b, b - a, x * 2

    for a, b in ((Base(), Base()), (Base(), Base()), (Base(), Derived()), (Derived(), Base())):
        w(f, a, b, floats(2))
    Base.__sub__ = lambda self, o: NotImplemented
    w(f, Base(), Derived(), floats(2))
    w(f, Base(), Base(), floats(2))


@case
def next_and_iter_of_a_class_change(w: World) -> None:
    class Steps:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return iter(range(self.n))

    @w.compiled
    def f(s, x):
        for i in s:
            x = x + i
        return x

    w(f, Steps(2), floats(2))
    w(f, Steps(2), floats(2))
    w(f, Steps(3), floats(2))
    Steps.__iter__ = lambda self: iter([10] * self.n)
    w(f, Steps(2), floats(2))
    Steps.__iter__ = lambda self: 5
    w(f, Steps(2), floats(2))
    Steps.__iter__ = None
    w(f, Steps(2), floats(2))


@case
def enter_and_exit_change(w: World) -> None:
    class Manager:
        def __enter__(self):
            return 2

        def __exit__(self, *error):
            return False

    @w.compiled
    def f(m, x, y):
        with m as k:
            x = x * k + y
        return x

    for n in (3, 3, 2):
        w(f, Manager(), floats(3), floats(n))
    Manager.__exit__ = lambda self, *error: True
    w(f, Manager(), floats(3), floats(2))
    w(f, Manager(), floats(3), floats(3))
    Manager.__enter__ = lambda self: 5
    w(f, Manager(), floats(3), floats(3))
    del Manager.__exit__
    w(f, Manager(), floats(3), floats(3))
