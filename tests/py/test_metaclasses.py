"""What a class is asked for goes to its metaclass first, which the program may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm


def made(kind: str) -> tuple[type, type]:
    class Meta(type):
        pass

    def doubled(*given: Any) -> Any:
        return given[-1] * 2

    wrapped = {"static": staticmethod(doubled), "class": classmethod(doubled), "plain": doubled}

    class Class(metaclass=Meta):
        k = 2.0
        g = wrapped[kind]

    return Class, Meta


def a_property(_cls: Any, meta: Any) -> None:
    meta.g = property(lambda _: lambda x: x * 100)
    meta.k = property(lambda _: 50.0)


def a_function(_cls: Any, meta: Any) -> None:
    """No data descriptor: what the class has goes first."""
    meta.g = lambda _, x: x * 100
    meta.k = 50.0


def a_getattribute(_cls: Any, meta: Any) -> None:
    answers: dict[str, Any] = {"g": lambda x: x * 7, "k": 9.0}
    meta.__getattribute__ = lambda cls, name: answers.get(name) or type.__getattribute__(cls, name)


def another_class(cls: Any, meta: Any) -> None:
    class Other(meta):
        g = property(lambda _: lambda x: x * 31)
        k = property(lambda _: 17.0)

    cls.__class__ = Other


def special_methods(_cls: Any, meta: Any) -> None:
    meta.__instancecheck__ = lambda *_: True
    meta.__subclasscheck__ = lambda *_: True
    meta.__bool__ = lambda _: False
    meta.__getattr__ = lambda *_: 5.0


USES = [
    lambda cls, x: cls.g(x) + 1,
    lambda cls, x: (cls.g, x)[0](x) + 1,
    lambda cls, x: cls.k * x,
    lambda cls, x: getattr(cls, "k") * x,  # noqa: B009
    lambda cls, x: cls().k * x,
    lambda cls, x: (hasattr(cls, "k"), x * 2),
    lambda cls, x: (hasattr(cls, "there"), x * 2),
    lambda cls, x: getattr(cls, "there", 3.0) * x,
    lambda cls, x: (isinstance(x, cls), x * 2),
    lambda cls, x: (issubclass(int, cls), x * 2),
    lambda cls, x: x * 2 if cls else x * 3,
]


@pytest.mark.parametrize("kind", ["static", "class", "plain"])
@pytest.mark.parametrize(
    "change", [a_property, a_function, a_getattribute, another_class, special_methods]
)
def test_a_changed_metaclass_is_seen(kind: str, change: Callable[..., None]) -> None:
    for number, use in enumerate(USES):
        compiled, x = dvm.compile(use), np.ones(2)
        cls, meta = made(kind)
        for step in range(6):
            if step == 3:
                assert compiled.stats.hits == 2, (number, compiled.fallback_reasons)
                change(cls, meta)
            assert repr(compiled(cls, x)) == repr(use(cls, x)), (number, step)
