"""What a path took for granted changes between two calls: classes, modules, defaults, builtins."""

from __future__ import annotations

import builtins
import collections
import contextlib
import io
import weakref

import numpy as np

from semantics.world import World, case, floats

G = 1


def bump():
    global G
    G += 1


@case
def a_global_changed_by_another_function_meanwhile(w: World) -> None:
    global G
    G = 1

    @w.compiled
    def f(x):
        y = x * G
        bump()
        return y + G

    for _ in range(4):
        w(f, floats(3))
        w.note(G)


@case
def defaults_replaced(w: World) -> None:
    def f(x, y=2, *, z=np.ones(2)):
        return x * y + z

    g = w.compiled(f)
    w(g, floats(2))
    w(g, floats(2))
    f.__defaults__ = (5,)
    w(g, floats(2))
    w(g, floats(2))
    f.__kwdefaults__ = {"z": 7}
    w(g, floats(2))
    f.__kwdefaults__["z"] = 8
    w(g, floats(2))
    f.__defaults__ = None
    w(g, floats(2))
    f.__code__ = (lambda x, y=1: x - y).__code__
    w(g, floats(2), 1)


@case
def class_attribute_shadowed_then_deleted(w: World) -> None:
    class M:
        scale = 2.0

    m = M()

    @w.compiled
    def f(m, x):
        return x * m.scale

    w(f, m, floats(2))
    w(f, m, floats(2))
    m.scale = 3.0
    w(f, m, floats(2))
    w(f, m, floats(2))
    del m.scale
    w(f, m, floats(2))
    M.scale = 5
    w(f, m, floats(2))
    M.scale = property(lambda self: 9.0)
    w(f, m, floats(2))
    m.__dict__["scale"] = 1.0
    w(f, m, floats(2))


@case
def property_with_side_effect(w: World) -> None:
    class M:
        def __init__(self):
            self.n = 0
            self.log = []

        @property
        def next(self):
            self.n += 1
            self.log.append(self.n)
            return self.n

    m = w.watch(M())

    @w.compiled
    def f(m, x):
        return x * m.next - m.next

    for _ in range(4):
        w(f, m, floats(3))


@case
def getattr_fallback_and_setattr(w: World) -> None:
    class M:
        def __init__(self):
            object.__setattr__(self, "d", {"a": 1.0})

        def __getattr__(self, name):
            try:
                return self.d[name]
            except KeyError:
                raise AttributeError(name) from None

        def __setattr__(self, name, v):
            self.d[name] = v

    m = w.watch(M())

    @w.compiled
    def f(m, x):
        m.b = m.a + 1
        return x * m.a + m.b, hasattr(m, "c"), getattr(m, "c", 4)

    for _ in range(3):
        w(f, m, floats(2))
    m.c = 5
    w(f, m, floats(2))
    m.a = 2
    w(f, m, floats(2))


@case
def a_class_that_gains_methods(w: World) -> None:
    class M:
        pass

    m = M()

    @w.compiled
    def f(m, x):
        try:
            n = len(m)
        except TypeError:
            n = -1
        return x * n, bool(m), m == 1, isinstance(m, collections.abc.Sized)

    w(f, m, floats(2))
    w(f, m, floats(2))
    M.__len__ = lambda self: 4
    w(f, m, floats(2))
    w(f, m, floats(2))
    M.__eq__ = lambda self, o: "eq"
    w(f, m, floats(2))
    M.__bool__ = lambda self: False
    w(f, m, floats(2))
    del M.__len__
    w(f, m, floats(2))


@case
def an_object_changes_its_class(w: World) -> None:
    class A:
        def go(self, x):
            return x + 1

    class B:
        def go(self, x):
            return x + 2

    @w.compiled
    def f(m, x):
        return m.go(x), type(m) is A

    m = A()
    w(f, m, floats(2))
    w(f, m, floats(2))
    m.__class__ = B
    w(f, m, floats(2))
    w(f, m, floats(2))
    m.go = lambda x: x
    w(f, m, floats(2))
    B.go = None
    w(f, m, floats(2))
    del m.go
    w(f, m, floats(2))


@case
def metaclasses(w: World) -> None:
    class Meta(type):
        def __instancecheck__(cls, o):
            return "yes" in vars(o) if hasattr(o, "__dict__") else False

        def __call__(cls, *a):
            r = super().__call__(*a)
            r.made = True
            return r

        def __getattr__(cls, name):
            return name + "!"

        @property
        def size(cls):
            return 3

    class A(metaclass=Meta):
        def __init__(self, v=1):
            self.v = v

    @w.compiled
    def f(x, o):
        return isinstance(o, A), A.size * x, A.foo, A(2).v, A().made

    o = A()
    w(f, floats(2), o)
    w(f, floats(2), o)
    o.yes = 1
    w(f, floats(2), o)
    w(f, floats(2), 3)


@case
def class_attributes_set_and_read(w: World) -> None:
    class C:
        n = 0
        t = np.zeros(2)

    c = C()

    @w.compiled
    def f(c, x):
        C.n += 1
        C.t = C.t + x
        c.t[0] += 1
        return c.n, x * C.n

    for _ in range(4):
        w(f, c, floats(2))
        w.note(C.n, C.t)


@case
def new_returns_something_else(w: World) -> None:
    class Odd:
        cache = {}

        def __new__(cls, k):
            if k in cls.cache:
                return cls.cache[k]
            o = super().__new__(cls)
            cls.cache[k] = o
            return o

        def __init__(self, k):
            self.n = getattr(self, "n", 0) + 1

    @w.compiled
    def f(x, k):
        o = Odd(k)
        return x * o.n, o is Odd(k)

    for k in (1, 1, 2, 1, 2):
        w(f, floats(2), k)


@case
def instance_made_inside_escapes(w: World) -> None:
    class Rec:
        count = 0

        def __init__(self, x):
            self.x = x
            Rec.count += 1
            self.me = self
            self.items = [x]

    keep = w.watch([])

    @w.compiled
    def f(x):
        r = Rec(x + 1)
        r.x += 1
        keep.append(r)
        r.items.append(r)
        return r, r.x, r.items[0] is r.x

    for n in (2, 2, 3):
        w(f, floats(n))
        w.note(Rec.count)


@case
def numpy_monkey_patched(w: World) -> None:
    @w.compiled
    def f(x):
        return np.sum(x), np.add(x, 1), np.linalg.norm(x)

    w(f, floats(3))
    w(f, floats(3))
    old = np.sum, np.add, np.linalg.norm
    try:
        np.sum = lambda x: "patched"
        w(f, floats(3))
        w(f, floats(3))
        np.add = np.subtract
        w(f, floats(3))
        np.linalg.norm = len
        w(f, floats(3))
    finally:
        np.sum, np.add, np.linalg.norm = old
    w(f, floats(3))


@case
def printoptions_change(w: World) -> None:
    @w.compiled
    def f(x):
        return str(x), repr(x[0]), f"{x}", "%s" % x[0], f"{x[0]:.3}"

    x = floats(3) / 3
    w(f, x)
    w(f, x)
    with np.printoptions(precision=2):
        w(f, x)
    with np.printoptions(legacy="1.13"):
        w(f, x)
    w(f, x)


@case
def stdout_replaced(w: World) -> None:
    @w.compiled
    def f(x, sep):
        print("sum", x.sum(), x.shape, sep=sep, end="!\n")
        print(x)
        print(f"{x.mean():.2f} {x[0]!r} {len(x):03d}")
        return x

    for sep in (" ", ",", " "):
        w(f, floats(2), sep)
    out = io.StringIO()

    def g(x):
        with contextlib.redirect_stdout(out):
            return f(x, "-")

    w(g, floats(2))
    w.note(out.getvalue())


@case
def global_deleted_and_builtin_shadowed(w: World) -> None:
    ns = {"np": np, "K": 3}
    exec("def f(x):\n    return x * K + len(x) + max(1, 2)\n", ns)
    f = w.compiled(ns["f"])
    w(f, floats(2))
    w(f, floats(2))
    del ns["K"]
    w(f, floats(2))
    ns["K"] = floats(2)
    w(f, floats(2))
    ns["len"] = lambda x: 100
    w(f, floats(2))
    ns["max"] = min
    w(f, floats(2))
    del ns["len"]
    del ns["max"]
    w(f, floats(2))
    builtins.K = 7
    del ns["K"]
    try:
        w(f, floats(2))
    finally:
        del builtins.K
    w(f, floats(2))


@case
def dtype_with_metadata(w: World) -> None:
    d = np.dtype("f8", metadata={"unit": "m"})

    @w.compiled
    def f(x):
        return x + 1, x.dtype, np.zeros_like(x), x[1:], x.dtype.metadata

    for dt in ("f8", d, "f8", np.dtype("f8", metadata={"unit": "s"})):
        w(f, np.ones(3, dt))


@case
def slots_and_inheritance(w: World) -> None:
    class A:
        __slots__ = ("n", "x")

        def __init__(self, x):
            self.x = x
            self.n = 0

        def go(self, y):
            self.n += 1
            return self.x + y

    class B(A):
        def go(self, y):
            r = super().go(y) * 2
            self.last = r
            return r

    @w.compiled
    def f(o, y):
        return o.go(y), o.n

    for o in (A(floats(2)), B(floats(2)), A(floats(2))):
        w.watch(o)
        for _ in range(2):
            w(f, o, floats(2))
    del o.x
    w(f, o, floats(2))


@case
def weak_references(w: World) -> None:
    class T:
        pass

    t = T()
    r = weakref.ref(t)

    @w.compiled
    def f(x, r):
        return x + 1, r() is None

    w(f, floats(2), r)
    w(f, floats(2), r)
    del t
    w(f, floats(2), r)


@case
def nonlocal_counter_returned_closure(w: World) -> None:
    def make():
        n = 0
        total = np.zeros(2)

        @w.compiled
        def f(x):
            nonlocal n, total
            n += 1
            total = total + x * n
            return total, n

        return f, lambda: (n, total)

    f, get = make()
    for _ in range(4):
        w(f, floats(2))
        w.note(get())
