"""Programs as models of ONNX whose sizes are all symbols, so that one model serves every call."""

from __future__ import annotations

from collections.abc import Sequence

from .programs import Array, Program

OPSET = 20  # the first with Gelu


def model_of(program: Program, constants: Sequence[Array] = ()) -> bytes:
    """Return the model; its last operands are `constants`, as many as there are."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    kinds = {"f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE}
    kind = kinds[program.dtype]
    given = len(program.ranks) - len(constants)

    def value(name: str, rank: int | None) -> onnx.ValueInfoProto:
        shape = None if rank is None else [f"{name}_{axis}" for axis in range(rank)]
        return helper.make_tensor_value_info(name, kind, shape)

    graph = helper.make_graph(
        [
            helper.make_node(op, inputs, [output], **attributes)
            for op, inputs, output, attributes in program.model
        ],
        "program",
        [value(f"x{i}", rank) for i, rank in enumerate(program.ranks[:given])],
        [value("y", None)],
        [numpy_helper.from_array(array, f"x{given + i}") for i, array in enumerate(constants)],
    )
    opset = helper.make_opsetid("", OPSET)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9).SerializeToString()
