"""Random programs that reach functions and values in all ways, and what may change between calls.

A program adds up what it reaches at a few places. Each place is a chain of holders (a list in an
attribute of a module ...) with something callable, or a value, at its end. A change replaces what
a holder holds, or something within a callable: code, a default, a cell, the function of a partial.
"""

from __future__ import annotations

import functools
import types
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import dvm

Change = Callable[[], Any]
Pair = namedtuple("Pair", "first second")

#: Bodies of functions of `v`, the variable `c` (closed over or global) and the parameters `d`, `e`.
BODIES = ("v * c + d", "v - c * d + e", "v + c", "(v + e) * 2 + d", "np.maximum(v, c) + e")


@dataclass
class Field:
    held: Any


class Object:
    def __init__(self, held: Any) -> None:
        self.held = held


class Maker:
    """Makes callables and values; what can be changed about them goes to `changes`."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.changes: list[Change] = []

    def number(self) -> Any:
        value = self.rng.randint(1, 5)
        return self.rng.choice([value, value / 2, np.full(3, value / 4)])

    def function(self) -> Any:
        """A Python function, with what it closes over, its defaults and its globals."""
        rng = self.rng
        scope = {"np": np, "c": self.number()}
        body = rng.choice(BODIES)
        if rng.random() < 0.6:
            text = f"def make(c, k, j):\n def fn(v, d=k, *, e=j): return {body}\n return fn"
            exec(text, scope)
            made = scope["make"](self.number(), self.number(), self.number())
        else:
            exec(f"def fn(v, d={rng.randint(1, 4)}, *, e=2): return {body}", scope)
            made = scope["fn"]
            self.changes.append(lambda: scope.update(c=self.number()))
        self.changes.append(lambda: setattr(made, "__defaults__", (self.number(),)))
        self.changes.append(lambda: setattr(made, "__kwdefaults__", {"e": self.number()}))
        self.changes.append(lambda: made.__kwdefaults__.update(e=self.number()))
        self.changes.append(lambda: self.recode(made))
        for cell in made.__closure__ or ():
            self.changes.append(lambda cell=cell: setattr(cell, "cell_contents", self.number()))
        return made

    def recode(self, function: Any) -> None:
        before = len(self.changes)
        for _ in range(9):
            other = self.function()
            if other.__code__.co_freevars == function.__code__.co_freevars:
                function.__code__ = other.__code__
                break
        del self.changes[before:]

    def callable(self, depth: int = 2) -> Any:
        rng = self.rng
        kind = rng.choice(KINDS) if depth else "function"
        if kind == "function":
            return self.function()
        if kind == "lambda":
            k = self.number()
            return lambda v: v * k
        if kind == "compiled":
            return dvm.compile(self.function())
        if kind == "partial":
            named = rng.choice([{}, {"d": self.number()}, {"e": self.number()}])
            inner = functools.partial(self.plain(depth), **named)
            if named:
                (name,) = named
                self.changes.append(lambda: inner.keywords.__setitem__(name, self.number()))
            self.changes.append(
                lambda: inner.__setstate__((self.function(), (), {"d": self.number()}, {}))
            )
            return inner
        if kind == "closure":
            inner, k = self.callable(depth - 1), self.number()

            def outer(v: Any) -> Any:
                return inner(v) + k

            for cell, make in zip(
                outer.__closure__ or (), (self.function, self.number), strict=True
            ):
                self.changes.append(lambda c=cell, m=make: setattr(c, "cell_contents", m()))
            return outer
        return self.of_class(kind, self.plain(depth))

    def plain(self, depth: int) -> Any:
        """A function, or a compiled one."""
        made = self.function()
        return dvm.compile(made) if depth > 1 and self.rng.random() < 0.4 else made

    def of_class(self, kind: str, inner: Any) -> Any:
        """Methods of all kinds, and objects and classes that are called."""

        def method(self: Any, v: Any) -> Any:
            return inner(v) + self.k

        def on_class(cls: Any, v: Any) -> Any:
            return inner(v) + cls.size

        def init(self: Any, v: Any) -> None:
            self.k = v * 2

        rng, wrap = self.rng, self.rng.choice([dvm.compile, lambda f: f])
        names = {"run": wrap(method), "__call__": method, "size": 2, "put": wrap(on_class)}
        cls = type("Made", (), {**names, "plain": staticmethod(inner), "on": classmethod(on_class)})
        thing = cls()
        thing.k = self.number()
        for name in ("run", "__call__"):
            other = rng.choice([method, lambda _s, v: v - 1])
            self.changes.append(lambda n=name, o=other: setattr(cls, n, o))
        self.changes.append(lambda: setattr(cls, "size", self.number()))
        self.changes.append(lambda: setattr(cls, "plain", staticmethod(self.function())))
        self.changes.append(lambda: setattr(thing, "k", self.number()))
        self.changes.append(lambda: setattr(thing, "__class__", type("Other", (cls,), {})))
        if kind == "maker":
            made = type("New", (), {"__init__": init})
            self.changes.append(lambda: setattr(made, "__init__", lambda s, v: setattr(s, "k", v)))
            return lambda v: made(v).k
        found = {
            "method": lambda: thing.run,
            "object": lambda: thing,
            "static": lambda: thing.plain,
            "class method": lambda: cls.on,
            "looked up": lambda: lambda v: thing.run(v) + thing.plain(v) + cls.on(v),
        }
        return found[kind]()


KINDS = (
    *("function", "lambda", "compiled", "partial", "closure"),
    *("method", "object", "static", "class method", "looked up", "maker"),
)


#: What programs look things up with.
KEY = Object(0)


class Items(dict):
    """A dict that may get methods of its own, as the next two may."""


class Parts(list):
    pass


class Fixed(tuple):
    __slots__ = ()


def kept(cls: Any, *given: Any) -> Any:
    """An object of a class of its own, which inherits from `cls`."""
    return type("Kept", (cls,), {})(*given)


def overridden(name: str, change: Any) -> Any:
    """Change what an object holds, or what its class answers with: that, from then on."""

    def either(holder: Any, value: Any) -> None:
        if callable(value) and len(repr(value)) % 2:
            setattr(type(holder), name, lambda _self, _key: value)
        else:
            change(holder, value)

    return either


#: kind of holder -> (makes one of what it holds, how a program reads it, changes it in place)
HOLDERS: dict[str, tuple[Any, str, Any]] = {
    "list": (lambda held: [1, held], "[1]", lambda h, v: h.__setitem__(1, v)),
    "dict": (lambda held: {"k": held}, "['k']", lambda h, v: h.__setitem__("k", v)),
    "tuple": (lambda held: (held, 2), "[0]", None),
    "named tuple": (lambda held: Pair(held, 2), ".first", None),
    "ordered dict": (
        lambda held: OrderedDict(j=1, k=held),
        "['k']",
        lambda h, v: (h.__setitem__("k", v), h.move_to_end("j")),
    ),
    "dict of objects": (
        lambda held: {Object(1): 2, KEY: held},
        "[KEY]",
        lambda h, v: h.__setitem__(KEY, v),
    ),
    "default dict": (
        lambda held: defaultdict(lambda: held),
        "['k']",
        lambda h, v: (h.clear(), setattr(h, "default_factory", lambda: v)),
    ),
    "namespace": (
        lambda held: types.SimpleNamespace(held=held),
        ".held",
        lambda h, v: setattr(h, "held", v),
    ),
    "subclass of dict": (
        lambda held: kept(Items, {"k": held}),
        "['k']",
        overridden("__getitem__", lambda h, v: h.__setitem__("k", v)),
    ),
    "subclass of dict that makes items up": (
        lambda held: type("Made", (Items,), {"__missing__": lambda _self, _key: held})(),
        "['k']",
        lambda h, v: setattr(type(h), "__missing__", lambda _self, _key: v),
    ),
    "subclass of list": (
        lambda held: kept(Parts, [1, held]),
        "[1]",
        overridden("__getitem__", lambda h, v: h.__setitem__(1, v)),
    ),
    "attribute of a list": (
        lambda held: attributed(kept(Parts, [1]), held),
        ".held",
        lambda h, v: setattr(h, "held", v),
    ),
    "subclass of tuple": (lambda held: kept(Fixed, (1, held)), "[1]", None),
    "subclass of a named tuple": (lambda held: kept(Pair, 1, held), ".second", None),
    "instance": (Object, ".held", lambda h, v: setattr(h, "held", v)),
    "dataclass": (Field, ".held", lambda h, v: setattr(h, "held", v)),
    "module": (lambda held: module_of(held), ".held", lambda h, v: setattr(h, "held", v)),
    "class": (
        lambda held: type("Holder", (), {"held": staticmethod(held) if callable(held) else held}),
        ".held",
        lambda h, v: setattr(h, "held", staticmethod(v) if callable(v) else v),
    ),
}


def attributed(thing: Any, held: Any) -> Any:
    thing.held = held
    return thing


def module_of(held: Any) -> types.ModuleType:
    made = types.ModuleType("made")
    made.held = held  # type: ignore[attr-defined]
    return made


class Place:
    """A chain of holders. `root` is what a program starts from; `text` is what it writes behind."""

    def __init__(self, maker: Maker) -> None:
        rng = maker.rng
        self.is_called = rng.random() < 0.75
        make = maker.callable if self.is_called else maker.number
        held, self.text = make(), ""
        for _ in range(rng.randint(0, 2)):
            build, read, change = HOLDERS[rng.choice(list(HOLDERS))]
            within = make if not self.text else None
            holder = build(held)
            if change and within:
                maker.changes.append(lambda h=holder, c=change, m=within: c(h, m()))
            elif change:
                maker.changes.append(lambda h=holder, c=change, v=held: c(h, v))
            held, self.text = holder, read + self.text
        self.root = held
        self.fresh = make if not self.text else lambda: self.root


class Program:
    """The function, plain and compiled, its arguments, and what may change."""

    def __init__(self, seed: int) -> None:
        rng = Random(seed)
        maker = Maker(rng)
        self.scope: dict[str, Any] = {"np": np, "KEY": KEY}
        self.arguments: dict[str, Any] = {}
        cells: dict[str, Any] = {}
        terms = []
        self.changes = maker.changes
        for i in range(rng.randint(1, 3)):
            place, name = Place(maker), f"p{i}"
            where = rng.choice((self.arguments, self.scope, cells))
            where[name] = place.root
            terms.append(f"{name}{place.text}" + ("(x)" if place.is_called else " * x"))
            if where is not cells:
                self.changes.append(lambda w=where, n=name, p=place: w.__setitem__(n, p.fresh()))
        own = ", ".join(["x", *self.arguments])
        self.text = (
            f"def make({', '.join(cells)}):\n def program({own}):\n  return {' + '.join(terms)}\n"
            " return program"
        )
        exec(self.text, self.scope)
        self.plain = self.scope["make"](**cells)
        self.compiled = dvm.compile(self.plain)
        self.rng = rng
        for name, cell in zip(
            self.plain.__code__.co_freevars, self.plain.__closure__ or (), strict=True
        ):
            if callable(cells[name]):
                self.changes.append(lambda c=cell: setattr(c, "cell_contents", maker.callable()))

    def change(self) -> None:
        """Change something, or nothing; what cannot be changed any more stays."""
        before = len(self.changes)
        self.rng.choice([*self.changes, lambda: None])()
        del self.changes[before + 40 :]
