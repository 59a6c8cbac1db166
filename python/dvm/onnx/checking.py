"""Which operators of a model have a meaning, before anything is made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import onnx
from onnx import NodeProto

from dvm.onnx import problems, registry
from dvm.onnx.functions import Functions, has_body
from dvm.onnx.values import DTYPES, element_name

GRAPHS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


def check_operators(
    model: onnx.ModelProto, functions: Functions, opsets: Mapping[str, int]
) -> None:
    """Raise one error that names all operators without a meaning, with their counts."""
    for value in model.graph.input:
        element = _element(value.type)
        if element and element not in DTYPES:
            name = element_name(element)
            raise problems.unsupported(
                f"the input {value.name!r} has elements of type {name}",
                "convert it before the model: dvm computes with numbers of 8 bits and more",
            )
    missing: Counter[str] = Counter()
    _count(model.graph.node, functions, opsets, missing)
    for function in model.functions:
        own = {o.domain: o.version for o in function.opset_import}
        _count(function.node, functions, {**opsets, **own}, missing)
    if missing:
        raise problems.missing_operators(missing)


def _element(proto: onnx.TypeProto) -> int:
    if proto.HasField("optional_type"):
        return _element(proto.optional_type.elem_type)
    if proto.HasField("sequence_type"):
        return _element(proto.sequence_type.elem_type)
    return int(proto.tensor_type.elem_type)


def _count(
    nodes: Iterable[NodeProto],
    functions: Functions,
    opsets: Mapping[str, int],
    missing: Counter[str],
) -> None:
    for node in nodes:
        domain = "" if node.domain == "ai.onnx" else node.domain
        version = opsets.get(domain, 1)
        if not (
            functions.local(domain, node.op_type)
            or registry.find(domain, node.op_type, version)
            or has_body(domain, node.op_type, version)
        ):
            missing[registry.full_name(domain, node.op_type)] += 1
        for attribute in node.attribute:
            if attribute.type in GRAPHS:
                for graph in (attribute.g, *attribute.graphs):
                    _count(graph.node, functions, opsets, missing)
