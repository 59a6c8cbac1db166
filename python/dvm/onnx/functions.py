"""Operators that are functions of others: those of a model, and those of the standard."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import onnx
from onnx import FunctionProto, NodeProto, TypeProto, defs, helper

from dvm import _dvm
from dvm.building.builder import Tensor
from dvm.onnx.values import ELEMENT_TYPES, Known, Needs, Value, symbols_of


class Functions:
    """The functions of one model."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._local = {(_domain(f.domain), f.name): f for f in model.functions}

    def local(self, domain: str, name: str) -> FunctionProto | None:
        return self._local.get((domain, name))

    @staticmethod
    def standard(
        node: NodeProto, domain: str, version: int, operands: Sequence[Value]
    ) -> FunctionProto | None:
        """Return the body that the standard has for a node; None for an operator without one."""
        schema = schema_of(domain, node.op_type, version)
        if schema is None or not has_body(domain, node.op_type, version):
            return None
        if schema.has_function:
            return schema.function_body
        types = [_type_of(value).SerializeToString() for value in operands]
        made = schema.get_context_dependent_function(node.SerializeToString(), types)
        body = _parsed(made)
        if not body.node:  # it depends on sizes
            raise Needs("sizes that a function asks for", symbols=_symbols(operands))
        return body

    @staticmethod
    def defaults(domain: str, name: str, version: int) -> dict[str, onnx.AttributeProto]:
        """Return the attributes that an operator has where a node does not say them."""
        attributes = schema_of(domain, name, version).attributes
        return {k: a.default_value for k, a in attributes.items() if a.default_value.name}


def _parsed(text: bytes) -> FunctionProto:
    function = FunctionProto()
    function.ParseFromString(text)
    return function


def schema_of(domain: str, name: str, version: int) -> Any:
    try:
        return defs.get_schema(name, version, domain)
    except defs.SchemaError:
        return None


@functools.cache
def has_body(domain: str, name: str, version: int) -> bool:
    """Whether the standard says what an operator is in others."""
    schema = schema_of(domain, name, version)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _symbols(operands: Sequence[Value]) -> set[str]:
    tensors = [value for value in operands if isinstance(value, Tensor)]
    return {s for t in tensors for size in t.shape for s in symbols_of(size)}


def _type_of(value: Value) -> TypeProto:
    if isinstance(value, list):
        return helper.make_sequence_type_proto(_type_of(value[0]) if value else TypeProto())
    if value is None:
        return TypeProto()
    if isinstance(value, Known) and not value.dtype:
        return helper.make_tensor_type_proto(
            helper.np_dtype_to_tensor_dtype(value.array.dtype), list(value.shape)
        )
    assert isinstance(value, Tensor | Known)
    shape = [None if isinstance(size, _dvm.Dim) else size for size in value.shape]
    return helper.make_tensor_type_proto(ELEMENT_TYPES[value.dtype], shape)
