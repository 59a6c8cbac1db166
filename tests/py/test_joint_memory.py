"""Where a view lies in its owner: what is found makes that view again."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dvm.magpy_capture.tensors.joint_memory import Lying, place_in


@st.composite
def views(draw: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """An array in C order, and a rectangle of it, or of it in one row."""
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    owner = np.arange(np.prod(shape)).reshape(shape)
    seen = owner.reshape(-1) if draw(st.booleans()) else owner
    key = []
    for size in seen.shape:
        start = draw(st.integers(0, size - 1))
        key.append(slice(start, draw(st.integers(start + 1, size)), draw(st.integers(1, 3))))
    return owner, seen[tuple(key)]


@given(views())
def test_a_place_makes_the_view_again(drawn: Any) -> None:
    owner, view = drawn
    item = owner.itemsize
    strides = tuple(stride // item for stride in view.strides)
    offset = (view.ctypes.data - owner.ctypes.data) // item
    found = place_in(owner.shape, Lying(view.shape, strides, offset))
    if found is None:
        return  # such a view has no place that could be told
    shape, key = found
    made = (owner if shape is None else owner.reshape(shape))[key]
    assert made.shape == view.shape
    assert made.strides == view.strides
    assert made.ctypes.data == view.ctypes.data


@given(st.integers(3, 9), st.integers(1, 4))
def test_parts_of_rows_have_a_place_for_all_sizes(rows: int, columns: int) -> None:
    def place(start: int, stop: int) -> Any:
        return place_in(
            (rows, columns), Lying((stop - start, columns), (columns, 1), start * columns)
        )

    assert place(0, rows) == (None, (slice(None), slice(None)))
    assert place(rows - 1, rows)[1][0] == slice(-1, None)
