"""Inputs of models: what is said of them, and what the Graph is told of that."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from dvm import _dvm
from dvm.building.builder import Size
from dvm.onnx.importer import Shared
from dvm.onnx.values import NUMPY, Value, element_name, known


@dataclass(frozen=True)
class Argument:
    """An input of a model: its dtype, and sizes, which are numbers or names; None: any rank."""

    name: str
    dtype: str
    shape: tuple[int | str, ...] | None
    kind: str = "tensor"  # or "sequence", "optional"

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.dtype}[...]"
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


def sizes_said(
    graph: onnx.GraphProto, into: _dvm.Graph, shared: Shared
) -> dict[str, list[Size | None]]:
    """Return what the model says of sizes by name, where it names a size of an input."""
    symbols: dict[str, str] = {}  # names of the Graph's by those of the model
    for value in graph.input:
        dims = value.type.tensor_type.shape.dim
        sizes = symbols_of_input(argument_of(value), 0)
        for dim, size in zip(dims, sizes, strict=False):
            if dim.dim_param and isinstance(size, str) and size not in shared.fixed:
                symbols[dim.dim_param] = size
    made: dict[str, list[Size | None]] = {}
    for value in (*graph.value_info, *graph.output):
        dims = value.type.tensor_type.shape.dim
        if any(d.dim_param in symbols for d in dims):
            made[value.name] = [
                shared.size(into, symbols[d.dim_param]) if d.dim_param in symbols else None
                for d in dims
            ]
    return made


def key_of(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(key_of, value))
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype == object:
        return array.shape, tuple(array.reshape(-1))
    return array.shape, array.dtype.str, array.tobytes()


def value_of(value: Any, argument: Argument) -> Value:
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return [value_of(each, argument) for each in value]
    array = np.array(value)
    if array.dtype == np.uint16 and argument.dtype == "bf16":
        array = array.view(NUMPY["bf16"])
    return known(array)


def symbol_name(name: str) -> str:
    return re.sub(r"[^0-9A-Za-z_]", "_", name) or "n"


def symbols_of_input(argument: Argument, rank: int) -> list[int | str]:
    """Return the sizes of an input: numbers, and names that the Graph takes."""
    if argument.shape is None:
        stem = symbol_name(argument.name)
        return [f"{stem}_{axis}" for axis in range(rank)]
    return [
        size if isinstance(size, int) else re.sub(r"^(?=\d)", "n", symbol_name(size))
        for size in argument.shape
    ]


def argument_of(value: onnx.ValueInfoProto) -> Argument:
    kind, proto = "tensor", value.type
    if proto.WhichOneof("value") == "optional_type":
        kind, proto = "optional", proto.optional_type.elem_type
    if proto.WhichOneof("value") == "sequence_type":
        kind = "sequence" if kind == "tensor" else kind
        proto = proto.sequence_type.elem_type
    tensor = proto.tensor_type
    dtype = element_name(tensor.elem_type)
    if not tensor.HasField("shape"):
        return Argument(value.name, dtype, None, kind)
    stem = symbol_name(value.name)
    shape = tuple(
        d.dim_value if d.HasField("dim_value") else d.dim_param or f"{stem}_{axis}"
        for axis, d in enumerate(tensor.shape.dim)
    )
    return Argument(value.name, dtype, shape, kind)
