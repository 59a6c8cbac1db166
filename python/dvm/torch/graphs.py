"""From a graph of torch.fx, as AOTAutograd hands it over, to a Graph."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule, Node

from dvm import _dvm, errors
from dvm.torch import aten, layouts, library_ops, numbers
from dvm.torch.builder import DTYPES, Builder, NotCompiled, Tensor, is_same_shape
from dvm.torch.symbols import Size, Symbols, Untranslatable

_TORCH = str(Path(torch.__file__).parent)
_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+)', re.MULTILINE)

#: functions whose only result are sizes, or that only check them: the guards before have, too
SIZES_ONLY = frozenset(
    {"_assert_scalar", "_assert_tensor_metadata", "sym_constrain_range_for_size"}
)


@dataclass
class Lowered:
    """A Graph, and how it is called: the arguments of `_dvm.TorchGraph`.

    ops: how many nodes of torch's are what, by kind.
    refusals: why ops with a lowering are fallbacks.
    """

    graph: _dvm.Graph
    arguments: list[tuple[str, int]] = field(default_factory=list)
    results: list[tuple[str, int, list[int]]] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    held: list[torch.Tensor] = field(default_factory=list)
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)
    refusals: Counter[str] = field(default_factory=Counter)
    ops: dict[str, Counter[str]] = field(
        default_factory=lambda: {kind: Counter() for kind in aten.KINDS}
    )


def lower(
    module: GraphModule, fallback: str, has_exact_products: bool, returned: int | None = None
) -> Lowered:
    """Return the Graph of a module.

    fallback: "torch", or "error" where an op that has no row is an UnsupportedError.
    has_exact_products: as of a Builder.
    returned: how many results, the first ones, the program gets, which may write into one and read
        another; None: all. torch keeps the others to itself, and writes none.

    Raises Untranslatable for values that a Graph has no type for, such as complex tensors.
    """
    return _Lowering(module, fallback, has_exact_products, returned).run()


class _Lowering:
    def __init__(
        self, module: GraphModule, fallback: str, has_exact_products: bool, returned: int | None
    ) -> None:
        self._module = module
        self._fallback = fallback
        self._placeholders = module.graph.find_nodes(op="placeholder")
        self._graph = _dvm.Graph()
        self._symbols = Symbols(self._graph, _shape_env(module), self._given_sizes())
        self._builder = Builder(self._graph, self._symbols, has_exact_products)
        self._values: dict[Node, Any] = {}
        self._lowered = Lowered(self._graph)
        self._groups: dict[int, int] = {}
        self._writes: list[tuple[int, Tensor]] = []
        self._shared = layouts.ViewsInResults(self._results()[:returned])
        self._called: set[Node] = set()  # what torch's own ops compute

    def run(self) -> Lowered:
        for node in self._placeholders:
            self._values[node] = self._argument(node)
        self._attributes()
        for node in self._module.graph.nodes:
            if node.op == "call_function":
                before = len(self._graph)
                self._values[node] = self._in_memory(node, self._call(node))
                self._graph.locate(before, line_of(node.meta.get("stack_trace") or ""))
        self._return()
        return self._lowered

    def _given_sizes(self) -> list[Any]:
        sizes: list[Any] = []
        for node in self._placeholders:
            value = node.meta.get("val")
            sizes += value.shape if isinstance(value, torch.Tensor) else [value]
        return [size for size in sizes if isinstance(size, torch.SymInt)]

    # Arguments

    def _argument(self, node: Node) -> Any:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            dtype = _dtype(value)
            kind = "tangent" if "tangents" in node.name else "tensor"
            self._lowered.arguments.append((kind, self._group(node)))
            return self._builder.wrap(self._graph.input(dtype, self._symbols.shape(value)))
        if isinstance(value, int | torch.SymInt):
            symbol = self._symbols.symbol_of(value) if isinstance(value, torch.SymInt) else None
            self._graph.scalar("i64", size=symbol)
            self._lowered.arguments.append(("number", 0))
            return self._symbols.dim(value)
        if node.users:
            raise Untranslatable(f"an argument that is a {type(value).__name__}")
        self._lowered.arguments.append(("unused", 0))
        return None

    def _attributes(self) -> None:
        """Tensors of the module itself: behind the arguments, for they are inputs of the Graph."""
        for node in self._module.graph.find_nodes(op="get_attr"):
            tensor = operator.attrgetter(node.target)(self._module)
            if not isinstance(tensor, torch.Tensor):
                raise Untranslatable(f"a constant that is a {type(tensor).__name__}")
            dtype = _dtype(tensor)
            if tensor.numel() == 1:
                with unset_fake_temporarily():  # AOTAutograd's, in which tensors have no values
                    number = tensor.item()
                value = self._builder.constant(number, dtype, list(tensor.shape))
            else:
                value = self._builder.wrap(self._graph.input(dtype, list(tensor.shape)))
                self._lowered.held.append(tensor)
            self._values[node] = value

    def _group(self, node: Node) -> int:
        """A number for the memory that torch has a node's tensor in.

        Views are followed to what they are of: passes of torch's that replace a node leave those
        of the old one with its memory.
        """
        key = layouts.root(node).meta["val"].untyped_storage()._cdata
        return self._groups.setdefault(key, len(self._groups))

    # Operations

    def _call(self, node: Node) -> Any:
        value = node.meta.get("val")
        if isinstance(value, int | torch.SymInt):
            if name_of(node.target) == "aten._local_scalar_dense.default":
                raise Untranslatable("a size that is read from a tensor")
            return self._symbols.dim(value)
        if isinstance(value, torch.SymFloat):
            args = torch.fx.node.map_arg(node.args, self._values.__getitem__)
            return numbers.lower(self._builder, node.target, args)
        if node.target is operator.getitem:
            whole, index = node.args
            return self._values[whole][index]
        name = name_of(node.target)
        if name.split(".")[1] in SIZES_ONLY or isinstance(value, bool | float | torch.SymBool):
            return None
        if name == "aten.copy_.default":
            return self._write(node)
        return self._operation(node, name)

    def _write(self, node: Node) -> Any:
        target, source = node.args[:2]
        if not isinstance(target, Node) or target.op != "placeholder":
            raise Untranslatable("a write to what is no argument")
        value = self._values[source]
        into = self._values[target]
        value = self._builder.broadcast(self._builder.cast(value, into.dtype), into.shape)
        self._writes.append((self._placeholders.index(target), value))
        return value

    def _operation(self, node: Node, name: str) -> Any:
        expected = [self._type(v) for v in _as_list(node.meta.get("val"))]
        kind = "library" if name in aten.ROWS else "fallback"
        try:
            made = self._compiled(node, name, expected)
        except NotCompiled:
            pass
        except errors.Error as error:
            # The lowering is wrong about this case, which is no reason to have no result.
            kind = "fallback"
            self._lowered.refusals[f"{name}: {error}"] += 1
        else:
            self._lowered.ops["compiled"][name] += 1
            return made
        if kind == "fallback" and self._fallback == "error":
            raise errors.make("unsupported", f"torch's op {name} has no row in docs/torch-ops.md")
        self._lowered.ops[kind][name] += 1
        return self._library_call(node, name, expected)

    def _compiled(self, node: Node, name: str, expected: Sequence[Tensor | None]) -> Any:
        row = aten.ROWS.get(name)
        if row is None or row.lower is None or node in self._shared.by_torch:
            raise NotCompiled(name)
        self._builder.expected = [t for t in expected if t is not None]
        self._builder.used = _used(node)
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), self._values.__getitem__)
        return self._checked(name, row.lower(self._builder, *args, **kwargs), expected)

    def _type(self, value: Any) -> Tensor | None:
        if not isinstance(value, torch.Tensor):
            return None
        return Tensor(-1, _dtype(value), tuple(self._symbols.shape(value)))

    def _checked(self, name: str, made: Any, expected: Sequence[Tensor | None]) -> Any:
        """What a lowering made, in the types that torch inferred."""
        results = (
            made if isinstance(made, tuple | list) and not isinstance(made, Tensor) else [made]
        )
        if len(results) != len(expected):
            raise errors.make("internal", f"{name} has {len(expected)} results, not {len(results)}")
        fitted = [self._fitted(name, *pair) for pair in zip(results, expected, strict=True)]
        return fitted if results is made else fitted[0]

    def _fitted(self, name: str, made: Tensor | None, expected: Tensor | None) -> Tensor | None:
        if made is None or expected is None:
            return None
        known = [
            (a, b)
            for a, b in zip(made.shape, expected.shape, strict=False)
            if isinstance(a, int) and isinstance(b, int)
        ]
        if (
            made.dtype != expected.dtype
            or made.rank != expected.rank
            or any(a != b for a, b in known)
        ):
            raise errors.make(
                "internal",
                f"{name} is {expected.dtype}{list(map(str, expected.shape))} for torch, not "
                f"{made.dtype}{list(map(str, made.shape))}",
            )
        if is_same_shape(made.shape, expected.shape):
            return made
        return self._builder.reshape(made, expected.shape)

    def _library_call(self, node: Node, name: str, expected: Sequence[Tensor | None]) -> Any:
        self._called.add(node)
        values = self._values
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            # torch draws for elements in the order in which they lie.
            given = filter(layouts.lies_otherwise, node.all_input_nodes)
            values = {**values, **{n: self._laid_out(n, values[n]) for n in given}}
        function, tensors, sizes = library_ops.bind(node, values)
        callee = f"{name}#{len(self._lowered.functions)}"
        order = [k for k, t in enumerate(expected) if t is not None]
        if not order:
            raise Untranslatable(f"{name}, which gives no tensor")
        # What nothing takes may be missing, or of another size than torch inferred.
        order = [k for k in order if k in _used(node)] or order[:1]
        if order != list(range(len(expected))):
            # A call is its first result's node, so what torch has before it goes away.
            function = library_ops.picked(function, order)
        self._lowered.functions[callee] = function
        types = [(t.dtype, t.shape) for k in order if (t := expected[k]) is not None]
        made = _as_list(node.meta["val"])
        call = self._graph.call(
            callee,
            [t.node for t in tensors],
            *types[0],
            results=len(order),
            sizes=sizes,
            fresh=_makes_new(node)
            and all(layouts.is_dense(made[k], range(made[k].dim())) for k in order),
        )
        results: list[Any] = [None] * len(expected)
        for place, k in enumerate(order):
            result = self._graph.result(call, place, *types[place]) if place else call
            results[k] = self._builder.wrap(result)
        is_single = isinstance(node.meta.get("val"), torch.Tensor)
        return results[0] if is_single else results

    # Results

    def _results(self) -> list[Any]:
        (output,) = self._module.graph.find_nodes(op="output")
        return _as_list(output.args[0])

    def _in_memory(self, node: Node, value: Any) -> Any:
        """A value in memory as torch has it, where something depends on that.

        Results that are views of it do; and another shape of what the Graph does not compute, and
        so may not lie as a Plan has what it computes.
        """
        if node not in self._shared.roots and not self._orders_others(node):
            return value
        by_torch = any(user in self._shared.by_torch for user in node.users)
        return self._laid_out(node, value, as_tensor=by_torch)

    def _orders_others(self, node: Node) -> bool:
        """Whether it is a copy in order of what others have left in another one."""
        if node.target is not torch.ops.aten.clone.default or layouts.lies_otherwise(node):
            return False
        source = node.args[0]
        root = layouts.root(source)
        maker = root.args[0] if root.target is operator.getitem else root
        is_given = maker.op == "placeholder" or maker in self._called
        return is_given and layouts.lies_otherwise(source)

    def _laid_out(self, node: Node, value: Tensor, as_tensor: bool = True) -> Tensor:
        """A value in memory as torch has it; `as_tensor`: as torch sees it there."""
        meta = node.meta["val"]
        if repeats := layouts.repeated_axes(meta):
            return self._repeated(node, value, repeats)
        if layouts.has_gaps(node):
            lies = [*meta.shape, *meta.stride(), meta.storage_offset()]
            return self._made_by(library_ops.with_gaps, value, lies)
        axes = layouts.axes_from_outermost(meta)
        turned = self._builder.transpose(value, axes)
        memory = self._builder.wrap(self._graph.empty(value.dtype, list(turned.shape)))
        stored = self._builder.update(memory, turned, [0] * value.rank)
        back = [axes.index(i) for i in range(len(axes))]
        if not as_tensor:
            return self._builder.transpose(stored, back)
        return self._made_by(library_ops.permuted, stored, back, value.shape)

    def _made_by(
        self,
        function: Callable[..., Any],
        value: Tensor,
        numbers: Sequence[Any],
        shape: Sequence[Size] | None = None,
    ) -> Tensor:
        """What a function makes of a tensor and some numbers, of a shape if that is another."""
        known = [number if isinstance(number, int) else None for number in numbers]
        sizes = [self._symbols.dim(n) for n in numbers if not isinstance(n, int)]
        callee = f"{function.__name__}#{len(self._lowered.functions)}"
        self._lowered.functions[callee] = library_ops.with_numbers(function, known)
        shape = list(value.shape if shape is None else shape)
        made = self._graph.call(callee, [value.node], value.dtype, shape, results=1, sizes=sizes)
        return self._builder.wrap(made)

    def _return(self) -> None:
        outputs: list[int] = []
        for item in self._results():
            spec, value = self._result(item)
            self._lowered.results.append(spec)
            if value is not None:
                outputs.append(value)
        for argument, written in self._writes:
            self._lowered.written.append(argument)
            outputs.append(written.node)
        self._graph.outputs = outputs

    def _result(self, item: Any) -> tuple[tuple[str, int, list[int]], int | None]:
        value = self._values[item] if isinstance(item, Node) else item
        if isinstance(item, Node) and item.target is torch.ops.aten.copy_.default:
            item = item.args[0]  # what was written to
        if isinstance(item, Node) and item.op == "placeholder":
            return ("argument", self._placeholders.index(item), []), None
        if isinstance(value, Tensor):
            meta = item.meta["val"]
            group = self._group(item)
            if item in self._shared.by_torch or item in self._shared.roots:
                return ("tensor", group, []), value.node
            if repeats := layouts.repeated_axes(meta):
                return ("tensor", group, []), self._repeated(item, value, repeats).node
            axes = layouts.axes_from_outermost(meta)
            if not layouts.is_dense(meta, axes):
                return ("tensor", group, []), value.node
            back = [axes.index(i) for i in range(len(axes))]
            return ("tensor", group, back), self._builder.transpose(value, axes).node
        if value is None and not (isinstance(item, Node) and item.meta.get("val") is not None):
            return ("none", 0, []), None
        if isinstance(value, int | _dvm.Dim):
            size = self._graph.size(value) if isinstance(value, int) else value
            return ("size", 0, []), self._graph.dim_value("i64", size)
        raise Untranslatable(f"a result that is a {type(item.meta.get('val')).__name__}")

    def _repeated(self, node: Node, value: Tensor, axes: Sequence[int]) -> Tensor:
        """A value in memory as torch has it: elements are repeated by strides of 0."""
        part = self._builder.before_broadcast(value, axes)
        return self._made_by(library_ops.expanded, part, node.meta["val"].shape, value.shape)


def line_of(trace: str) -> tuple[str, int]:
    """Return the innermost line of a node's trace that is not torch's own; ("", 0) if none is."""
    lines = [(file, int(line)) for file, line in _FRAME.findall(trace)]
    return next((at for at in reversed(lines) if not at[0].startswith(_TORCH)), ("", 0))


def _used(node: Node) -> frozenset[int]:
    """Which results of a node others take; the first of one that has a single one."""
    return frozenset(user.args[1] if user.target is operator.getitem else 0 for user in node.users)


def _shape_env(module: GraphModule) -> Any:
    """What torch knows of the symbols in a graph; None where it has none."""
    for node in module.graph.nodes:
        for value in _as_list(node.meta.get("val")):
            sizes = value.shape if isinstance(value, torch.Tensor) else [value]
            for size in sizes:
                if isinstance(size, torch.SymInt):
                    return size.node.shape_env
    return None


def _dtype(tensor: torch.Tensor) -> str:
    if tensor.device.type != "cpu" or tensor.layout != torch.strided or tensor.is_quantized:
        raise Untranslatable(f"a tensor of layout {tensor.layout} on {tensor.device}")
    if tensor.is_neg() or tensor.is_conj():
        raise Untranslatable("a tensor whose elements are negated or conjugated when they are read")
    if tensor.dtype not in DTYPES:
        raise Untranslatable(f"a tensor of {tensor.dtype}")
    if tensor.dim() > 8:
        raise Untranslatable(f"a tensor of {tensor.dim()} axes")
    return DTYPES[tensor.dtype]


def name_of(target: Any) -> str:
    """Return how the table of ops, and reports, call a function."""
    return str(target) if isinstance(target, torch._ops.OpOverload) else f"python.{target.__name__}"


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) else [value]


def _makes_new(node: Node) -> bool:
    """Whether torch's op of a node makes new tensors, and only reads those it is given.

    What ops without a row do is not known so well: one may give back what it was given.
    """
    name = name_of(node.target)
    if not (name in aten.ROWS and name.startswith("aten.")):
        return False
    schema = node.target._schema
    return not schema.is_mutable and all(r.alias_info is None for r in schema.returns)
