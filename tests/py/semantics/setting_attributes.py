"""Attributes set in other ways than by assignment: object.__setattr__, setattr, vars, hooks."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from dvm.magpy_capture.meanings.numpy.array_attributes import SHAPE_IS_DEPRECATED
from semantics.world import World, case, floats


@dataclasses.dataclass(frozen=True)
class Box:
    low: float
    values: np.ndarray
    size: int = dataclasses.field(init=False, default=0)

    def __post_init__(self):
        object.__setattr__(self, "size", len(self.values))

    @property
    def width(self):
        return self.values.max(initial=0.0) - self.low

    def moved(self, by):
        return dataclasses.replace(self, low=self.low + by, values=self.values + by)


@case
def frozen_and_made_inside(w: World) -> None:
    @w.compiled
    def f(x, low):
        box = Box(low, x * 2)
        other = box.moved(1.5)
        return box, other, other.width, box == box, other.size

    for n in (3, 3, 4, 1):
        w(f, floats(n), 0.5)


@case
def frozen_and_given(w: World) -> None:
    @w.compiled
    def f(box, by):
        wide = dataclasses.replace(box, low=box.low - by)
        object.__setattr__(box, "low", wide.low * 2)
        return wide, wide.values is box.values, box.low

    for n in (3, 3, 4, 1):
        box = w.watch(Box(0.5, floats(n)))
        w(f, box, 1.0)
        w(f, box, 2.0)


@case
def frozen_and_written_it_raises(w: World) -> None:
    @w.compiled
    def f(box, x):
        if x.size > 3:
            box.low = 1.0
        return box.low * x

    for n in (3, 4, 3, 4):
        w(f, Box(0.5, floats(n)), floats(n))


@case
def a_hook_of_the_class(w: World) -> None:
    class Counted:
        def __init__(self, x):
            self.x = x

        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            object.__setattr__(self, "writes", getattr(self, "writes", 0) + 1)

    @w.compiled
    def f(c, y):
        c.x = c.x + y
        c.y = y.sum()
        d = Counted(y)
        return c.writes, d, d.writes

    for n in (3, 3, 4):
        c = w.watch(Counted(floats(n)))
        w(f, c, floats(n))
        w(f, c, floats(n))


@case
def setattr_with_a_name(w: World) -> None:
    class Bag:
        limit = 3

    @w.compiled
    def f(bag, x, names):
        for i, name in enumerate(names):
            setattr(bag, name, x * i)
        setattr(bag, "limit", getattr(bag, "limit") + 1)  # noqa: B009, B010
        made = Bag()
        setattr(made, names[0], x)
        return made, bag.limit, bag.a

    for n in (3, 3, 4):
        bag = w.watch(Bag())
        w(f, bag, floats(n), ["a", "b"])
        w(f, bag, floats(n), ["a", "b"])
        w(f, bag, floats(n), ["b", "a"])


@case
def setattr_of_slots_and_properties(w: World) -> None:
    class Slots:
        __slots__ = ("a", "b")

    class Checked:
        @property
        def a(self):
            return self._a

        @a.setter
        def a(self, value):
            self._a = value * 2

    @w.compiled
    def f(s, c, x):
        setattr(s, "a", x + 1)  # noqa: B010
        s.b = s.a
        c.a = x
        setattr(c, "a", c.a + 1)  # noqa: B010
        return s.b is s.a, c.a

    for n in (3, 3, 4):
        s, c = w.watch(Slots()), w.watch(Checked())
        w(f, s, c, floats(n))
        w(f, s, c, floats(n))


@case
def vars_is_updated(w: World) -> None:
    class Options:
        def __init__(self, **given):
            self.__dict__.update(given)

    @w.compiled
    def f(x, scale):
        options = Options(scale=scale, name="a")
        vars(options)["shift"] = x.sum()
        return x * options.scale + options.shift, options

    for n in (3, 3, 4):
        w(f, floats(n), 2.0)
        w(f, floats(n), floats(n))


@case
def partials_and_wrapped_functions(w: World) -> None:
    def scaled(x, by=2):
        return x * by

    @w.compiled
    def f(x, by):
        double = functools.partial(scaled, by=by)
        return double(x), scaled(x)

    for n in (3, 3, 4):
        w(f, floats(n), 2.0)
        w(f, floats(n), 3)


@case
def shape_of_new_arrays(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        same = y
        y.shape = (2, -1)
        y += 1
        first = y.shape
        y.shape = -1
        return y, same is y, first, same.shape, y.T

    for size in (6, 6, 8, 0):
        w(f, floats(size))
    if not SHAPE_IS_DEPRECATED:
        w.captured(f, 1)
    w(f, floats(3))

    @w.compiled
    def parts(x):
        y = x + 1
        row = y[:2]
        y.shape = (2, 3)
        y += 1
        return row, y

    w(parts, floats(6))
    w(parts, floats(6))

    @w.compiled
    def argument(x):
        x.shape = (2, 3)
        return x * 2

    w(argument, floats(6))
    w(argument, floats(6))


@case
def all_elements_through_flat_and_views(w: World) -> None:
    @w.compiled
    def f(x, z):
        z.flat = x * 2
        return z + 1

    for dtype in (np.float64, np.int32):
        for order in "CF":
            for shape in ((2, 3), (3, 2), (2, 3)):
                w(f, floats(6), np.zeros(shape, dtype, order))
    w(f, floats(4), np.zeros((2, 3)))  # which is repeated

    @w.compiled
    def within(z):
        z.flat = z[::-1]
        return z

    for _ in range(2):
        w(within, floats(6))

    @w.compiled
    def turned(x, z):
        z.T[...] = x.reshape(3, 2)
        z.T[0] = 7
        z.real = z + 1
        return z.sum()

    for _ in range(3):
        w(turned, floats(6), np.zeros((2, 3)))
    w(turned, floats(6), np.zeros((3, 2)))
    w.captured(turned, 1)
