"""Namespaces, ordered and default dicts, and subclasses of dict, list and tuple."""

from __future__ import annotations

import collections
import types
import typing

import numpy as np

from semantics.world import World, case, close, floats

Space = types.SimpleNamespace
Ordered = collections.OrderedDict
Default = collections.defaultdict


def replayed(function, calls):
    """Check that all of so many calls but the first were hits; a plain function has none."""
    stats = getattr(function, "stats", None)
    assert stats is None or (stats.hits, stats.captures) == (calls - 1, 1), (
        stats,
        function.fallback_reasons,
    )


class Config(dict):
    """Items, and attributes that are no items."""

    def scaled(self, x):
        return x * self["k"] + self.get("b", 0)


class Attributes(dict):
    """Items by attribute, as many programs have it."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value


class Doubled(dict):
    def __getitem__(self, key):
        return super().__getitem__(key) * 2


class Filled(dict):
    def __missing__(self, key):
        self[key] = made = np.full(3, float(len(key)))
        return made


class Upper(dict):
    def __setitem__(self, key, value):
        dict.__setitem__(self, key.upper(), value)

    def __contains__(self, key):
        return dict.__contains__(self, key.upper())


class Layers(list):
    def total(self, x):
        for layer in self:
            x = x * layer
        return x


class Backwards(list):
    def __iter__(self):
        return iter([self[i] for i in range(len(self) - 1, -1, -1)])


class Twice(list):
    def __getitem__(self, place):
        return list.__getitem__(self, place) * 2


class Triple(tuple):
    __slots__ = ()

    def first(self):
        return self[0]


class Point(typing.NamedTuple):
    x: typing.Any
    y: typing.Any = 2.0

    def scaled(self, k):
        return Point(self.x * k, self.y * k)

    @property
    def both(self):
        return self.x + self.y


class Vector(collections.namedtuple("Vector", "a b")):
    def __add__(self, other):
        return Vector(self.a + other.a, self.b + other.b)


class State(Space):
    def step(self, x):
        self.n += 1
        return x * self.n


class Made(dict):
    def __init__(self, *args, **named):
        super().__init__(*args, **named)
        self.size = len(self)


class Stack(list):
    def __init__(self, *parts):
        list.__init__(self, parts)
        self.depth = len(parts)


@case
def namespaces(w: World) -> None:
    @w.compiled
    def read(x, n):
        return x * n.k + n.inner.w, n.k, n.inner

    for k in (1.0, 2.0, 3.0):
        w(read, floats(3), Space(k=k, inner=Space(w=np.full(3, k))))
    replayed(read, 3)
    w(read, floats(3), Space(k=3, inner=Space(w=2.0)))
    w(read, floats(3), Space(k=3))

    @w.compiled
    def write(x, n):
        n.count += 1
        n.last = x * n.k
        return n.last

    space = w.watch(Space(count=0, k=2.0, last=None))
    for size in (3, 4, 5):
        w(write, floats(size), space)

    @w.compiled
    def make(x):
        n = Space(a=x * 2, b=[])
        n.b.append(n.a)
        n.c = n
        return n, vars(n) is n.__dict__, hasattr(n, "a"), hasattr(n, "z")

    for size in (3, 4, 5):
        w(make, floats(size))
    replayed(make, 3)

    @w.compiled
    def both(x, n, m):
        n.v = x * 2
        return m.v

    n, m = Space(v=1.0), Space(v=5.0)
    w(both, floats(3), n, m)
    w(both, floats(3), m, n)
    w(both, floats(3), n, n)

    @w.compiled
    def stepped(x, state):
        return state.step(x)

    state = w.watch(State(n=0))
    for size in (3, 4, 5):
        w(stepped, floats(size), state)


@case
def ordered_dicts(w: World) -> None:
    @w.compiled
    def total(x, table):
        for key, value in table.items():
            x = x * 2 + value * len(key)
        return x

    for n in (1.0, 2.0, 3.0):
        w(total, floats(3), Ordered(k=n, long=2.0))
    replayed(total, 3)
    turned = Ordered(k=1.0, long=2.0)
    turned.move_to_end("k")  # its own order, not that of the dict below
    w(total, floats(3), turned)
    w(total, floats(3), turned)

    @w.compiled
    def change(x, table):
        table["z"] = x * 2
        table.move_to_end("k")
        table["k"] = table.pop("b") + x
        return list(table), next(iter(table)), table

    for size in (3, 4, 5):
        w(change, floats(size), Ordered(k=1, b=2.0, c=3))
    replayed(change, 3)

    @w.compiled
    def make(x):
        table = Ordered([("b", x * 2), ("a", x)])
        table.move_to_end("b", last=False)
        table["c"] = 1
        return table, table.popitem(last=False), table.copy(), dict(table), len(table)

    for size in (3, 4, 5):
        w(make, floats(size))
    replayed(make, 3)

    @w.compiled
    def compared(a, b):
        return a == b, a == dict(b)

    for _ in range(3):
        w(compared, Ordered(a=1, b=2), Ordered(b=2, a=1))


@case
def default_dicts(w: World) -> None:
    @w.compiled
    def add(x, table):
        table["seen"].append(x * 2)
        table["n"].append(1)
        return len(table["seen"]), table

    for size in (3, 4, 5):
        w(add, floats(size), Default(list))
    replayed(add, 3)
    table = w.watch(Default(list, seen=[1]))
    for size in (3, 4, 5):
        w(add, floats(size), table)

    @w.compiled
    def read(x, table):
        return x * table["k"] + table["missing"]

    for n in (1.0, 2.0, 3.0):
        w(read, floats(3), Default(float, k=n))
    replayed(read, 3)
    w(read, floats(3), Default(float, k=1.0, missing=4.0))  # it is there
    w(read, floats(3), Default(int, k=1.0))
    for _ in range(2):
        w(read, floats(3), Default(None, k=1.0))  # KeyError

    @w.compiled
    def made_up(x, table):
        return x * table["q"]

    for n in (1.0, 2.0, 3.0):
        w(made_up, floats(3), Default(lambda n=n: np.full(3, n)))
    table = Default(lambda: 2.0)
    w(made_up, floats(3), table)
    table.clear()
    table.default_factory = lambda: 5.0
    w(made_up, floats(3), table)
    w(made_up, floats(3), table)


@case
def subclasses_of_dict(w: World) -> None:
    @w.compiled
    def scaled(x, config):
        return config.scaled(x), len(config), "b" in config, list(config), {**config}

    for k in (1.0, 2.0, 3.0):
        w(scaled, floats(3), Config(k=k))
    replayed(scaled, 3)
    w(scaled, floats(3), Config(k=2.0, b=1.0))

    @w.compiled
    def attributes(x, config):
        config.last = config["k"] * x
        config["n"] = config.n + 1
        return config.last, config.get("last"), isinstance(config, dict), type(config)

    for k in (1.0, 2.0, 3.0):
        config = Config(k=k)
        config.n = k
        w(attributes, floats(3), config)
    replayed(attributes, 3)

    @w.compiled
    def by_attribute(x, config):
        y = x * config.k
        config.made = y
        return config.made + config["k"], config

    for k in (1.0, 2.0, 3.0):
        w(by_attribute, floats(3), Attributes(k=k))
    replayed(by_attribute, 3)
    w(by_attribute, floats(3), Attributes())

    itself = Config(k=2.0)
    itself.__dict__ = itself

    @w.compiled
    def mixed(x, config):
        config["k"] = config["k"] + 1
        return x * config.k

    for config in (itself, itself):
        w(mixed, floats(3), config)
    plain = Config(k=2.0)
    vars(plain)["k"] = 7.0
    for config in (plain, plain, itself, plain):
        w(mixed, floats(3), config)


@case
def overridden_methods_run(w: World) -> None:
    @w.compiled
    def read(x, table):
        return x * table["k"], table.get("k"), "k" in table

    for k in (1.0, 2.0, 3.0):
        w(read, floats(3), Doubled(k=k))
    replayed(read, 3)
    for k in (1.0, 2.0):
        w(read, floats(3), Upper(k=k))
        w(read, floats(3), dict(k=k))

    @w.compiled
    def missing(x, table):
        return x * table["abc"]

    table = w.watch(Filled())
    for _ in range(3):
        w(missing, floats(3), table)
        w(missing, floats(3), w.watch(Filled()))

    @w.compiled
    def write(x, table):
        table["k"] = x * 2
        table.update(b=1)
        del table["K"]
        return dict(table)

    for size in (3, 4, 5):
        w(write, floats(size), Upper(c=1))
    replayed(write, 3)

    @w.compiled
    def listed(x, parts):
        return x * parts[0], list(parts), len(parts), [p + 1 for p in parts], parts[-1]

    for k in (1.0, 2.0, 3.0):
        w(listed, floats(3), Twice([k, 2.0]))
        w(listed, floats(3), Backwards([k, 2.0]))
        w(listed, floats(3), [k, 2.0])

    class Later(dict):
        pass

    class Parts(list):
        pass

    for _ in range(2):
        w(read, floats(3), Later(k=2.0))
        w(listed, floats(3), Parts([2.0, 3.0]))
    Later.__getitem__ = lambda self, key: 5.0
    Later.get = lambda self, key: 6.0
    Parts.__iter__ = lambda self: iter((1.0, 2.0))
    Parts.__len__ = lambda self: 7
    for _ in range(2):
        w(read, floats(3), Later(k=2.0))
        w(listed, floats(3), Parts([2.0, 3.0]))


@case
def subclasses_of_list(w: World) -> None:
    @w.compiled
    def total(x, layers):
        first, *rest = layers
        return (
            layers.total(x),
            layers[0] is first,
            len(rest),
            layers[-1],
            layers[1:],
            layers + x.tolist()[:0],
        )

    for k in (1.0, 2.0, 3.0):
        w(total, floats(3), Layers([k, 2.0, floats(3)]))
    replayed(total, 3)
    w(total, floats(3), Layers([1.0, 2.0]))
    w(total, floats(3), [1.0, 2.0])

    @w.compiled
    def write(x, layers):
        layers.append(x * 2)
        layers[0] = x
        layers.count = len(layers)
        del layers[1]
        return layers.count

    for size in (3, 4, 5):
        layers = w.watch(Layers([1, 2, 3]))
        layers.name = "name"
        w(write, floats(size), layers)
    replayed(write, 3)


@case
def subclasses_of_tuple(w: World) -> None:
    @w.compiled
    def read(x, parts):
        _a, b, c = parts
        return x * parts.first() + b, parts[1:], len(parts), c in (1, 2), tuple(parts), parts

    for k in (1.0, 2.0, 3.0):
        w(read, floats(3), Triple((k, floats(3), 1)))
    replayed(read, 3)

    @w.compiled
    def named(p, v):
        q = p.scaled(2)
        return q, q.both, p.x, p[1], (v + v).a, p == (p.x, p.y), p._replace(y=1), v._asdict()

    for size in (3, 4, 5):
        w(named, Point(floats(size)), Vector(floats(size), 1.0))

    @w.compiled
    def added(v):
        return (v + v).a

    for size in (3, 4, 5):
        w(added, Vector(floats(size), 1.0))
    replayed(added, 3)
    before = Vector.__add__
    try:
        Vector.__add__ = lambda a, b: b
        w(added, Vector(floats(3), 1.0))
    finally:
        Vector.__add__ = before


@case
def objects_that_are_made(w: World) -> None:
    @w.compiled
    def make(x):
        made = Made(a=x * 2, b=1)
        made["c"] = made
        stack = Stack(x, 2)
        stack.append(x * 3)
        config = Config([("k", 2.0)], b=x)
        return made, made.size, stack, stack.depth, config, Triple((x, 1)), Layers([x]), Config()

    for size in (3, 4, 5):
        w(make, floats(size))
    replayed(make, 3)


@case
def changed_between_calls(w: World) -> None:
    """Whatever the object holds or is by then is met."""

    @w.compiled
    def f(x, thing):
        return x * thing["k"] + thing.b

    config = Config(k=2.0)
    config.b = 1.0
    w(f, floats(3), config)
    for change in (
        lambda: config.update(k=3.0),
        lambda: setattr(config, "b", floats(3)),
        lambda: config.__setitem__("k", floats(3)),
        lambda: setattr(config, "__class__", Doubled),
        lambda: setattr(config, "__class__", Attributes),
        lambda: vars(config).clear(),
        lambda: config.__setitem__("b", 9.0),
        lambda: config.clear(),
    ):
        change()
        w(f, floats(3), config)
        w(f, floats(3), config)


class Ordinal(tuple):
    def __new__(cls, a, b=2):
        return super().__new__(cls, (a, b))


class Scaled(collections.namedtuple("Scaled", "a b")):
    def __new__(cls, a, b=2):
        return super().__new__(cls, a * 2, b)

    def norm(self):
        return self.a * self.b


class Measured(list):
    def __array__(self, dtype=None, copy=None):
        return np.full(3, float(len(self)))


@case
def tuples_with_a_new_of_their_own(w: World) -> None:
    @w.compiled
    def f(x):
        return Ordinal(x), Scaled(x).norm(), Scaled(x, 1), Ordinal(x, 3)[1]

    for size in (3, 4, 5):
        w(f, floats(size))
    replayed(f, 3)


@case
def sequences_that_become_arrays(w: World) -> None:
    @w.compiled
    def f(x, parts):
        return np.array(parts) + x, np.stack(parts), np.sum(parts)

    class Late(list):
        pass

    for k in (1.0, 2.0, 3.0):
        w(f, floats(3), Layers([k, 2.0, 3.0]))
    replayed(f, 3)
    for _ in range(2):
        w(f, floats(3), Measured([1.0, 2.0, 4.0]))
        w(f, floats(3), Late([1.0, 2.0, 4.0]))
    Late.__array__ = Measured.__array__
    for _ in range(2):
        w(f, floats(3), Late([1.0, 2.0, 4.0]))


@case
def all_attributes_of_a_namespace(w: World) -> None:
    @w.compiled
    def f(x, n):
        made = {name: value * x for name, value in vars(n).items()}
        n.late = x * 2
        return made, list(n.__dict__), dict(**vars(n)), sum(vars(n).values())

    for k in (1.0, 2.0, 3.0):
        w(f, floats(3), Space(a=k, b=2.0))
    replayed(f, 3)
    for n in (Space(b=2.0, a=1.0), Space(a=1.0), Space(a=1.0, b=2.0, late=3.0)):
        w(f, floats(3), n)
        w(f, floats(3), n)

    @w.compiled
    def g(x, n):
        n.first = 1
        del n.a
        return sorted(vars(n)), hasattr(n, "a"), x * n.b

    for k in (1.0, 2.0, 3.0):
        w(g, floats(3), w.watch(Space(a=k, b=2.0)))
    w(g, floats(3), w.watch(Space(b=2.0)))

    @w.compiled
    def h(x, n):
        del n.a
        return x * n.b

    for k in (1.0, 2.0, 3.0):
        w(h, floats(3), w.watch(Space(a=k, b=2.0)))
    replayed(h, 3)
    w(h, floats(3), w.watch(Space(b=2.0)))


@case
def methods_that_are_compiled_each(w: World) -> None:
    class Model:
        def __init__(self, k):
            self.k = k

        @w.compiled
        def scaled(self, x):
            return x * self.k

        @w.compiled
        def forward(self, x):
            return self.scaled(x) + self.scaled(x * 2)

    model = Model(2.0)
    for size in (3, 4, 5):
        w(model.forward, floats(size))
    replayed(Model.forward, 3)
    model.k = floats(3)
    w(model.forward, floats(3))
    w(Model(3.0).forward, floats(3))
    Model.scaled = lambda self, x: x - 1
    w(model.forward, floats(3))
    Model.scaled = w.compiled(lambda self, x: x + 1)
    w(model.forward, floats(3))
    model.scaled = lambda x: x
    w(model.forward, floats(3))


@case
@close
def gelu_as_people_write_it(w: World) -> None:
    @w.compiled
    def plain(x):
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    @w.compiled
    def cast(x):
        c = np.sqrt(2.0 / np.pi).astype(x.dtype)
        return 0.5 * x * (1.0 + np.tanh(c * (x + 0.044715 * np.power(x, 3))))

    @w.compiled
    def typed(x):
        return x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi, dtype=x.dtype) * (x + 0.044715 * x**3)))

    for function in (plain, cast, typed):
        for size in (3, 4, 5):
            w(function, floats(size, dtype=np.float32))
        replayed(function, 3)
        w(function, floats(3))
