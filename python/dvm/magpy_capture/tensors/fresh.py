"""New tensors, and orders of axes in memory."""

from __future__ import annotations

import functools
from collections.abc import Sequence as SequenceOf

from dvm import _dvm
from dvm.magpy_capture.library import Library
from dvm.magpy_capture.values import Content, Storage, Strides, Tensor

Order = tuple[int, ...]


@functools.cache
def c_order(rank: int) -> Order:
    return tuple(range(rank))


def fresh(
    value: int,
    dtype: str,
    shape: SequenceOf[_dvm.Dim],
    order: Order | None = None,
    *,
    library: Library,
    is_scalar: bool = False,
) -> Tensor:
    """A new array of a library whose content is `value`."""
    order = c_order(len(shape)) if order is None else order
    is_scalar = is_scalar and library.has_scalars
    made = Tensor(Storage(Content(value), library), dtype, list(shape), order, is_scalar=is_scalar)
    if order != c_order(len(shape)):
        made.strides = Strides("turned")
    return made


def adjacent_runs(axes: SequenceOf[int]) -> list[list[int]]:
    """[0, 1, 3] -> [[0, 1], [3]]."""
    runs: list[list[int]] = []
    for axis in axes:
        if runs and runs[-1][-1] == axis - 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    return runs


__all__ = ["Order", "adjacent_runs", "c_order", "fresh"]
