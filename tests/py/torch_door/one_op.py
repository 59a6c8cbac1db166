"""One op of torch as a graph of its own, compiled for any sizes, without Dynamo."""

import operator
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.utils import _pytree as pytree

from dvm.torch.backend import Options, compile_graph


class OneOp:
    """`op(*args, **kwargs)`; sizes of the tensors but 0 and 1 may change from call to call."""

    def __init__(
        self, op: Any, args: Any, kwargs: Any, shares_sizes: bool = False, **options: str
    ) -> None:
        leaves, spec = pytree.tree_flatten((args, kwargs))
        mode = FakeTensorMode(shape_env=ShapeEnv())
        graph = Graph()
        fakes = [_fake(mode, leaf, k, shares_sizes) for k, leaf in enumerate(leaves)]
        tensors = [fake for fake in fakes if isinstance(fake, torch.Tensor)]
        self._sizes = {
            str(size): size for fake in tensors for size in fake.shape if _is_symbol(size)
        }
        # By now: the op may make torch find that two of them are one.
        self._shapes = [[str(size) for size in fake.shape] for fake in tensors]
        for name, size in self._sizes.items():
            graph.placeholder(name).meta["val"] = size
        nodes = [_placeholder(graph, fake, k) for k, fake in enumerate(fakes)]
        given, named = pytree.tree_unflatten(nodes, spec)
        call = graph.call_function(op, given, named)
        with mode, enable_python_dispatcher():
            fake_args, fake_kwargs = pytree.tree_unflatten(fakes, spec)
            call.meta["val"] = op(*fake_args, **fake_kwargs)
            self._is_single = isinstance(call.meta["val"], torch.Tensor)
            if self._is_single and op.is_view:  # torch itself makes some views that are results
                call = _copied(graph, call)
        graph.output((call,) if self._is_single else _items(graph, call))
        self.compiled = compile_graph(
            GraphModule(torch.nn.Module(), graph), [], options=Options(**options), kind="inference"
        )

    @property
    def ops(self) -> dict[str, Any]:
        return self.compiled.record.ops

    def __call__(self, args: Any, kwargs: Any) -> Any:
        leaves, _ = pytree.tree_flatten((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        known = {
            size: actual
            for shape, tensor in zip(self._shapes, tensors, strict=True)
            for size, actual in zip(shape, tensor.shape, strict=True)
        }
        made = self.compiled([*(known[name] for name in self._sizes), *tensors])
        return made[0] if self._is_single else made


def _fake(mode: Any, leaf: Any, k: int, shares_sizes: bool) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return leaf
    kind = DimDynamic.DUCK if shares_sizes else DimDynamic.DYNAMIC
    context = StatelessSymbolicContext(dynamic_sizes=[kind] * leaf.dim())
    return mode.from_tensor(leaf, source=ConstantSource(f"a{k}"), symbolic_context=context)


def _placeholder(graph: Graph, fake: Any, k: int) -> Any:
    if not isinstance(fake, torch.Tensor):
        return fake
    node = graph.placeholder(f"a{k}")
    node.meta["val"] = fake
    return node


def _is_symbol(size: Any) -> bool:
    return isinstance(size, torch.SymInt) and size.node.expr.is_Symbol


def _items(graph: Graph, call: Any) -> tuple[Any, ...]:
    items = []
    for k, value in enumerate(call.meta["val"]):
        item = graph.call_function(operator.getitem, (call, k))
        item.meta["val"] = value
        items.append(item if isinstance(value, torch.Tensor) else None)
    return tuple(items)


def _copied(graph: Graph, node: Any) -> Any:
    copy = graph.call_function(torch.ops.aten.clone.default, (node,))
    copy.meta["val"] = copy.target(node.meta["val"])
    return copy
