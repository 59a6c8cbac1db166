"""Values for sizes that a model names."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from dvm.onnx import problems

#: as large as a size of a graph may be
MOST = 1 << 62


def with_sizes(model: onnx.ModelProto, sizes: Mapping[str, int]) -> onnx.ModelProto:
    """Return a model whose inputs have these values for sizes of these names.

    Raises UnsupportedError for names that no input has, and for what is no size.
    """
    for name, size in sizes.items():
        if not 0 <= size <= MOST:
            raise problems.unsupported(
                f"the size {name} is {size}", f"give a number from 0 to {MOST}"
            )
    made = onnx.ModelProto()
    made.CopyFrom(model)
    dims = [d for value in made.graph.input for d in value.type.tensor_type.shape.dim]
    named = {dim.dim_param for dim in dims} - {""}
    if unknown := sorted(set(sizes) - named):
        raise problems.unsupported(
            f"no input has a size that is named {', '.join(unknown)}",
            f"those that have a name are {', '.join(sorted(named)) or 'none'}",
        )
    for dim in dims:
        if dim.dim_param in sizes:
            dim.dim_value = sizes[dim.dim_param]
    return made
