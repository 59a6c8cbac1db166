"""What programs ask objects and classes: their texts, signatures, properties; and their context."""

from __future__ import annotations

import abc
import collections
import contextvars
import dataclasses
import enum
import functools
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from semantics.world import World, case, floats


class Kind(enum.StrEnum):
    ONE = "one"
    TWO = "two"
    THREE = "three"


@case
def texts_of_classes(w: World) -> None:
    class Named:
        pass

    table = {str(Named): 2.0, repr(Named): 3.0, f"{int}": 4.0}
    own = Named()

    @w.compiled
    def f(x):
        return x * table.get(str(own.__class__), 0.0) + len(f"{type(own)}"), f"{int}"

    for _ in range(3):
        w(f, floats(3))
    w.replayed(f)
    Named.__qualname__ = "Other"
    w(f, floats(3))
    Named.__module__ = "elsewhere"
    w(f, floats(3))


@case
def fields_of_dataclasses(w: World) -> None:
    @dataclasses.dataclass
    class Point:
        x: float
        y: float = 2.0

    @dataclasses.dataclass
    class Named(Point):
        name: str = "n"

    @w.compiled
    def f(x, point):
        names = [each.name for each in dataclasses.fields(point)]
        made = dataclasses.fields(Named(x, x))
        plain = [each.name for each in dataclasses.fields(Point) if each.default is None]
        return x * point.x + len(made) + len(plain), names, made[1].default

    for each in (Point(1.0), Point(3.0), Point(4.0)):
        w(f, floats(3), each)
    w.replayed(f)
    w(f, floats(3), Named(5.0))
    own = Point(6.0)
    own.__dataclass_fields__ = Named.__dataclass_fields__
    w(f, floats(3), own)
    Point.__dataclass_fields__ = {"x": Point.__dataclass_fields__["x"]}
    w(f, floats(3), Point(7.0))
    del Point.__dataclass_fields__["x"]
    w(f, floats(3), Point(8.0))


@case
def texts_of_classes_with_metaclasses(w: World) -> None:
    class Meta(type):
        shown = "meta"

        def __repr__(cls) -> str:
            return cls.shown

    class Named(metaclass=Meta):
        pass

    @w.compiled
    def f(x):
        return x, str(Named)

    w(f, floats(3))
    w(f, floats(3))
    Meta.shown = "other"
    w(f, floats(3))


@case
def context_variables_that_are_reset(w: World) -> None:
    scale = contextvars.ContextVar("scale", default=2.0)
    bare: contextvars.ContextVar[Any] = contextvars.ContextVar("bare")

    @w.compiled
    def f(x):
        token = scale.set(scale.get() + 1)
        inner = scale.set(10.0)
        try:
            y = x * scale.get()
        finally:
            scale.reset(inner)
        y = y + scale.get()
        scale.reset(token)
        return y, scale.get(), bare.get("none"), scale.name

    def run() -> None:
        for _ in range(3):
            w(f, floats(3))
        w.note(scale.get())
        w.replayed(f)
        for value in (5.0, 7.0, "text", None):
            scale.set(value)
            w(f, floats(3))
        scale.set(1.0)
        bare.set("set")
        w(f, floats(3))
        w(f, floats(3))

    contextvars.copy_context().run(run)
    w(f, floats(3))


@case
def context_variables_that_stay_set(w: World) -> None:
    last: contextvars.ContextVar[Any] = contextvars.ContextVar("last", default=None)

    @w.compiled
    def f(x):
        first = last.set([1, len(x)])
        last.set({"n": len(x), "x": x})
        if len(x) > 4:
            last.reset(first)
        return x * 2

    @w.compiled
    def g(x):
        known = last.get(x)
        return x if known is x else x + known["n"]

    def run() -> None:
        for n in (3, 3, 5, 5, 3):
            w(f, floats(n))
            w.note(last.get())
            w(g, floats(n)) if last.get() else None

    contextvars.copy_context().run(run)
    w(g, floats(3))


@case
def context_variables_in_loops(w: World) -> None:
    count: contextvars.ContextVar[int] = contextvars.ContextVar("count", default=0)
    scale = contextvars.ContextVar("scale", default=1.0)

    @w.compiled
    def f(x, n):
        for _ in range(n):
            count.set(count.get() + 1)
            x = x * 1.5 + count.get()
        return x

    @w.compiled
    def g(x, n):
        for i in range(n):
            token = scale.set(scale.get() + i)
            x = x * 0.5 + scale.get()
            scale.reset(token)
        return x

    def run() -> None:
        for n in (3, 20, 20, 5, 30, 1, 0):
            for function in (f, g):
                w(function, floats(3), n)
                w.note(count.get(), scale.get())

    contextvars.copy_context().run(run)


@case
def members_of_enumerations_among_others(w: World) -> None:
    held = {"kind": Kind.ONE}

    @w.compiled
    def f(x):
        kind = held["kind"]
        if kind in (Kind.ONE, Kind.THREE):
            x = x + 1
        return x * 2 if kind not in [Kind.TWO, "one"] else x

    for _ in range(3):
        w(f, floats(3))
    w.replayed(f)
    for kind in (Kind.TWO, Kind.THREE, "two", "one", Kind.ONE):
        held["kind"] = kind
        w(f, floats(3))


def passed_on(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


@case
def signatures(w: World) -> None:
    def plain(a, b=2, /, c=3, *rest, d, e=5, **more):
        return a

    class Owner:
        def method(self, a, *, b=1):
            return a

        @passed_on
        def wrapped(self, a, b, c):
            return a

    own = Owner()
    functions = [plain, own.method, own.wrapped, passed_on(plain), Owner.method]

    @w.compiled
    def f(x, at):
        names = inspect.signature(functions[at]).parameters
        return x * len(names), list(names), "b" in names, set(names) >= {"a"}

    for at in range(len(functions)):
        for _ in range(3):
            w(f, floats(3), at)
    w.replayed(f, len(functions))

    @w.compiled
    def g(x):
        return x * len(inspect.signature(plain).parameters)

    w(g, floats(3))
    w(g, floats(3))
    plain.__code__ = (lambda a: a).__code__
    w(g, floats(3))
    plain.__wrapped__ = own.method
    w(g, floats(3))
    plain.__signature__ = inspect.signature(own.wrapped)
    w(g, floats(3))


@case
def defaults_that_are_the_values(w: World) -> None:
    def marked() -> None:
        pass

    marked.mark = None  # type: ignore[attr-defined]

    @w.compiled
    def f(x):
        return x + 1 if getattr(marked, "mark", None) is None else x * marked.mark

    for _ in range(3):
        w(f, floats(3))
    w.replayed(f)
    marked.mark = 4.0  # type: ignore[attr-defined]
    w(f, floats(3))
    del marked.mark  # type: ignore[attr-defined]
    w(f, floats(3))


@case
def properties_by_getattr(w: World) -> None:
    class Owner:
        factor = 2.0

        @property
        def scale(self) -> float:
            return self.factor * 2

        @property
        def missing(self) -> float:
            raise AttributeError("none")

    own = Owner()

    @w.compiled
    def f(x):
        return x * getattr(own, "scale") * getattr(own, "scale", 1.0), hasattr(own, "scale")  # noqa: B009

    @w.compiled
    def g(x):
        return x * getattr(own, "missing", 3.0), hasattr(own, "missing")

    for _ in range(3):
        w(f, floats(3))
        w(g, floats(3))
    w.replayed(f)
    own.factor = 5.0
    w(f, floats(3))
    Owner.scale = property(lambda self: 1.5)  # type: ignore[assignment]
    w(f, floats(3))


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> float: ...


class Square(Shape):
    side = 2.0

    def area(self) -> float:
        return self.side**2


class Other:
    side = 3.0


@case
def abstract_classes(w: World) -> None:
    class Late(Shape):
        def area(self) -> float:
            return 1.0

    class Registered:
        side = 5.0

    @w.compiled
    def f(x, thing):
        if isinstance(thing, Shape):
            return x + 1
        return x - 1 if issubclass(type(thing), (Shape, Sequence)) else x * thing.side

    things = [Square(), Other(), Late(), Registered()]
    for _ in range(2):
        for thing in things:
            w(f, floats(3), thing)
    w.replayed(f, len(things))
    Shape.register(Registered)
    for thing in things:
        w(f, floats(3), thing)


class Rows(Sequence):
    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, place: Any) -> Any:
        if place >= self.count:
            raise IndexError(place)
        return place + 1


@case
def objects_that_c_code_goes_through(w: World) -> None:
    held = {"rows": Rows(4)}

    @w.compiled
    def f(x):
        total = x * 0
        for weight, row in zip([1.0, 2.0], held["rows"]):
            total = total + x * weight * row
        for place, row in enumerate(held["rows"]):
            total = total + place * row
        return total + sum(map(float, held["rows"]))

    for _ in range(3):
        w(f, floats(3))
    w.replayed(f)
    for count in (2, 1, 7, 4):
        held["rows"] = Rows(count)
        w(f, floats(3))


LOG: list[str] = []


def careful(x: Any, catches: Any = ValueError) -> Iterator[Any]:
    try:
        yield x
        yield x * 2
    except (KeyError, IndexError):
        LOG.append("caught")


def loud(x: Any) -> Iterator[Any]:
    try:
        yield x
        yield x * 2
    except (GeneratorExit, KeyError):
        LOG.append("left")
        raise


def asking(x: Any) -> Iterator[Any]:
    try:
        try:
            yield x
            yield x * 2
        except KeyError:
            LOG.append("inner")
    except BaseException:
        LOG.append("outer")
        raise


@case
def generators_that_are_left(w: World) -> None:
    """What GeneratorExit passes through, and what it does not."""
    LOG.clear()
    for made in (careful, loud, asking):

        @w.compiled
        def f(x, made=made):
            waiting = zip([1.0], made(x))
            products = [a * b for a, b in waiting]
            return products[0]

        for _ in range(3):
            w(f, floats(3))
            w.note(LOG)


@case
def what_a_generator_catches_is_rebound(w: World) -> None:
    LOG.clear()

    @w.compiled
    def f(x):
        waiting = careful(x)
        first = next(waiting)
        del waiting
        return first + 1

    for _ in range(3):
        w(f, floats(3))
    w.replayed(f)
    try:
        globals()["KeyError"] = GeneratorExit
        w(f, floats(3))
        w.note(LOG)
    finally:
        del globals()["KeyError"]
    w(f, floats(3))


class Output(collections.OrderedDict):
    """By places, too, as outputs of models are."""

    def __getitem__(self, key: Any) -> Any:
        return dict(self.items())[key] if isinstance(key, str) else self.to_tuple()[key]

    def to_tuple(self) -> tuple[Any, ...]:
        return tuple(self[key] for key in self.keys())


@case
def ordered_dicts_with_items_of_their_own(w: World) -> None:
    @w.compiled
    def f(x):
        made = Output()
        made["a"] = x
        made["b"] = x * 2
        return made[0] + made["b"], made, isinstance(made, Kind)

    for _ in range(3):
        w(f, floats(3))
    w.replayed(f)
