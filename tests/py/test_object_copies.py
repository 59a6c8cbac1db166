"""Deep copies of objects, and dicts by members of enumerations."""

from __future__ import annotations

import copy
import enum
from typing import Any

import numpy as np
import pytest

import dvm


class Settings:
    """Leaves it to `object` what a copy of it is."""

    kind = "plain"

    def __init__(self, scale: Any, **more: Any) -> None:
        self.scale = scale
        self.more = more
        self.held = [scale, {"scale": scale}]
        self.late: Any = None

    def to_dict(self) -> dict[str, Any]:
        made = copy.deepcopy(self.__dict__)
        del made["late"]
        return made


class Counted(Settings):
    def __deepcopy__(self, memo: Any) -> Any:
        return Counted(self.scale * 2)


class Reduced(Settings):
    def __reduce__(self) -> Any:
        return Reduced, (self.scale * 3,)


class Slotted:
    __slots__ = ("scale",)

    def __init__(self, scale: Any) -> None:
        self.scale = scale


class Step(enum.StrEnum):
    ADD, SCALE = "add", "scale"


class Odd(enum.Enum):
    ONE, TWO = 1, 2

    def __hash__(self) -> int:
        return 7


GIVEN = Settings(np.arange(3.0), a=1)
STEPS = {Step.ADD: 1.0, Step.SCALE: 3.0}
ODD = {Odd.ONE: 1.0, Odd.TWO: 3.0}


def own(x: Any) -> Any:
    made = Settings(x * 2, a=x)
    copied = copy.deepcopy(made)
    copied.scale += 1
    copied.late = made.held[0] is made.scale, copied.held[0] is copied.scale
    return made, copied


def of_the_caller(x: Any) -> Any:
    copied = copy.deepcopy(GIVEN)
    copied.scale[0] = x.sum()
    return copied, GIVEN.scale * x[0]


def its_dict(x: Any) -> Any:
    made = Settings(x * 2)
    table = made.to_dict()
    table["scale"][0] = 5
    del made.late
    made.late = x
    return table, made, list(vars(made))


def its_own_way(x: Any) -> Any:
    return copy.deepcopy(Counted(x)), copy.deepcopy(Reduced(x))


def of_slots(x: Any) -> Any:
    return copy.deepcopy(Slotted(x)).scale + 1


def by_member(x: Any, step: Any = Step.SCALE) -> Any:
    return x * STEPS[step] if Step.ADD in STEPS and "scale" in STEPS else x


def by_odd_member(x: Any) -> Any:
    return x * ODD[Odd.TWO]


def parts(thing: Any) -> Any:
    """To compare."""
    if isinstance(thing, (Settings, Slotted)):
        return type(thing).__name__, parts(getattr(thing, "__dict__", None))
    if isinstance(thing, dict):
        return [(key, parts(each)) for key, each in thing.items()]
    if isinstance(thing, (list, tuple)):
        return list(map(parts, thing))
    return thing.tolist() if isinstance(thing, np.ndarray) else thing


@pytest.mark.parametrize(
    ("program", "is_captured"),
    [
        (own, True),
        (of_the_caller, True),
        (its_dict, True),
        (its_own_way, False),
        (of_slots, False),
        (by_member, True),
        (by_odd_member, False),
    ],
)
def test_it_is_as_python_has_it(program: Any, is_captured: bool) -> None:
    compiled = dvm.compile(program)
    with dvm.stance("force_capture"):
        for count in (3, 3, 5, 4):
            x = np.linspace(1, 2, count)
            assert parts(compiled(x)) == parts(program(x))
    assert GIVEN.scale.tolist() == [0, 1, 2]
    stats = compiled.stats
    assert (stats.hits == 3) == is_captured, compiled.fallback_reasons


def test_what_a_class_says_of_copies_is_asked_on_each_call() -> None:
    compiled = dvm.compile(own)
    with dvm.stance("force_capture"):
        compiled(np.ones(3))
        Settings.__deepcopy__ = lambda self, _: Settings(self.scale * 7)  # type: ignore[attr-defined]
        try:
            assert parts(compiled(np.ones(3))) == parts(own(np.ones(3)))
        finally:
            del Settings.__deepcopy__  # type: ignore[attr-defined]
        assert parts(compiled(np.ones(3))) == parts(own(np.ones(3)))


def test_another_member_is_another_path() -> None:
    compiled = dvm.compile(by_member)
    with dvm.stance("force_capture"):
        for step in (Step.SCALE, Step.ADD, Step.SCALE, Step.ADD):
            np.testing.assert_array_equal(compiled(np.ones(2), step), by_member(np.ones(2), step))
    assert (compiled.stats.captures, compiled.stats.hits) == (2, 2)
