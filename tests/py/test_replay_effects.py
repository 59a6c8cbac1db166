"""What a path makes visible, and that nothing before it may miss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from replay_paths import SCOPE, Runs, Steps, X, empty_cell


def test_effects_happen_in_order_behind_the_commit() -> None:
    log: list[Any] = []

    class Loud:
        def __setattr__(self, name: str, value: Any) -> None:
            log.append(("set", name, value))

        def __delattr__(self, name: str) -> None:
            log.append(("delete", name))

        def __setitem__(self, key: Any, value: Any) -> None:
            log.append(("item", key, value))

        def __delitem__(self, key: Any) -> None:
            log.append(("unitem", key))

    scope: dict[str, Any] = {}
    cell = empty_cell()
    runs = Runs(
        [
            ("argument", 0, 0),
            ("constant", 1, 5),
            ("constant", 2, log.append),
            ("constant", 4, cell),
            ("commit",),
            ("set_attribute", 0, "a", 1),
            ("set_item", 0, 1, 1),
            ("effect", 3, 2, [1], ()),
            ("delete_item", 0, 1),
            ("delete_attribute", 0, "a"),
            ("set_variable", scope, "v", 1),
            ("set_cell", 4, 1),
            ("return", 3),
        ],
        Loud(),
    )
    assert log == []
    assert runs(Loud()) is None
    assert log == [("set", "a", 5), ("item", 5, 5), 5, ("unitem", 5), ("delete", "a")]
    assert scope == {"v": 5}
    assert cell.cell_contents == 5


def test_containers_are_replaced_in_place() -> None:
    def steps(replace: tuple[Any, ...]) -> Steps:
        return [
            ("argument", 0, 0),
            ("constant", 1, "a"),
            ("constant", 2, "b"),
            ("commit",),
            replace,
            ("return", 0),
        ]

    for step, before, after in (
        (("list_replace", 0, [1, 2, 1]), [1, 2], ["a", "b", "a"]),
        (("list_replace", 0, []), [1, 2], []),
        (("dict_fill", 0, [1, 2]), {1: 2}, {1: 2, "a": "b"}),
    ):
        runs = Runs(steps(step), before)
        assert runs(before) is before
        assert before == after


def test_copyto_handles_overlap_and_read_only_arrays() -> None:
    runs = Runs(
        [("argument", 0, 0), ("argument", 1, 1), ("commit",), ("copyto", 0, 1), ("return", 0)], X, X
    )
    a = np.arange(6.0)
    expected = a.copy()
    expected[1:] = expected[:-1].copy()
    runs(a[1:], a[:-1])
    np.testing.assert_array_equal(a, expected)
    with pytest.raises(ValueError, match="read-only"):
        runs(np.broadcast_to(1.0, (3,)), np.ones(3))


def test_an_error_of_an_effect_is_the_programs_own() -> None:
    done: list[int] = []
    runs = Runs(
        [
            ("argument", 0, 0),
            ("constant", 1, done.append),
            ("commit",),
            ("effect", 2, 1, [0], ()),
            ("set_item", 0, 0, 0),
            ("effect", 3, 1, [0], ()),
            ("return", 3),
        ],
        1,
    )
    with pytest.raises(TypeError, match="does not support item assignment"):
        runs(1)
    assert done == [1]
    assert runs.stats.drops == 0


@pytest.mark.parametrize(
    "late",
    [("guard_length", 0, 1), ("item", 2, 0, 0), ("variable", 2, SCOPE, "name"), ("fallback",)],
    ids=lambda step: step[0],
)
def test_nothing_that_may_miss_stands_behind_the_commit(late: tuple[Any, ...]) -> None:
    """The original runs instead: an effect must not happen twice."""
    seen: list[Any] = []
    end = [("return", 0)] if late[0] != "fallback" else []
    late = late if late[0] != "fallback" else ("fallback", "late", ("", 0))
    runs = Runs(
        [
            ("argument", 0, 0),
            ("constant", 1, seen.append),
            ("commit",),
            ("effect", 3, 1, [0], ()),
            late,
            *end,
        ],
        [1],
    )
    assert runs([1]) == runs([]) == "original"
    assert seen == []
    assert "after an effect" in runs.compiled.fallback_reasons[0]
