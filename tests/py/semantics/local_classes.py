"""Classes that a program defines while it runs."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np

from semantics.world import World, case, floats


class Base:
    scale = 3.0

    def __init__(self, x):
        self.x = x

    def run(self):
        return self.x * self.scale


@case
def methods_close_over_variables(w: World) -> None:
    @w.compiled
    def f(x, by):
        mean = x.mean()

        class Centred:
            """Values about their mean."""

            factor = 3

            def __init__(self, x, power=2):
                self.x = x - mean
                self.power = power

            def total(self):
                return (self.x**self.power).sum() * self.factor * by

            def __add__(self, other):
                return Centred(self.x + other.x)

        both = Centred(x) + Centred(x * 2)
        return both.total(), Centred.__doc__, Centred.__name__, isinstance(both, Centred)

    for n, by in ((3, 2.0), (3, 5.0), (4, 3.0), (5, 0.5)):
        w(f, floats(n), by)
    w.replayed(f)


@case
def properties_and_other_descriptors(w: World) -> None:
    @w.compiled
    def f(x):
        class Held:
            def __init__(self, x):
                self._x = x

            @property
            def twice(self):
                return self._x * 2

            @twice.setter
            def twice(self, value):
                self._x = value / 2

            @staticmethod
            def shifted(x: np.ndarray, by: float = 1.0, *, more: int = 2) -> np.ndarray:
                return x + by + more

            @classmethod
            def made(cls, x: list[float]) -> object:
                return cls(cls.shifted(x))

        held = Held.made(x)
        held.twice = held.twice + 1
        return held.twice

    for n in (3, 3, 4):
        w(f, floats(n))
    w.replayed(f)


@case
def derived_classes(w: World) -> None:
    @w.compiled
    def f(x):
        class Shifted(Base):
            def __init__(self, x):
                super().__init__(x + 1)
                self.first = x

            def run(self):
                return super().run() - self.first

        class Scaled(Shifted):
            scale = 4.0

        return Shifted(x).run(), Scaled(x).run(), issubclass(Scaled, Base)

    for n in (3, 3, 4):
        w(f, floats(n))
    w.replayed(f)
    Base.scale = 5.0
    try:
        w(f, floats(3))
        w(f, floats(4))
    finally:
        Base.scale = 3.0
    w(f, floats(4))


@case
def a_base_that_is_rebound(w: World) -> None:
    class Other(Base):
        def run(self):
            return self.x - self.scale

    scope = {"Base": Base}

    def source():
        def f(x):
            class Derived(Base):
                pass

            return Derived(x).run()

        return f

    code = source.__code__.co_consts
    body = next(each for each in code if hasattr(each, "co_name") and each.co_name == "f")
    f = w.compiled(type(source)(body, scope, "f"))
    scope["__name__"] = "rebound"
    for base in (Base, Base, Base, Other, Other, Base):
        scope["Base"] = base
        w(f, floats(3))


@case
def data_classes(w: World) -> None:
    @w.compiled
    def f(x, dt):
        @dataclass
        class State:
            position: np.ndarray
            velocity: np.ndarray
            time: float = 0.0
            log: list = field(default_factory=list)

            def step(self):
                self.position = self.position + dt * self.velocity
                self.time += dt
                self.log.append(self.position.sum())

        @dataclass(frozen=True)
        class Pair:
            a: float
            b: float = 2.0

        state = State(x, velocity=x * 2)
        state.step()
        state.step()
        same = Pair(1.5) == Pair(1.5, 2.0), Pair(1.5) == Pair(2.5)
        return state.position, state.time, state.log, same, Pair(dt).a

    for n, dt in ((3, 0.5), (3, 0.25), (4, 0.5), (4, 1.0)):
        w(f, floats(n), dt)
    w.replayed(f)


@case
def one_or_another_class(w: World) -> None:
    @w.compiled
    def f(x):
        if x.sum() > 10:

            class Law:
                exponent = 1
        else:

            class Law:
                exponent = 2

        return x**Law.exponent

    for n in (2, 2, 9, 9, 3, 8):
        w(f, floats(n) + 1)
    w.captured(f, 2)


@case
def values_of_the_class_change(w: World) -> None:
    @w.compiled
    def f(x):
        class Counted:
            made = 0

            def __init__(self):
                Counted.made += 1

        Counted()
        Counted()
        return x * Counted.made

    for n in (3, 3, 4):
        w(f, floats(n))


@case
def bodies_that_do_more(w: World) -> None:
    log = w.watch([])

    def noted(thing):
        log.append("noted")
        return thing

    @w.compiled
    def f(x):
        class Noted:
            log.append("body")
            table = {}

            def get(self, key=[]):
                key.append(1)
                self.table[len(key)] = 0
                return len(key) + len(self.table)

            other = noted(get)

        return Noted().get() + Noted().other() + x

    for n in (3, 3, 4):
        w(f, floats(n))


@case
def classes_and_objects_leave(w: World) -> None:
    kept = w.watch([])

    @w.compiled
    def an_object(x):
        class P:
            def __init__(self, x):
                self.x = x

            def get(self):
                return self.x

        return P(x * 2)

    @w.compiled
    def a_method(x):
        class P:
            def __init__(self, x):
                self.x = x

            def get(self, by=2):
                return self.x * by

        return P(x * 2).get

    @w.compiled
    def a_function(x):
        class P:
            def get(self):
                return x

        return P.get, x * 2

    @w.compiled
    def the_class(x):
        class P:
            shift = 3

            @staticmethod
            def get():
                return x

        kept.append(P)
        return x * 2

    @w.compiled
    def in_an_attribute(x, holder):
        class P:
            def get(self):
                return x

        holder.held = P()
        return x * 2

    class Holder:
        held = None

    for n in (3, 3, 4):
        x = floats(n)
        w.note(an_object(x).get())
        w.note(a_method(x)())
        get, doubled = a_function(x)
        w.note(get(None), doubled)
        w.note(the_class(x), kept.pop().get())
        holder = Holder()
        w.note(in_an_attribute(x, holder), holder.held.get())
    w.note(type(an_object(x)) is type(an_object(x)))


@case
def what_a_class_holds_leaves(w: World) -> None:
    @w.compiled
    def in_a_tuple(x):
        class P:
            both = (lambda: x.sum(), 3)

        return P.both[0], P.both[1], x * 2

    @w.compiled
    def a_property(x):
        class P:
            @property
            def a(self):
                return x

            parts = (a, 1)

        return P.parts, x * 2

    @w.compiled
    def annotations(x):
        class P:
            a: int = 1

        return P.__annotations__, x * P.a

    for n in (3, 4, 4, 5):
        x = floats(n)
        first, *_ = in_a_tuple(x)
        (held, _), _ = a_property(x)
        noted, _ = annotations(x)
        w.note(first(), held.fget(None), noted)
        noted["b"] = n


@case
def functions_of_the_class_are_handed_on(w: World) -> None:
    @w.compiled
    def f(x):
        class Order:
            def __init__(self, key):
                self.key = key

            def __lt__(self, other):
                return self.key > other.key

            def doubled(self):
                return self.key * 2

        made = sorted([Order(1), Order(3), Order(2)])
        by_key = sorted(made, key=Order.doubled)
        apply = functools.partial(Order.doubled, made[0])
        return [each.key for each in made], [each.key for each in by_key], apply() + x

    for n in (3, 3, 4):
        w(f, floats(n))
    w.replayed(f)


@case
def other_kinds_of_classes(w: World) -> None:
    @w.compiled
    def f(x):
        class StopError(Exception):
            pass

        class Pair(tuple):
            def first(self):
                return self[0]

        try:
            if x.sum() > 3:
                raise StopError("far")
            y = x * 2
        except StopError as error:
            y = x * len(str(error))
        return y + Pair((1, 2)).first()

    for n in (1, 1, 2, 4, 4):
        w(f, floats(n))


@case
def one_class_for_each_turn(w: World) -> None:
    @w.compiled
    def f(x):
        total, kinds = x * 0, []
        for i in range(4):

            class Turn:
                def __init__(self, x):
                    self.x = x * i  # noqa: B023

            total = total + Turn(x).x
            kinds.append(Turn)
        return total, kinds[0] is kinds[1], kinds[0].__name__

    for n in (3, 3, 4):
        w(f, floats(n))
