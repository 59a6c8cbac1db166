"""Graphs of ONNX become Graphs of dvm, node by node."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, NodeProto, numpy_helper

from dvm import _dvm, errors
from dvm.building.builder import Builder, NotCompiled, Size, Tensor
from dvm.onnx import problems, registry
from dvm.onnx.context import Context
from dvm.onnx.folding import fold
from dvm.onnx.functions import Functions
from dvm.onnx.values import DTYPES, Known, Needs, Refused, Value, known

#: how attributes are read, by their type; most by a look at the field that has them
PLAIN_ATTRIBUTES: dict[int, Callable[[AttributeProto], Any]] = {
    AttributeProto.INT: lambda a: a.i,
    AttributeProto.INTS: lambda a: list(a.ints),
    AttributeProto.FLOAT: lambda a: a.f,
    AttributeProto.FLOATS: lambda a: list(a.floats),
    AttributeProto.STRING: lambda a: a.s.decode(),
    AttributeProto.STRINGS: lambda a: [s.decode() for s in a.strings],
    AttributeProto.SPARSE_TENSOR: lambda a: known(_dense(a.sparse_tensor)),
}
#: elements of what is computed while importing
MOST_FOLDED = 1 << 16


class Shared:
    """What the graph of a model and the bodies in it share.

    constants: arrays of the Graph's tensors, by name.
    host: functions that the Graph calls, by name.
    input_names: names of the model's inputs by their nodes.
    fixed: symbols that are numbers here.
    not_empty: symbols that are at least 1 where they are none.
    """

    def __init__(
        self,
        functions: Functions,
        load: Callable[[onnx.TensorProto], np.ndarray[Any, Any]],
        fixed: Mapping[str, int],
        not_empty: Collection[str],
    ) -> None:
        self.functions = functions
        self.fixed, self.not_empty = fixed, not_empty
        self.constants: dict[str, np.ndarray[Any, Any]] = {}
        self.constant_names: dict[int, str] = {}
        self.kept: list[Any] = []  # arrays whose id names a constant
        self.host: dict[str, Any] = {}
        self.host_calls: dict[str, int] = {}
        self.input_names: dict[int, str] = {}
        self.load = load
        self.elements: set[str] = set()  # symbols that are elements of inputs
        self.symbols = 0

    def size(self, graph: _dvm.Graph, symbol: str) -> Size:
        """Return a size of an input: a number where it is fixed."""
        if symbol in self.fixed:
            return self.fixed[symbol]
        return graph.symbol(symbol, int(symbol in self.not_empty))

    def fresh_symbol(self, graph: _dvm.Graph, stem: str, lo: int = 0) -> _dvm.Dim:
        self.symbols += 1
        return graph.symbol(f"{stem}{self.symbols}", lo)


class Importer:
    """Makes nodes of one Graph: that of a model, or of a body in it.

    opsets: versions by domain.
    said: what the model says of sizes, by the names of values.
    """

    def __init__(
        self,
        shared: Shared,
        graph: _dvm.Graph,
        opsets: Mapping[str, int],
        depth: int = 0,
        said: Mapping[str, Sequence[Size | None]] | None = None,
    ) -> None:
        self.said = said or {}
        self.shared = shared
        self.b = Builder(graph)
        self.opsets = opsets
        self.depth = depth
        self.materialised: dict[int, Tensor] = {}

    def run(self, graph: GraphProto, names: dict[str, Value]) -> list[Value]:
        """Import a graph whose inputs, and what it sees from outside, have names already."""
        for tensor in graph.initializer:
            if tensor.name not in names or names[tensor.name] is None:
                names[tensor.name] = self.constant(tensor)
        for sparse in graph.sparse_initializer:
            names[sparse.values.name] = known(_dense(sparse))
        self.run_nodes(graph.node, names)
        return [self.lookup(names, value.name) for value in graph.output]

    def run_nodes(
        self,
        nodes: Iterable[NodeProto],
        names: dict[str, Value],
        given: Mapping[str, AttributeProto] | None = None,
    ) -> None:
        for node in nodes:
            try:
                with problems.told_of("it"):
                    made = self._made(_resolved(node, given), names)
            except errors.Error as error:
                if getattr(error, "is_placed", False):
                    raise
                text = str(error).removeprefix(f"{error.code} ")
                error.args = (f"{error.code} {problems.in_a_line(_where(node))}: {text}",)
                error.is_placed = True  # type: ignore[attr-defined]
                raise
            for name, value in zip(node.output, made, strict=False):
                if name:
                    names[name] = self._as_said(name, value)

    def _made(self, node: NodeProto, names: dict[str, Value]) -> list[Value]:
        operands = [self.lookup(names, name) if name else None for name in node.input]
        attributes = {a.name: self._attribute(a) for a in node.attribute}
        try:
            return self.node(node, operands, attributes, names)
        except (Refused, NotCompiled) as refused:
            hint = "export the model without it, or split it there"
            raise problems.unsupported(f"{refused}", hint) from refused

    def _as_said(self, name: str, value: Value) -> Value:
        """Return a tensor with sizes in the form that the model has them, which the call checks."""
        said = self.said.get(name)
        if said is None or not isinstance(value, Tensor) or len(said) != value.rank:
            return value
        shape = [
            new if new is not None and isinstance(old, _dvm.Dim) and not old.is_polynomial else old
            for old, new in zip(value.shape, said, strict=True)
        ]
        return self.b.reshape(value, shape)

    @staticmethod
    def lookup(names: Mapping[str, Value], name: str) -> Value:
        if name not in names:
            raise problems.bad_model(f"nothing in the model makes {name!r}")
        return names[name]

    def constant(self, tensor: onnx.TensorProto) -> Known:
        array = self.shared.load(tensor)
        return Known(array, DTYPES.get(tensor.data_type, ""))

    def _attribute(self, attribute: AttributeProto) -> Any:
        if (read := PLAIN_ATTRIBUTES.get(attribute.type)) is not None:
            return read(attribute)
        if attribute.type == AttributeProto.TENSOR:
            return self.constant(attribute.t)
        value = onnx.helper.get_attribute_value(attribute)
        return list(value) if isinstance(value, Sequence) else value

    # One node

    def node(
        self,
        node: NodeProto,
        operands: list[Value],
        attributes: dict[str, Any],
        names: dict[str, Value],
    ) -> list[Value]:
        domain = "" if node.domain == "ai.onnx" else node.domain
        if (called := self.shared.functions.local(domain, node.op_type)) is not None:
            return self.call(called, node, operands)
        version = self.opsets.get(domain, 1)
        if (folded := fold(node, version, operands, attributes)) is not None:
            return folded
        row = registry.find(domain, node.op_type, version)
        if row is None:
            body = self.shared.functions.standard(node, domain, version, operands)
            if body is None:
                raise problems.missing_operators({registry.full_name(domain, node.op_type): 1})
            defaults = self.shared.functions.defaults(domain, node.op_type, version)
            return self.call(body, node, operands, defaults)
        c = Context(self, node, version, names)
        arguments = [
            self._converted(c, row, self._parameter(row, k), v) for k, v in enumerate(operands)
        ]
        while (
            arguments and arguments[-1] is None
        ):  # trailing ones may be attributes of this version
            arguments.pop()
        for name in attributes:
            if name not in row.keywords:
                raise Refused(f"the attribute {name!r}")
        made = row.make(
            c, *arguments, **{k: self._as_array(row, k, v) for k, v in attributes.items()}
        )
        if isinstance(made, tuple) and not isinstance(made, Tensor | Known):
            return list(made)
        return [made]

    @staticmethod
    def _parameter(row: registry.Row, k: int) -> str:
        if k < len(row.parameters):
            return row.parameters[k]
        if not row.variadic:
            raise problems.bad_model(f"an operand too many of {row.name}")
        return row.variadic

    @staticmethod
    def _as_array(row: registry.Row, name: str, value: Any) -> Any:
        if name in row.structure or name in row.sizes:
            return np.asarray(value.array if isinstance(value, Known) else value)
        return value

    @staticmethod
    def _converted(c: Context, row: registry.Row, name: str, value: Value) -> Any:
        if value is None or name in row.raw:
            return value
        if name in row.structure:
            return c.structure(value)
        if name in row.sizes:
            return c.sizes(value)
        return c.tensor(value)

    def call(
        self,
        function: onnx.FunctionProto,
        node: NodeProto,
        operands: list[Value],
        defaults: Mapping[str, AttributeProto] | None = None,
    ) -> list[Value]:
        """Import the body of a function in place of a node."""
        names: dict[str, Value] = dict.fromkeys(function.input)
        names.update(zip(function.input, operands, strict=False))
        given = {**(defaults or {}), **{a.name: a for a in function.attribute_proto}}
        given |= {a.name: a for a in node.attribute}
        opsets = {o.domain: o.version for o in function.opset_import}
        outer, self.opsets = self.opsets, {**self.opsets, **opsets}
        try:
            self.run_nodes(function.node, names, given)
        finally:
            self.opsets = outer
        return [names.get(name) for name in function.output]

    # Values as nodes

    def tensor(self, value: Value) -> Tensor:
        if isinstance(value, Tensor):
            return value
        if not isinstance(value, Known):
            raise Refused("a sequence or an optional value where an array is needed")
        key = id(value.array)
        if key not in self.materialised:
            self.shared.kept.append(value.array)
            self.materialised[key] = self._materialise(value)
        return self.materialised[key]

    def _materialise(self, value: Known) -> Tensor:
        array, dtype = value
        if not dtype:
            raise Refused(f"elements of type {array.dtype}")
        if value.is_symbolic:
            return self._of_sizes(array, dtype)
        if array.size and (array.size == 1 or _is_uniform(array)):
            item = array.reshape(-1)[0]
            number = float(item) if dtype in ("f16", "bf16", "f32", "f64") else int(item)
            return self.b.constant(number, dtype, array.shape)
        if array.size == 0:
            return self.b.constant(0, dtype, array.shape)
        stored = array.view(np.uint16) if dtype == "bf16" else array
        if array.size <= 1024 and dtype != "bf16":
            return self.b.wrap(self.b.graph.tensor(dtype, np.ascontiguousarray(stored)))
        name = self.shared.constant_names.get(id(array))
        if name is None:
            name = self.shared.constant_names[id(array)] = f"w{len(self.shared.constants)}"
            self.shared.constants[name] = stored
        return self.b.wrap(self.b.graph.named_tensor(dtype, list(array.shape), name))

    def _of_sizes(self, array: np.ndarray[Any, Any], dtype: str) -> Tensor:
        if array.ndim == 0:
            return self.b.number(array[()], dtype)
        flat = array.reshape(-1)
        made = self.b.wrap(self.b.graph.empty(dtype, [flat.size]))
        for k, size in enumerate(flat):
            made = self.b.update(made, self.b.number(size, dtype, [1]), [k])
        return self.b.reshape(made, array.shape)

    def needs_value_of(self, tensor: Tensor, why: str, *, sizes: bool) -> Needs:
        """Return what has to be known for the elements of a tensor to be."""
        if self.depth:
            raise Refused(f"{why} that a body computes")
        inputs = self.b.graph.inputs_of([tensor.node])
        names = [
            self.shared.input_names[node] for node in inputs if node in self.shared.input_names
        ]
        if not names:
            symbols = set().union(*map(self._free, range(tensor.node + 1)))
            symbols |= self.shared.elements
            if not symbols:
                raise Refused(f"{why} that only values decide")
            return Needs(why, symbols=symbols)
        return Needs(why, sizes=names) if sizes else Needs(why, values=names)

    def _free(self, node: int) -> set[str]:
        from dvm.onnx.values import symbols_of

        return {s for size in self.b.graph.shape(node) for s in symbols_of(_plain(size))}


def _resolved(node: NodeProto, given: Mapping[str, AttributeProto] | None) -> NodeProto:
    """Return a node of a function with the attributes that the function was given."""
    if given is None or not any(a.ref_attr_name for a in node.attribute):
        return node
    made = NodeProto()
    made.CopyFrom(node)
    del made.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            made.attribute.append(attribute)
        elif attribute.ref_attr_name in given:
            made.attribute.append(given[attribute.ref_attr_name])
            made.attribute[-1].name = attribute.name
    return made


def _plain(size: _dvm.Dim) -> Size:
    return size if size.constant is None else size.constant


def _is_uniform(array: np.ndarray[Any, Any]) -> bool:
    """Whether all elements are the same bits."""
    if array.size > MOST_FOLDED or array.itemsize > 8:
        return False
    bits = array.reshape(-1).view(f"u{array.itemsize}")
    return bool(bits[0] == bits[-1] and (bits == bits[0]).all())


def _dense(sparse: onnx.SparseTensorProto) -> np.ndarray[Any, Any]:
    values = numpy_helper.to_array(sparse.values)
    places = numpy_helper.to_array(sparse.indices)
    dense = np.zeros(tuple(sparse.dims), values.dtype)
    if places.ndim == 1:
        dense.reshape(-1)[places] = values
    else:
        dense[tuple(places.T)] = values
    return dense


def _where(node: NodeProto) -> str:
    return (
        f"{registry.full_name(node.domain, node.op_type)} {node.name or ', '.join(node.output)!r}"
    )
