"""No attribute of a user's object is looked up but as the program does.

Objects count who asks them for what, by `__getattr__`, by `__getattribute__` or by a metaclass;
programs of one line each do something with such an object, plain and compiled.
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dvm

LOG: collections.Counter[str] = collections.Counter()


class Counting(type):
    """A metaclass that counts what its classes are asked for."""

    def __getattribute__(cls, name: str) -> Any:
        LOG[f"class {name}"] += 1
        return type.__getattribute__(cls, name)


class Methods:
    """What programs do with objects."""

    limit = 3

    def __init__(self) -> None:
        self.scale = 2.0
        self.data = [1, 2]
        self.name = "a"

    def __call__(self, x: Any) -> Any:
        return x * 2

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[int]:
        return iter([1, 2])

    def __getitem__(self, i: int) -> int:
        if i > 5:
            raise IndexError
        return i * 2

    def __add__(self, x: Any) -> Any:
        return x + 1

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        return other is self

    def __hash__(self) -> int:
        return 7

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> bool:
        return False

    def __lt__(self, other: object) -> bool:
        return False

    def __contains__(self, item: object) -> bool:
        return True

    def __float__(self) -> float:
        return 2.0

    def __index__(self) -> int:
        return 1

    def __str__(self) -> str:
        return "text"

    def method(self, x: Any) -> Any:
        return x + 1


def missing(_self: Any, name: str) -> Any:
    LOG[name] += 1
    raise KeyError(name)  # and no AttributeError, which would be taken for an answer


def any_at_all(self: Any, name: str) -> Any:
    LOG[name] += 1
    return object.__getattribute__(self, name)


def made(metaclass: type, **hooks: Any) -> type:
    body = {name: value for name, value in vars(Methods).items() if name != "__dict__"}
    body.pop("__weakref__")
    return metaclass("Watched", (), body | hooks)


CLASSES = {
    "getattr": made(type, __getattr__=missing),
    "getattribute": made(type, __getattribute__=any_at_all),
    "both": made(type, __getattribute__=any_at_all, __getattr__=missing),
    "metaclass": made(Counting),
}


def with_object(o: Any, x: Any) -> Any:
    with o as held:
        return held.scale * x


def in_a_loop(o: Any, x: Any) -> Any:
    total = x * 0
    for _ in range(5):
        total = total + o.scale
    return total


def raised(o: Any) -> bool:
    try:
        raise ValueError(o)
    except ValueError as error:
        return error.args[0] is o


PROGRAMS = """
o(x) + 1
(x * 2, o)
len(o) + x
[o, x][1] * 2
x if o is None else x * 3
(isinstance(o, int), x)
(isinstance(o, type(o)), x)
isinstance(x, type(o))
list(map(o, [x, x]))
{'k': o}['k'](x)
o.scale * x
o.method(x)
o.limit * x
type(o).limit * x
[i * x for i in o][0]
o[1] * x
o + x
x + o
(o == o, x * 2)
(o in [o], x * 2)
({o: 1}[o], x * 2)
(bool(o), x * 2)
(float(o), x * 2)
x[o]
x[:o]
(f'{o}', x * 2)
(1 in o, x * 2)
np.add(o, x)
(getattr(o, 'scale'), x * 2)
(hasattr(o, 'scale'), x * 2)
(hasattr(o, 'nothing'), x * 2)
(getattr(o, 'nothing', None), x * 2)
(callable(o), x * 2)
(type(o) is int, x * 2)
functools.partial(o, x)()
setattr(o, 'scale', 3.0)
(o.__class__, x * 2)
(vars(o), x * 2)
o.data.append(1)
(id(o), x * 2)
(hash(o), x * 2)
(*o, x)
sum(o) * x
list(zip(o, [x, x]))
(operator.attrgetter('scale')(o), x * 2)
(operator.methodcaller('method', x)(o), x * 2)
np.array([o, o], dtype=object)
np.sum(x, axis=o)
math.sqrt(o)
min(o, o)
o.nothing
o()
[o] * 2
(lambda q=o: q)()
issubclass(type(o), int)
(o.name == 'a', x * 2)
x.dot(o)
any([o])
dict.fromkeys([o])
filter(o, [x])
o.method
sorted([3, 1], key=o)
np.where(o, x, x)
x * o.scale + o.limit
reversed(o)
raised(o)
with_object(o, x)
in_a_loop(o, x)
""".strip().splitlines()


def outcomes(function: Callable[..., Any], cls: type) -> list[Any]:
    """What four calls give, and what the object was asked for, in all."""
    o, x, seen = cls(), np.ones(3), []
    LOG.clear()
    for _ in range(4):
        try:
            seen.append(type(function(o, x)) is np.ndarray)
        except Exception as error:
            seen.append(type(error))
    return [*seen, dict(LOG)]


@pytest.mark.parametrize("kind", CLASSES)
def test_objects_are_asked_for_what_the_program_asks_for(kind: str) -> None:
    import functools
    import math

    different = []
    names = {"functools": functools, "math": math, "operator": operator, "np": np}
    names |= {"raised": raised, "with_object": with_object, "in_a_loop": in_a_loop}
    for text in PROGRAMS:
        plain = eval(f"lambda o, x: {text}", names)
        expected = outcomes(plain, CLASSES[kind])
        compiled = dvm.compile(plain)
        got = outcomes(compiled, CLASSES[kind])
        if got != expected:
            different.append((text, got, expected))
        assert not any("DVM-X001" in reason for reason in compiled.fallback_reasons), text
    assert different == []


@pytest.mark.parametrize("kind", CLASSES)
def test_an_object_is_compiled_without_being_asked(kind: str) -> None:
    o, x = CLASSES[kind](), np.ones(3)
    LOG.clear()
    o(x)
    plain = dict(LOG)
    LOG.clear()
    compiled = dvm.compile(o)
    assert dict(LOG) == {}
    for _ in range(3):
        LOG.clear()
        np.testing.assert_array_equal(compiled(x), x * 2)
        assert dict(LOG) == plain
    assert compiled.stats.hits == 2, compiled.fallback_reasons
    assert list(compiled.__signature__.parameters) == ["x"]


def test_hashes_and_equalities_of_callables_are_not_asked_for() -> None:
    asked = []

    class Meta(type):
        def __hash__(cls) -> int:
            asked.append("hash")
            return 1

        def __eq__(cls, other: object) -> bool:
            asked.append("eq")
            return cls is other

    class Made(metaclass=Meta):
        def __init__(self, v: float) -> None:
            self.v = v

    def f(x):
        return Made(2.0).v * x

    compiled = dvm.compile(f)
    for _ in range(3):
        asked.clear()
        np.testing.assert_array_equal(compiled(np.ones(2)), [2.0, 2.0])
        assert asked == []
