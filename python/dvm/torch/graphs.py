"""From a graph of torch.fx, as AOTAutograd hands it over, to a Graph."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule, Node

from dvm import _dvm, errors
from dvm.torch import aten, layouts, library_ops, numbers
from dvm.torch.builder import DTYPES, Builder, NotCompiled, Tensor, is_same_shape
from dvm.torch.layouts import Layout
from dvm.torch.sizes import Size
from dvm.torch.symbols import Symbols, Untranslatable

_TORCH = str(Path(torch.__file__).parent)
_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+)', re.MULTILINE)

#: functions whose only result are sizes, or that only check them: the guards before have, too
SIZES_ONLY = frozenset(
    {"_assert_scalar", "_assert_tensor_metadata", "sym_constrain_range_for_size"}
)


@dataclass
class Lowered:
    """A Graph, and how it is called: the arguments of `_dvm.TorchGraph`.

    uncounted: of the arguments that are written, those of which eager torch does not count it.
    ops: how many nodes of torch's are what, by kind.
    refusals: why ops with a lowering are fallbacks.
    """

    graph: _dvm.Graph
    arguments: list[tuple[str, int]] = field(default_factory=list)
    results: list[tuple[str, int, list[int], Layout | None]] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    uncounted: list[int] = field(default_factory=list)
    held: list[torch.Tensor] = field(default_factory=list)
    functions: dict[str, tuple[Callable[..., Any], list[Layout | None]]] = field(
        default_factory=dict
    )
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
        self._seen = layouts.Seen(self._results()[:returned], self._taken(returned))
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
            # A tangent lies as it likes: no guard has looked at it.
            repeats = layouts.repeated_axes(value) if kind == "tensor" else []
            return self._builder.argument(dtype, self._symbols.shape(value), repeats)
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
        argument = self._placeholders.index(target)
        self._writes.append((argument, value))
        if _is_statistic(source, target):
            self._lowered.uncounted.append(argument)
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
            raise errors.make(
                "unsupported",
                f"torch's op {name} is none of those that `python -m dvm docs torch-ops` lists",
            )
        self._lowered.ops[kind][name] += 1
        return self._library_call(node, name, expected)

    def _compiled(self, node: Node, name: str, expected: Sequence[Tensor | None]) -> Any:
        row = aten.ROWS.get(name)
        if row is None or row.lower is None or node in self._seen.by_torch:
            raise NotCompiled(name)
        self._builder.expected = [t for t in expected if t is not None]
        self._builder.used = _used(node)
        self._builder.is_in_order = lambda: layouts.is_in_order(_as_list(node.meta.get("val"))[0])
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
        function, tensors, sizes, as_these = library_ops.bind(node, self._values)
        order = [k for k, t in enumerate(expected) if t is not None]
        if not order:
            raise Untranslatable(f"{name}, which gives no tensor")
        # What nothing takes may be missing, or of another size than torch inferred.
        order = [k for k in order if k in _used(node)] or order[:1]
        if order != list(range(len(expected))):
            # A call is its first result's node, so what torch has before it goes away.
            function = library_ops.picked(function, order)
        callee, told = self._function(name, function, map(self._layout, as_these))
        types = [(t.dtype, t.shape) for k in order if (t := expected[k]) is not None]
        made = _as_list(node.meta["val"])
        call = self._graph.call(
            callee,
            [t.node for t in tensors],
            *types[0],
            results=len(order),
            sizes=[*sizes, *told],
            fresh=_makes_new(node)
            and all(layouts.is_dense(made[k], range(made[k].dim())) for k in order),
        )
        results: list[Any] = [None] * len(expected)
        for place, k in enumerate(order):
            result = self._graph.result(call, place, *types[place]) if place else call
            results[k] = self._builder.wrap(result)
        is_single = isinstance(node.meta.get("val"), torch.Tensor)
        return results[0] if is_single else results

    def _function(
        self,
        name: str,
        function: Callable[..., Any],
        given: Iterable[tuple[Layout | None, list[Size]]],
    ) -> tuple[str, list[Size]]:
        """What the Graph calls a function, and the sizes that tell the layouts it is given."""
        lies = list(given)
        callee = f"{name}#{len(self._lowered.functions)}"
        self._lowered.functions[callee] = function, [layout for layout, _ in lies]
        return callee, [size for _, told in lies for size in told]

    # Layouts

    def _layout(self, like: Node | torch.Tensor | None) -> tuple[Layout | None, list[Size]]:
        """How a node's tensor lies for torch; None where it is torch's own as it is."""
        if isinstance(like, Node):
            like = None if self._is_of_torch(like) else like.meta["val"]
        return (None, []) if like is None else layouts.layout_of(like, self._symbols.dim)

    def _is_of_torch(self, node: Node) -> bool:
        """Whether it is an argument, or the module's, or what torch's op made."""
        maker = node.args[0] if node.target is operator.getitem else node
        return maker.op in ("placeholder", "get_attr") or maker in self._called

    def _taken(self, returned: int | None) -> list[Node]:
        """What ops that torch computes are given, and the backward pass."""
        kept = [] if returned is None else self._results()[returned:]
        taken: list[Node] = []
        for item in kept:
            value = item.meta.get("val") if isinstance(item, Node) else None
            # What repeats elements is made of the few that there are, where it is returned.
            if isinstance(value, torch.Tensor) and not layouts.repeated_axes(value):
                taken.append(item)
        for node in self._module.graph.nodes:
            if node.op == "call_function" and node.target is not operator.getitem:
                row = aten.ROWS.get(name_of(node.target))
                given = node.all_input_nodes if row is None or row.lower is None else []
                taken += [n for n in given if isinstance(n.meta.get("val"), torch.Tensor)]
        return taken

    # Results

    def _results(self) -> list[Any]:
        (output,) = self._module.graph.find_nodes(op="output")
        return _as_list(output.args[0])

    def _in_memory(self, node: Node, value: Any) -> Any:
        """A value in memory as torch has it, where something depends on that.

        What is seen of it does; and another shape of what the Graph does not compute, and so may
        not lie as a Plan has what it computes.
        """
        if self._is_of_torch(node):
            return value
        if node not in self._seen.roots and not self._orders_others(node):
            return value
        return self._laid_out(node, value, as_tensor=node in self._seen.as_tensors)

    def _orders_others(self, node: Node) -> bool:
        """Whether it is a copy in order of what others have left in another one."""
        if node.target is not torch.ops.aten.clone.default or layouts.lies_otherwise(node):
            return False
        source = node.args[0]
        is_given = self._is_of_torch(layouts.root(source))
        return is_given and layouts.lies_otherwise(source)

    def _laid_out(self, node: Node, value: Tensor, as_tensor: bool) -> Tensor:
        """A value in memory as torch has it; `as_tensor`: as torch sees it there."""
        meta = node.meta["val"]
        if repeats := layouts.repeated_axes(meta):
            return self._repeated(node, value, repeats)
        if layouts.has_gaps(node):
            return self._made_by("layout", library_ops.as_it_is, value, meta)
        axes = layouts.axes_from_outermost(meta)
        turned = self._builder.transpose(value, axes)
        memory = self._builder.wrap(self._graph.empty(value.dtype, list(turned.shape)))
        stored = self._builder.update(memory, turned, [0] * value.rank)
        back = [axes.index(i) for i in range(len(axes))]
        turned = self._builder.transpose(stored, back)
        return self._made_by("layout", library_ops.as_it_is, turned, meta) if as_tensor else turned

    def _made_by(
        self,
        name: str,
        function: Callable[..., Any],
        value: Tensor,
        like: torch.Tensor,
        sizes: Sequence[Size] = (),
    ) -> Tensor:
        """What a function makes, in the shape of `like`, of a tensor that lies so, and of sizes."""
        callee, told = self._function(name, function, [self._layout(like)])
        made = self._graph.call(
            callee,
            [value.node],
            value.dtype,
            self._symbols.shape(like),
            results=1,
            sizes=[*sizes, *told],
        )
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

    def _result(self, item: Any) -> tuple[tuple[str, int, list[int], Layout | None], int | None]:
        value = self._values[item] if isinstance(item, Node) else item
        if isinstance(item, Node) and item.target is torch.ops.aten.copy_.default:
            item = item.args[0]  # what was written to
        if isinstance(item, Node) and item.op == "placeholder":
            return ("argument", self._placeholders.index(item), [], None), None
        if isinstance(value, Tensor):
            return self._tensor_result(item, value)
        if value is None and not (isinstance(item, Node) and item.meta.get("val") is not None):
            return ("none", 0, [], None), None
        if isinstance(value, int | _dvm.Dim):
            size = self._graph.size(value) if isinstance(value, int) else value
            return ("size", 0, [], None), self._graph.dim_value("i64", size)
        raise Untranslatable(f"a result that is a {type(item.meta.get('val')).__name__}")

    def _tensor_result(
        self, item: Node, value: Tensor
    ) -> tuple[tuple[str, int, list[int], Layout | None], int]:
        meta, group = item.meta["val"], self._group(item)
        layout, told = self._layout(item)
        if told:
            made = self._made_by("layout", library_ops.as_it_is, value, meta)
            return ("tensor", group, [], None), made.node
        if item in self._seen.by_torch or item in self._seen.roots:
            return ("tensor", group, [], layout), value.node
        if repeats := layouts.repeated_axes(meta):
            return ("tensor", group, [], layout), self._repeated(item, value, repeats).node
        axes = layouts.axes_from_outermost(meta)
        if not layouts.is_dense(meta, axes):
            return ("tensor", group, [], layout), value.node
        back = [axes.index(i) for i in range(len(axes))]
        return ("tensor", group, back, layout), self._builder.transpose(value, axes).node

    def _repeated(self, node: Node, value: Tensor, axes: Sequence[int]) -> Tensor:
        """A value in memory as torch has it: elements are repeated by strides of 0."""
        meta = node.meta["val"]
        part = self._builder.before_broadcast(value, axes)
        shape = self._symbols.shape(meta)
        function = library_ops.expanded([n if isinstance(n, int) else None for n in shape])
        sizes = [n for n in shape if not isinstance(n, int)]
        return self._made_by("expanded", function, part, meta, sizes)


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


def _is_statistic(source: Any, target: Node) -> bool:
    """Whether it is what batch norms make of a statistic, whose writes torch does not count.

    A backward pass of eager torch's may still hold it, and minds none of them.
    """
    found = source
    while isinstance(found, Node) and found.target is operator.getitem and found.args[1] in (3, 4):
        whole, place = found.args
        if whole.target is not torch.ops.aten._native_batch_norm_legit_functional.default:
            return False
        found = whole.args[place]
    return found is target and found is not source
