"""Where torch has a graph's tensors in memory, as its example of them tells."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Node

_aten = torch.ops.aten
#: what is a view for a Plan, too, of memory of any strides
_OF_A_PLAN = {
    operator.getitem,
    _aten.alias.default,
    _aten.permute.default,
    _aten.slice.Tensor,
    _aten.split.Tensor,
    _aten.split_with_sizes.default,
    _aten.t.default,
    _aten.transpose.int,
}


def repeated_axes(tensor: torch.Tensor) -> list[int]:
    """The axes along which all elements are one in memory."""
    pairs = enumerate(zip(tensor.stride(), tensor.shape, strict=True))
    return [i for i, (stride, size) in pairs if _hint(stride) == 0 and (_hint(size) or 0) > 1]


def axes_from_outermost(tensor: torch.Tensor) -> list[int]:
    """The axes as torch has them in memory, the one of the largest stride first."""
    strides = [_hint(stride) for stride in tensor.stride()]
    sizes = [_hint(size) for size in tensor.shape]
    axes = list(range(tensor.dim()))
    if None in strides or None in sizes or 0 in strides:
        return axes
    moving = [axis for axis in axes if sizes[axis] != 1]
    placed = iter(sorted(moving, key=lambda axis: -strides[axis]))
    return [next(placed) if axis in moving else axis for axis in axes]


def is_dense(tensor: torch.Tensor, axes: Sequence[int]) -> bool:
    """Whether the axes, from the outermost on, leave no place in memory between elements."""
    stride: Any = 1
    for axis in reversed(axes):
        size = _hint(tensor.shape[axis])
        if size is None or (size != 1 and _hint(tensor.stride(axis)) != stride):
            return False
        stride *= size
    return True


def viewed(node: Node) -> Node | None:
    """What a node is a view of, or one of several; None for what is no view."""
    view = node.args[0] if node.target is operator.getitem else node
    is_view = isinstance(view, Node) and getattr(view.target, "is_view", False)
    # Constants of the module have no type.
    return view.args[0] if is_view and "val" in view.args[0].meta else None


def root(node: Node) -> Node:
    """What a node is a view of through all views between; itself, for what is no view."""
    while (source := viewed(node)) is not None:
        node = source
    return node


class ViewsInResults:
    """Which results of a graph share memory that it computes, in which the program may write.

    roots: what more than one result is a view of, or one that lies as no Plan has its views.
    by_torch: views that torch makes: of roots whose axes lie in an order of their own, and such
        as a Plan copies, for they are no slices with axes in another order, but lie apart.
    """

    def __init__(self, results: Sequence[Any]) -> None:
        chains = [_views_between(item) for item in results if isinstance(item, Node)]
        chains = [chain for chain in chains if _is_computed(chain[-1])]
        views = [chain for chain in chains if len(chain) > 1]
        own = {chain[-1] for chain in views if _is_turned(chain[-1]) or _is_copied(chain)}
        count = Counter(chain[-1] for chain in chains)
        self.by_torch = {node for chain in views if chain[-1] in own for node in chain[:-1]}
        self.roots = own | {chain[-1] for chain in views if count[chain[-1]] > 1}


def _is_turned(node: Node) -> bool:
    """Whether a tensor lies without gaps, but in another order than its axes'."""
    tensor = node.meta["val"]
    axes = axes_from_outermost(tensor)
    return axes != list(range(tensor.dim())) and is_dense(tensor, axes)


def _views_between(node: Node) -> list[Node]:
    """A node, and what it is a view of, down to the root."""
    chain = [node]
    while (source := viewed(node)) is not None:
        if node.target is operator.getitem:
            chain.append(node.args[0])
        chain.append(source)
        node = source
    return chain


def _is_computed(node: Node) -> bool:
    return node.op == "call_function" and isinstance(node.meta.get("val"), torch.Tensor)


def _is_copied(chain: Sequence[Node]) -> bool:
    types = [t for node in chain if isinstance(t := node.meta["val"], torch.Tensor)]
    lies_apart = not all(is_dense(t, range(t.dim())) for t in types)
    return lies_apart and any(view.target not in _OF_A_PLAN for view in chain[:-1])


def _hint(size: Any) -> Any:
    """What a size is in torch's example, None where that has none."""
    return size.node.hint if isinstance(size, torch.SymInt) else size
