"""functools.cached_property, and programs that look into an object's own __dict__."""

from __future__ import annotations

import functools

import numpy as np

from semantics.world import World, case, floats


class Sample:
    unit = "m"

    def __init__(self, values):
        self.values = values

    @functools.cached_property
    def mean(self):
        return self.values.mean()

    @functools.cached_property
    def centred(self):
        return self.values - self.mean

    @functools.cached_property
    def size(self):
        return len(self.values)


@case
def computed_once(w: World) -> None:
    @w.compiled
    def f(s):
        a = s.mean
        s.values = s.values * 2
        return a, s.mean, s.mean is a, s.size

    for n in (4, 4, 8, 1):
        s = w.watch(Sample(floats(n)))
        w(f, s)
        w(f, s)
        w(f, Sample(floats(n)))


@case
def arrays_that_are_kept(w: World) -> None:
    @w.compiled
    def f(s):
        c = s.centred
        c += 1
        return s.centred, c is s.centred, "mean" in s.__dict__

    for n in (4, 4, 8, 1):
        s = w.watch(Sample(floats(n)))
        w(f, s)
        w(f, s)
        del s.mean
        w(f, s)
        del s.centred
        w(f, s)


@case
def of_an_object_made_inside(w: World) -> None:
    @w.compiled
    def f(x):
        s = Sample(x)
        first = s.centred
        return s, first is s.centred, s.size, s.mean

    for n in (4, 4, 8, 1):
        w(f, floats(n))


@case
def given_before_or_set_by_hand(w: World) -> None:
    @w.compiled
    def f(s, x):
        if s.size > 3:
            s.mean = x.sum()
        return s.mean * x, s.centred

    for n in (3, 4, 3, 4):
        s = Sample(floats(n))
        w(f, s, floats(n))
        s = w.watch(Sample(floats(n)))
        s.__dict__["mean"] = 5.0
        w(f, s, floats(n))


@case
def the_own_dict_is_read(w: World) -> None:
    @w.compiled
    def f(s, x):
        own = s.__dict__
        has = "scale" in own
        scale = own.get("scale", 1.0)
        own["last"] = x * scale
        return has, scale, s.last, own["values"], own.get("unit"), vars(s)["last"] is s.last

    for n in (3, 4, 3):
        s = w.watch(Sample(floats(n)))
        w(f, s, floats(n))
        s.scale = 2.5
        w(f, s, floats(n))
        w(f, s, floats(n))


@case
def a_subclass_and_a_plain_property(w: World) -> None:
    class Wide(Sample):
        @property
        def spread(self):
            return self.centred.max() - self.centred.min()

        @functools.cached_property
        def mean(self):
            return np.median(self.values)

    @w.compiled
    def f(s):
        return s.spread, s.mean, s.unit

    for n in (4, 4, 8, 1):
        s = w.watch(Wide(floats(n)))
        w(f, s)
        w(f, s)


@case
def one_that_raises(w: World) -> None:
    class Checked(Sample):
        @functools.cached_property
        def first(self):
            if not len(self.values):
                raise ValueError("empty")
            return self.values[0]

    @w.compiled
    def f(s):
        return s.first + s.values

    for n in (4, 0, 3, 0, 4):
        s = w.watch(Checked(floats(n)))
        w(f, s)
        w(f, s)
