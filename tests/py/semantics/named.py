"""Named tuples and enumerations, made or found by a program; slices that are looked into."""

from __future__ import annotations

import collections
import enum
import typing

import numpy as np

from semantics.world import World, case, floats

Pair = collections.namedtuple("Pair", "first second")


class Point(typing.NamedTuple):
    x: typing.Any
    y: typing.Any = 2.0


class Mode(enum.Enum):
    DOUBLE = 2
    HALF = 0.5


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@case
def named_tuples_that_are_made(w: World) -> None:
    @w.compiled
    def f(x):
        pair = Pair(x * 2, second=x)
        first, second = pair
        point = Point(pair[0], *pair[1:])
        again = Pair(pair, point)
        return pair, point, again, again.first is pair, first + second, Point(x).y, len(pair)

    for n in (3, 3, 4, 0):
        w(f, floats(n))
    w.captured(f, 1)

    @w.compiled
    def g(pair):
        return pair._replace(second=pair.first * 2), pair == pair, isinstance(pair, tuple), pair

    for n in (3, 4):
        w(g, Pair(floats(n), 1))

    @w.compiled
    def h(x):
        return Pair(x)

    w(h, floats(2))


@case
def methods_of_named_tuples(w: World) -> None:
    pair = collections.namedtuple("pair", "first second")

    @w.compiled
    def f(x):
        made = pair(x, x * 2)
        named = made._asdict()
        return named["second"] + 1, made._fields, [*named], len(made)

    @w.compiled
    def g(x):
        made = pair(x, x * 2)._replace(first=1)
        return made, pair._make([x, 3])

    for n in (3, 3, 4):
        w(f, floats(n))
        w(g, floats(n))
    w.captured(f, 1)
    w.captured(g, 1)
    pair._asdict = lambda self: {"second": self[0]}
    pair._fields = ("some",)
    for n in (3, 3):
        w(f, floats(n))


@case
def members_of_enumerations(w: World) -> None:
    @w.compiled
    def f(x, mode, level):
        if mode is Mode.DOUBLE:
            x = x + 1
        same = mode == Mode.HALF, Level.LOW != level, {Mode.HALF: 1}.get(mode)
        return x * mode.value, mode.name, same, mode, level, x * level.value

    for n in (3, 3, 4):
        for mode in Mode:
            w(f, floats(n), mode, Level.LOW)
    w.captured(f, 2)
    w(f, floats(3), Mode.HALF, Level.HIGH)
    w(f, floats(3), Level.LOW, Level.HIGH)


@case
def slices_and_grids(w: World) -> None:
    @w.compiled
    def f(x, k):
        part = slice(k, None, 2)
        least = min([k], default=0), max([], default=k), min((), default=None)
        return x[part], part.start, part.step is None, part.stop, least

    for n in (3, 3, 4, 0):
        w(f, floats(n), 1)
        w(f, floats(n), 0)

    @w.compiled
    def g(x):
        rows, columns = np.mgrid[0 : x.shape[0], 0 : x.shape[1]]
        y, z = np.ogrid[0 : x.shape[0], : x.shape[1]]
        return rows * x + columns, y + z, [x[i] for i in np.ndindex(1, 2)]

    for shape in ((3, 4), (3, 4), (1, 2), (5, 2)):
        w(g, floats(*shape))


@case
def members_as_numbers(w: World) -> None:
    @w.compiled
    def f(x, mode, level):
        found = level > Level.LOW, x * level, level + 1, mode in (Mode.HALF, None)
        return found, str(mode), f"{level}", level == 1, mode == 2

    for n in (3, 3, 4):
        w(f, floats(n), Mode.HALF, Level.HIGH)
        w(f, floats(n), Mode.DOUBLE, Level.LOW)

    class Loose(enum.Enum):
        ONE = 1

    @w.compiled
    def g(x, member, other):
        return x + 1 if member == other else x

    w(g, floats(3), Loose.ONE, Mode.HALF)
    w(g, floats(3), Loose.ONE, Mode.HALF)
    Loose.__eq__ = lambda self, other: True
    w(g, floats(3), Loose.ONE, Mode.HALF)
    w(g, floats(3), Loose.ONE, Loose.ONE)
