"""Where torch has a graph's tensors in memory, as its example of them tells.

What dvm computes may lie in any order within a Region. What leaves one, for an op that torch
computes, for the backward pass or for the program, has the strides and the offset of the example.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import Node

from dvm.torch.sizes import Size
from dvm.torch.symbols import expression

#: as `_dvm.TorchGraph` reads it: axes, the outermost first, of what lies without gaps; or strides
#: and the offset, None for what a call tells
Layout = tuple[list[int], list[int | None]]

_aten = torch.ops.aten
#: what is a view for a Plan, too, of memory of any strides
_OF_A_PLAN = {
    operator.getitem,
    _aten.alias.default,
    _aten.detach.default,
    _aten.permute.default,
    _aten.select.int,
    _aten.slice.Tensor,
    _aten.split.Tensor,
    _aten.split_with_sizes.default,
    _aten.t.default,
    _aten.transpose.int,
    _aten.unbind.int,
}
#: what gives elements in their order another shape, which is one where it only splits axes
_SHAPES = {
    _aten.view.default,
    _aten.unsqueeze.default,
    _aten.squeeze.dim,
    _aten.squeeze.dims,
}


def layout_of(tensor: torch.Tensor, dim: Callable[[Any], Size]) -> tuple[Layout, list[Size]]:
    """A tensor's layout, and the numbers of it that a call tells.

    dim: a size of torch's as one of the Graph's.
    """
    numbers = [dim(n) for n in (*tensor.stride(), tensor.storage_offset())]
    told: list[Size] = [n for n in numbers if not isinstance(n, int)]
    order = axes_from_outermost(tensor)
    if told and numbers[-1] == 0 and _is_dense_by_form(tensor, order):
        return (order, []), []
    return ([], [n if isinstance(n, int) else None for n in numbers]), told


def placed_copy(tensor: torch.Tensor, strides: Sequence[int], offset: int) -> torch.Tensor:
    """A tensor's elements in a storage of its own, with these strides from that offset on."""
    axes = list(zip(tensor.shape, strides, strict=True))
    last = sum((size - 1) * stride for size, stride in axes)
    elements = offset + last + 1 if tensor.numel() else offset
    storage = tensor.new_empty(elements)
    # What a stride of 0 repeats is stored once.
    first = [slice(1) if stride == 0 else slice(None) for _, stride in axes]
    placed = storage.as_strided(tensor.shape, strides, offset)
    placed[tuple(first)].copy_(tensor[tuple(first)])
    return placed


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


def is_in_order(tensor: torch.Tensor) -> bool:
    """Whether the axes lie in their own order in memory."""
    return axes_from_outermost(tensor) == list(range(tensor.dim()))


def is_dense(tensor: torch.Tensor, axes: Sequence[int]) -> bool:
    """Whether the axes, from the outermost on, leave no place in memory between elements."""
    stride: Any = 1
    for axis in reversed(axes):
        size = _hint(tensor.shape[axis])
        if size is None or (size != 1 and _hint(tensor.stride(axis)) != stride):
            return _is_dense_by_form(tensor, axes)
        stride *= size
    return True


def _is_dense_by_form(tensor: torch.Tensor, axes: Sequence[int]) -> bool:
    """Whether it is so for all sizes, as far as the expressions of the strides tell."""
    stride: Any = 1
    for axis in reversed(axes):
        if expression(tensor.stride(axis)) != stride:
            return False
        stride = stride * expression(tensor.shape[axis])
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


class Seen:
    """What is seen of a graph's tensors as they lie, and so has to be in memory as torch has it.

    The program may write into one result and find that in another; and AOTAutograd makes a result
    that is a view again, as one of the argument, or of another result, with the strides and the
    offset that it has here. An op of torch's asks what it is given for both.

    results: what the program gets.
    taken: what ops of torch's are given, and the backward pass.

    roots: what the graph computes and these are, or are views of, but for what lies in C order.
    by_torch: views that torch makes: such as a Plan copies, for they are no slices with axes in
        another order, and those of a root with such a view that several results share.
    as_tensors: roots that are tensors of torch's before their views are.
    """

    def __init__(self, results: Sequence[Any], taken: Sequence[Node]) -> None:
        chains = [_views_between(item) for item in results if isinstance(item, Node)]
        count = Counter(chain[-1] for chain in chains)
        views = [chain for chain in chains if len(chain) > 1]
        computed = [chain for chain in views if _is_computed(chain[-1])]
        of_arguments = [chain for chain in views if chain[-1].op == "placeholder"]
        own = {
            chain[-1]
            for chain in computed
            if lies_otherwise(chain[-1]) or has_gaps(chain[-1]) or _is_copied(chain)
        }
        own |= {chain[-1] for chain in of_arguments if _is_copied(chain)}
        self.as_tensors = own
        self.by_torch = {node for chain in views if chain[-1] in own for node in chain[:-1]}
        self.roots = {
            chain[-1]
            for chain in computed
            if chain[-1] in own or count[chain[-1]] > 1 or not _is_in_order(chain[0])
        }
        items = (chain[0] for chain in chains if len(chain) == 1)
        self.roots |= {item for item in items if _is_computed(item) and has_gaps(item)}
        for chain in map(_views_between, taken):
            if len(chain) > 1 and _is_copied(chain):
                self.by_torch |= set(chain[:-1])
            if _is_computed(chain[-1]) and lies_otherwise(chain[-1]):
                self.roots.add(chain[-1])


def has_gaps(node: Node) -> bool:
    """Whether there is memory between elements or before the first, and no element is repeated."""
    tensor = node.meta["val"]
    if repeated_axes(tensor):
        return False
    is_first = _hint(tensor.storage_offset()) == 0
    return not is_first or not is_dense(tensor, axes_from_outermost(tensor))


def lies_otherwise(node: Node) -> bool:
    """Whether elements do not lie one behind the other in the order of the axes."""
    return isinstance(node.meta.get("val"), torch.Tensor) and not _is_in_order(node)


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
    """Whether a Plan copies where one of a chain of views is."""
    return not all(map(_is_view_of_a_plan, chain[:-1]))


def _is_view_of_a_plan(node: Node) -> bool:
    if node.target in _OF_A_PLAN:
        return True
    source, made = node.args[0].meta["val"], node.meta["val"]
    # An axis more is a broadcast for a Plan, which is no view.
    if node.target is _aten.expand.default or not isinstance(made, torch.Tensor):
        return False
    is_shaped = node.target in _SHAPES and _only_splits_axes(source, made)
    return is_shaped or (_is_packed(source) and _is_packed(made))


def _only_splits_axes(source: torch.Tensor, made: torch.Tensor) -> bool:
    """Whether each axis became neighbouring axes of its own, whatever the sizes are."""
    left = [expression(size) for size in made.shape]
    for size in map(expression, source.shape):
        run: Any = 1
        while run != size and left:
            run = run * left.pop(0)
        if run != size:
            return False
    return all(size == 1 for size in left)


def _is_packed(tensor: torch.Tensor) -> bool:
    """Whether elements lie one behind the other, and axes of size 1 have those strides, too."""
    stride: Any = 1
    for axis in reversed(range(tensor.dim())):
        if _hint(tensor.shape[axis]) is None or _hint(tensor.stride(axis)) != stride:
            return False
        stride *= _hint(tensor.shape[axis])
    return True


def _is_in_order(node: Node) -> bool:
    tensor = node.meta["val"]
    return is_dense(tensor, range(tensor.dim()))


def _hint(size: Any) -> Any:
    """What a size is in torch's example, None where that has none."""
    return size.node.hint if isinstance(size, torch.SymInt) else size
