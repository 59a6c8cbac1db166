"""Which operators of a model have a meaning, before anything is made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import onnx
from onnx import NodeProto

from dvm.onnx import problems, registry
from dvm.onnx.functions import Functions, has_body
from dvm.onnx.importer import registry_name


def check_operators(
    model: onnx.ModelProto, functions: Functions, opsets: Mapping[str, int]
) -> None:
    """Raise one error that names all operators without a meaning, with their counts."""
    missing: Counter[str] = Counter()
    _count(model.graph.node, functions, opsets, missing)
    for function in model.functions:
        own = {o.domain: o.version for o in function.opset_import}
        _count(function.node, functions, {**opsets, **own}, missing)
    if missing:
        raise problems.missing_operators(missing)


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
            missing[registry_name(domain, node.op_type)] += 1
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                _count(graph.node, functions, opsets, missing)
