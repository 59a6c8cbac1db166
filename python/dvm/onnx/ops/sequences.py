"""Sequences and optional values, which are lists while a model is imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm.building.builder import Tensor
from dvm.onnx.context import Context
from dvm.onnx.ops.moves import joined, pieces
from dvm.onnx.registry import op
from dvm.onnx.values import Known, Refused, Value, sizes_of


def _place(c: Context, place: Value) -> int:
    return int(c.structure(place).reshape(-1)[0])


@op("SequenceConstruct", raw=["values"])
def construct(c: Context, *values: Value) -> list[Value]:
    return list(values)


@op("SequenceEmpty")
def empty(c: Context, dtype: int = 1) -> list[Value]:
    return []


@op("SequenceInsert", raw=["sequence", "value", "place"])
def insert(c: Context, sequence: list[Value], value: Value, place: Value = None) -> list[Value]:
    made = list(sequence)
    made.insert(len(made) if place is None else _place(c, place), value)
    return made


@op("SequenceErase", raw=["sequence", "place"])
def erase(c: Context, sequence: list[Value], place: Value = None) -> list[Value]:
    made = list(sequence)
    del made[-1 if place is None else _place(c, place)]
    return made


@op("SequenceAt", raw=["sequence", "place"])
def at(c: Context, sequence: list[Value], place: Value) -> Value:
    return sequence[_place(c, place)]


@op("SequenceLength", raw=["sequence"])
def length(c: Context, sequence: list[Value]) -> Known:
    return sizes_of([len(sequence)], [])


@op("ConcatFromSequence", raw=["sequence"])
def concat(c: Context, sequence: list[Value], axis: int, new_axis: int = 0) -> Tensor:
    tensors = [c.tensor(v) for v in sequence]
    if not tensors:
        raise Refused("an empty sequence")
    if new_axis:
        axis = c.axis(axis, tensors[0].rank + 1)
        tensors = [c.b.unsqueeze(t, axis) for t in tensors]
    return joined(c, tensors, c.axis(axis, tensors[0].rank))


@op("SplitToSequence", raw=["split"])
def split(c: Context, x: Tensor, split: Value = None, axis: int = 0, keepdims: int = 1) -> Any:
    axis = c.axis(axis, x.rank)
    size = c.fixed(x.shape[axis])
    if split is None:
        parts = pieces(c, x, axis, [1] * size)
        return list(parts if keepdims else (c.b.squeeze(p, [axis]) for p in parts))
    given = c.structure(split)
    if given.ndim == 0:
        each = int(given)
        extents = [min(each, size - k) for k in range(0, size, each)]
    else:
        extents = [int(n) for n in given]
    return pieces(c, x, axis, extents)


@op("Optional", raw=["value"])
def optional(c: Context, value: Value = None, type: Any = None) -> Value:  # noqa: A002
    return value


@op("OptionalGetElement", raw=["value"])
def get_element(c: Context, value: Value) -> Value:
    if value is None:
        raise Refused("an optional value that is not there")
    return value


@op("OptionalHasElement", raw=["value"])
def has_element(c: Context, value: Value = None) -> Known:
    return Known(np.array(value is not None), "bool")
