"""Classes: attributes, properties, descriptors, inheritance, dataclasses, slots."""

from __future__ import annotations

import abc
import dataclasses
import enum
import functools

import numpy as np

from semantics.world import World, case, floats, ints


@case
def an_instance_attribute_shadows_the_class(w: World) -> None:
    class Model:
        scale = 2.0

    @w.compiled
    def f(m, x):
        return x * m.scale

    m = Model()
    w(f, m, floats(3))
    w(f, m, floats(3))
    m.scale = 3.0
    w(f, m, floats(3))
    del m.scale
    w(f, m, floats(3))
    Model.scale = 5
    w(f, m, floats(3))
    w(f, Model(), floats(3))
    del Model.scale
    w(f, m, floats(3))


@case
def a_class_attribute_is_counted_up(w: World) -> None:
    class Model:
        made = 0

        def __init__(self, x):
            Model.made += 1
            self.x = x
            self.made += 10

    @w.compiled
    def f(x):
        m = Model(x * 2)
        return m.x + Model.made, m.made

    for n in (3, 3, 3, 4):
        w(f, floats(n))
        w.note(Model.made)


@case
def a_property_with_side_effects(w: World) -> None:
    log = w.watch([])

    class Model:
        def __init__(self):
            self._v = floats(3)

        @property
        def value(self):
            log.append("get")
            return self._v

        @value.setter
        def value(self, new):
            log.append(("set", new.shape))
            self._v = new

    @w.compiled
    def f(m, x):
        m.value = m.value + x
        return m.value * 2

    m = w.watch(Model())
    for n in (3, 3, 3, 1):
        w(f, m, floats(n))
    w(f, m, floats(2))
    Model.value = property(lambda self: self._v * 0)
    w(f, m, floats(3))


@case
def a_cached_property(w: World) -> None:
    log = w.watch([])

    class Model:
        def __init__(self, x):
            self.x = x

        @functools.cached_property
        def norm(self):
            log.append("computed")
            return self.x.sum()

    @w.compiled
    def f(m):
        return m.x / m.norm

    m = Model(floats(4) + 2)
    for each in (m, m, Model(floats(4) + 1), m, Model(floats(2) + 1)):
        w(f, each)
    m.x = floats(4)
    w(f, m)
    del m.norm
    w(f, m)
    w(f, m)


@case
def a_data_descriptor(w: World) -> None:
    log = w.watch([])

    class Checked:
        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, obj, owner=None):
            log.append(("get", self.name))
            return obj.__dict__[self.name]

        def __set__(self, obj, value):
            log.append(("set", self.name))
            if value is None:
                raise ValueError(self.name)
            obj.__dict__[self.name] = value

    class Model:
        w = Checked()

    @w.compiled
    def f(m, x):
        m.w = x if len(x) else None
        return m.w * 2

    m = Model()
    for n in (3, 3, 0, 5):
        w(f, m, floats(n))
    m.__dict__["w"] = 4
    w(f, m, floats(3))


@case
def a_non_data_descriptor_is_shadowed(w: World) -> None:
    class Seven:
        def __get__(self, obj, owner=None):
            return 7

    class Model:
        k = Seven()

    @w.compiled
    def f(m, x):
        return x * m.k

    m = Model()
    w(f, m, floats(3))
    w(f, m, floats(3))
    m.__dict__["k"] = 2
    w(f, m, floats(3))
    Seven.__set__ = lambda self, obj, value: None
    w(f, m, floats(3))
    w(f, Model(), floats(3))


@case
def inheritance_and_super(w: World) -> None:
    class Base:
        def __init__(self, k):
            self.k = k

        def forward(self, x):
            return x * self.k

    class Child(Base):
        def __init__(self, k, b):
            super().__init__(k)
            self.b = b

        def forward(self, x):
            return super().forward(x) + self.b

    class Grandchild(Child):
        def forward(self, x):
            return -super().forward(x)

    @w.compiled
    def f(m, x):
        return m.forward(x)

    for m in (Base(2), Base(2), Child(2, 1), Grandchild(2, 1), Child(3, floats(3)), Base(2)):
        w(f, m, floats(3))
    Base.forward = lambda self, x: x
    w(f, Child(2, 1), floats(3))
    w(f, Base(2), floats(3))


@case
def the_class_of_an_object_is_changed(w: World) -> None:
    class A:
        def go(self, x):
            return x + 1

    class B:
        def go(self, x):
            return x - 1

    @w.compiled
    def f(m, x):
        return m.go(x), isinstance(m, A), type(m) is A

    m = A()
    for kind in (A, A, B, A, B):
        m.__class__ = kind
        w(f, m, floats(3))


@case
def a_method_is_set_on_the_instance(w: World) -> None:
    class A:
        def go(self, x):
            return x + 1

    @w.compiled
    def f(m, x):
        return m.go(x)

    m = A()
    w(f, m, floats(3))
    w(f, m, floats(3))
    m.go = lambda x: x * 2
    w(f, m, floats(3))
    m.go = m.go
    w(f, m, floats(3))
    del m.go
    w(f, m, floats(3))
    A.go = staticmethod(lambda x: x * 3)
    w(f, m, floats(3))
    A.go = classmethod(lambda cls, x: (cls.__name__, x))
    w(f, m, floats(3))


@case
def dataclasses_and_replace(w: World) -> None:
    @dataclasses.dataclass
    class State:
        x: object
        n: int = 0
        log: list = dataclasses.field(default_factory=list)

        def __post_init__(self):
            self.twice = self.x * 2

    @w.compiled
    def f(s):
        t = dataclasses.replace(s, n=s.n + 1)
        t.log.append(t.n)
        return State(t.x + s.n), t, s == s if isinstance(s.x, int) else None

    for s in (State(floats(2)), State(floats(2)), State(floats(3), 5), State(4), State(floats(2))):
        w(f, s)
        w(f, s)


@case
def frozen_dataclasses(w: World) -> None:
    @dataclasses.dataclass(frozen=True)
    class Config:
        k: float
        b: object = 1

    @w.compiled
    def f(c, x, write):
        y = x * c.k + c.b
        if write:
            c.k = 5
        return y

    for c, write in (
        (Config(2.0), False),
        (Config(2.0), False),
        (Config(3.0), False),
        (Config(2.0), True),
        (Config(2, floats(3)), False),
    ):
        w(f, c, floats(3), write)


@case
def slots(w: World) -> None:
    class Model:
        __slots__ = ("a", "b")

    @w.compiled
    def f(m, x):
        m.a = x * m.b
        return m.a + 1

    m = w.watch(Model())
    w(f, m, floats(3))
    m.b = 2
    for n in (3, 3, 4):
        w(f, m, floats(n))
    m.b = floats(4)
    w(f, m, floats(4))
    del m.b
    w(f, m, floats(4))


@case
def calling_instances(w: World) -> None:
    class Layer:
        def __init__(self, k):
            self.k, self.calls = k, 0

        def __call__(self, x):
            self.calls += 1
            return x * self.k

    class Net:
        def __init__(self, *layers):
            self.layers = list(layers)

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    @w.compiled
    def f(net, x):
        return net(x)

    net = w.watch(Net(Layer(2), Layer(floats(3))))
    for _ in range(3):
        w(f, net, floats(3))
    net.layers.append(net.layers[0])
    w(f, net, floats(3))
    net.layers[0].k = 4
    w(f, net, floats(3))
    w(f, Layer(2), floats(3))
    w(f, abs, floats(3))


@case
def operators_of_a_class(w: World) -> None:
    log = w.watch([])

    class Vec:
        def __init__(self, v):
            self.v = v

        def __add__(self, o):
            log.append("add")
            return Vec(self.v + (o.v if isinstance(o, Vec) else o))

        def __radd__(self, o):
            log.append("radd")
            return Vec(o + self.v)

        def __iadd__(self, o):
            log.append("iadd")
            self.v = self.v + o
            return self

        def __getitem__(self, i):
            log.append(("get", i))
            return self.v[i]

        def __len__(self):
            return len(self.v)

        def __neg__(self):
            return Vec(-self.v)

        def __contains__(self, x):
            log.append(("in", x))
            return True

    @w.compiled
    def f(a, b):
        c = a + b
        d = 1 + c
        d += 2
        return -d, a[0], len(a), 3 in a, a[0:1]

    for x, y in (
        (Vec(floats(3)), Vec(floats(3))),
        (Vec(floats(3)), Vec(floats(3))),
        (Vec(floats(2)), 4),
        (Vec(ints(5)), floats(5)),
        (floats(3), floats(3)),
        (Vec(floats(3)), Vec(floats(2))),
    ):
        w(f, x, y)


@case
def operators_tried_in_order(w: World) -> None:
    log = w.watch([])

    class Left:
        def __mul__(self, o):
            log.append("left")
            return NotImplemented

    class Right(Left):
        def __rmul__(self, o):
            log.append("right")
            return 5

    @w.compiled
    def f(a, b, x):
        return a * b, x + 1

    for a, b in ((2, 3), (2, 3), (Left(), Right()), (2, Right()), (Left(), 2), (2, 3)):
        w(f, a, b, floats(2))


@case
def enumerations_as_options(w: World) -> None:
    class Mode(enum.Enum):
        ADD = 1
        MUL = 2

    @w.compiled
    def f(x, mode):
        if mode is Mode.ADD:
            return x + mode.value
        return x * 2 if mode == Mode.MUL else mode

    for mode in (Mode.ADD, Mode.ADD, Mode.MUL, 1, Mode.ADD, None):
        w(f, floats(3), mode)


@case
def abstract_and_registered_classes(w: World) -> None:
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self): ...

    class Square(Shape):
        def __init__(self, s):
            self.s = s

        def area(self):
            return self.s * self.s

    class Other:
        s = 2

    @w.compiled
    def f(s, x):
        return x * s.area() if isinstance(s, Shape) else x * s.s

    for s in (Square(3), Square(3), Other(), Square(floats(3))):
        w(f, s, floats(3))
    Shape.register(Other)
    w(f, Other(), floats(3))
    w(f, Square(3), floats(3))


@case
def objects_made_and_returned(w: World) -> None:
    class Result:
        kind = "r"

        def __init__(self, y):
            self.y = y
            self.again = y

    @w.compiled
    def f(x):
        r = Result(x + 1)
        r.self = r
        r.x = x
        return r, r.y * 2

    for n in (3, 3, 0, 2):
        w(f, floats(n))
    Result.__init__ = lambda self, y: None
    w(f, floats(3))


@case
def new_and_metaclass(w: World) -> None:
    log = w.watch([])

    class Meta(type):
        def __call__(cls, *args):
            log.append(("call", len(args)))
            return super().__call__(*args)

    class Single(metaclass=Meta):
        one = None

        def __new__(cls, x):
            log.append("new")
            if cls.one is None:
                cls.one = object.__new__(cls)
            return cls.one

        def __init__(self, x):
            self.x = x

    @w.compiled
    def f(x):
        s = Single(x)
        return s.x + 1, s

    for n in (3, 3, 4):
        w(f, floats(n))
    w.note(Single.one)


@case
def two_attributes_one_array(w: World) -> None:
    class Model:
        pass

    @w.compiled
    def f(m, x):
        m.a += x
        return m.b * 2, m.a is m.b

    m = Model()
    m.a, m.b = floats(3), floats(3)
    w(f, m, floats(3))
    w(f, m, floats(3))
    m.b = m.a
    w(f, m, floats(3))
    m.b = m.a[::-1]
    w(f, m, floats(3))
    m.b = np.zeros(3)
    w(f, m, floats(3))


@case
def bound_methods_held_in_variables(w: World) -> None:
    class Model:
        def __init__(self, k):
            self.k = k

        def go(self, x):
            return x * self.k

    @w.compiled
    def f(method, x):
        g = method
        return g(x), g.__self__.k

    @w.compiled
    def h(x):
        return method(x) + 1

    one, two = Model(2), Model(floats(3))
    for m in (one, one, two, one):
        method = m.go
        w(f, m.go, floats(3))
        w(h, floats(3))
    one.k = 5
    w(f, one.go, floats(3))
    method = floats(3).__add__
    w(h, floats(3))


@case
def what_super_has_that_is_no_method(w: World) -> None:
    class Base:
        scale = None

        def __init__(self, n):
            self.n = n

        @property
        def big(self):
            return self.n > 2

    class Child(Base):
        scale = 3

        def run(self, x):
            y = x * 2 if super().big else x * 3
            return y, super().scale is None, callable(super().scale), not super().big

    @w.compiled
    def f(child, x):
        return child.run(x)

    for n in (5, 5, 1, 1, 5):
        w(f, Child(n), floats(3))
