"""A loop that turns out not to roll goes on turn by turn where it is: nothing is lowered again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from dvm.magpy_capture.walk.walk import Walk


@dataclasses.dataclass
class Parts:
    first: Any
    second: Any = None
    third: Any = None


def in_a_set(x: Any) -> Any:
    names = {"n" + name for name in ("a", "b", "c") if x.sum() < 1e9}
    return x + len(names)


def of_fields(x: Any) -> Any:
    parts = Parts(x, x * 2)
    given = [field.name for field in dataclasses.fields(parts) if x.sum() < 1e9]
    return sum(getattr(parts, name) for name in given if getattr(parts, name) is not None)


def all_of_fields(x: Any) -> Any:
    if all(field.default is None and x.sum() < 1e9 for field in dataclasses.fields(Parts)[1:]):
        return x - 1
    return x


PROGRAMS = {f.__name__: f for f in (in_a_set, of_fields, all_of_fields)}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_came_before_is_lowered_once(
    program: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    walks, run = [], Walk.run

    def counted(walk: Walk) -> None:
        if "begin" not in walk.record.recording:  # and no turn
            walks.append(walk)
        run(walk)

    monkeypatch.setattr(Walk, "run", counted)
    compiled = dvm.compile(program)
    for count in (4, 5):
        x = np.arange(float(count))
        np.testing.assert_array_equal(compiled(x), program(x))
    assert (compiled.stats.captures, compiled.stats.hits) == (1, 1), compiled.fallback_reasons
    assert len(walks) == 1
