"""Views, joins and indices of PyTorch."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from typing import Any

import torch

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.elementwise import cast
from dvm.magpy_capture.meanings.torch.operations.lowered import (
    Row,
    lowered,
    node_of,
    result,
    tensor,
)
from dvm.magpy_capture.meanings.torch.rules import OPERATORS
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import Meaning, means
from dvm.magpy_capture.tensors.fresh import Order, c_order
from dvm.magpy_capture.tensors.indexing import index_parts
from dvm.magpy_capture.values import Abstract, Literal, Sequence, SliceValue, Tensor, resolve
from dvm.torch import indexing
from dvm.torch import shapes as rows

#: orders of axes that torch.cat gives its result, too
CHANNELS_LAST = ((0, 2, 3, 1), (0, 2, 3, 4, 1))
NONE, ZERO = Literal(None), Literal(0)


# ---- another shape


@means(torch.Tensor.reshape)
def reshape(lower: TorchPart, input: Abstract, *shape: Abstract) -> Tensor:
    return lower.views.reshaped(tensor(lower, input), lower.torch_tensors.dims(shape))


@means(torch.reshape)
def reshape_of(lower: TorchPart, input: Abstract, shape: Abstract) -> Tensor:
    return reshape(lower, input, shape)


@means(torch.Tensor.view)
def view(lower: TorchPart, input: Abstract, *shape: Abstract) -> Tensor:
    """Refused where it depends on sizes whether there is such a view."""
    x = tensor(lower, input)
    sizes = lower.torch_tensors.dims(shape)
    made = lower.views.reshaped(x, sizes)
    if made.maybe is not None:
        raise refuse(reasons.TORCH_FORM, "x.view", "a tensor that may have no such view")
    return made


@means(torch.Tensor.view_as, torch.Tensor.reshape_as)
def view_as(lower: TorchPart, input: Abstract, other: Abstract) -> Tensor:
    shape = tensor(lower, other).shape
    made = lower.views.reshaped(tensor(lower, input), list(shape))
    if made.maybe is not None:
        raise refuse(reasons.TORCH_FORM, "x.view_as", "a tensor that may have no such view")
    return made


@means(torch.flatten, torch.Tensor.flatten)
def flatten(
    lower: TorchPart, input: Abstract, start_dim: Abstract = ZERO, end_dim: Abstract = Literal(-1)
) -> Tensor:
    x = tensor(lower, input)
    first = lower.torch_tensors.axis(start_dim, x.rank)
    last = lower.torch_tensors.axis(end_dim, x.rank)
    if x.rank == 0 or first == last:
        return x if x.rank else lower.views.reshaped(x, [lower.graph.size(1)])
    middle = lower.graph.product(x.shape[first : last + 1])
    return lower.views.reshaped(x, [*x.shape[:first], middle, *x.shape[last + 1 :]])


@means(torch.unflatten, torch.Tensor.unflatten)
def unflatten(lower: TorchPart, input: Abstract, dim: Abstract, sizes: Abstract) -> Tensor:
    x = tensor(lower, input)
    axis = lower.torch_tensors.axis(dim, x.rank)
    parts = lower.torch_tensors.dims([sizes])
    if any(part.constant == -1 for part in parts):
        others = lower.graph.product(part for part in parts if part.constant != -1)
        lower.program.require_positive(others)
        parts = [x.shape[axis] // others if part.constant == -1 else part for part in parts]
    return lower.views.reshaped(x, [*x.shape[:axis], *parts, *x.shape[axis + 1 :]])


# ---- axes


def permuted(
    lower: TorchPart, x: Tensor, axes: SequenceOf[int], method: str, *given: Any
) -> Tensor:
    """`method`: of tensors, by which the view is made again."""
    if sorted(axes) != list(range(x.rank)):
        raise refuse(reasons.TORCH_FORM, "x.permute", "axes that are named twice")
    order: Order = tuple(axes.index(axis) for axis in x.order)
    shape = [x.shape[axis] for axis in axes]
    return lower.torch_tensors.view(x, shape, order, method, *given)


@means(torch.permute, torch.Tensor.permute)
def permute(lower: TorchPart, input: Abstract, *dims: Abstract) -> Tensor:
    x = tensor(lower, input)
    only = lower.indexing.plain(dims[0]) if len(dims) == 1 else None
    given = only if isinstance(only, (tuple, list)) else [lower.indexing.plain(d) for d in dims]
    axes = [lower.torch_tensors.axis(Literal(axis), x.rank) for axis in given]
    return permuted(lower, x, axes, "permute", *map(Literal, axes))


@means(torch.transpose, torch.Tensor.transpose, torch.swapaxes, torch.Tensor.swapaxes)
def transpose(lower: TorchPart, input: Abstract, dim0: Abstract, dim1: Abstract) -> Tensor:
    x = tensor(lower, input)
    first, second = (lower.torch_tensors.axis(dim, x.rank) for dim in (dim0, dim1))
    axes = list(range(x.rank))
    if axes:
        axes[first], axes[second] = second, first
    return permuted(lower, x, axes, "transpose", Literal(first), Literal(second))


@means(torch.t, torch.Tensor.t)
def t(lower: TorchPart, input: Abstract) -> Tensor:
    x = tensor(lower, input)
    return permuted(lower, x, list(range(x.rank))[::-1], "t")


@means(torch.unsqueeze, torch.Tensor.unsqueeze)
def unsqueeze(lower: TorchPart, input: Abstract, dim: Abstract) -> Tensor:
    x = tensor(lower, input)
    axis = lower.torch_tensors.axis(dim, x.rank + 1)
    key = [Literal(slice(None))] * axis + [NONE, Literal(Ellipsis)]
    return lower.indexing.index(x, Sequence(key))


@means(torch.squeeze, torch.Tensor.squeeze)
def squeeze(lower: TorchPart, input: Abstract, dim: Abstract = NONE) -> Tensor:
    """The path is for calls in which the same axes have one element."""
    x = tensor(lower, input)
    axes = sorted(lower.torch_tensors.axes(dim, x.rank))
    gone = [axis for axis in axes if lower.sizes.observed(x.shape[axis]) == 1]
    for axis in axes:
        if x.shape[axis].constant is None:
            if axis in gone:
                lower.sizes.require_equal(x.shape[axis], lower.graph.size(1))
            elif not lower.sizes.is_not_one(x.shape[axis]):
                register = lower.program.register_of_dim(x.shape[axis])
                one = lower.program.operate("==", register, lower.program.constant(1))
                lower.program.guard("guard_truth", one, False)
    shape = [size for axis, size in enumerate(x.shape) if axis not in gone]
    kept = [axis for axis in range(x.rank) if axis not in gone]
    order: Order = tuple(kept.index(axis) for axis in x.order if axis in kept)
    given = [] if isinstance(resolve(dim), Literal) and lower.indexing.plain(dim) is None else [dim]
    return lower.torch_tensors.view(x, shape, order, "squeeze", *given)


@means(torch.Tensor.expand)
def expand(lower: TorchPart, input: Abstract, *sizes: Abstract) -> Tensor:
    x = tensor(lower, input)
    wanted = lower.torch_tensors.dims(sizes)
    lead = len(wanted) - x.rank
    shape = list(wanted)
    for axis, own in enumerate(x.shape):
        asked = wanted[lead + axis]
        if asked.constant == -1 or asked == own:
            shape[lead + axis] = own
        elif own.constant != 1 and lower.sizes.observed(own) == lower.sizes.observed(asked):
            lower.sizes.require_equal(own, asked)
            shape[lead + axis] = own
        elif own.constant != 1:
            lower.sizes.require_equal(own, lower.graph.size(1))
    return expanded(lower, x, shape)


@means(torch.Tensor.expand_as)
def expand_as(lower: TorchPart, input: Abstract, other: Abstract) -> Tensor:
    given = Sequence([*map(lower.torch_tensors.size_value, tensor(lower, other).shape)])
    return expand(lower, input, given)


def expanded(lower: TorchPart, x: Tensor, shape: SequenceOf[_dvm.Dim]) -> Tensor:
    if x.order != c_order(x.rank):
        raise refuse(reasons.TORCH_ORDER, "x.expand")
    sizes = [lower.torch_tensors.size_value(dim) for dim in shape]
    if list(shape) == list(x.shape):
        return lower.torch_tensors.view(x, x.shape, x.order, "expand", *sizes)
    return lower.arrays.view_of(
        x,
        shape,
        c_order(len(shape)),
        lambda value: lower.graph.copy_value(value, shape),
        None,
        (torch.Tensor.expand, sizes),
        contiguous=False,
        loose=True,
    )


@means(torch.broadcast_to, torch.Tensor.broadcast_to)
def broadcast_to(lower: TorchPart, input: Abstract, size: Abstract) -> Tensor:
    return expand(lower, input, size)


@means(torch.functional.broadcast_tensors)
def broadcast_tensors(lower: TorchPart, *tensors: Abstract) -> Sequence:
    """Those that have the common shape are what they were."""
    given = [tensor(lower, each) for each in tensors]
    shape = lower.elementwise.common_shape(given)

    def spread(t: Tensor) -> Tensor:
        repeated = lower.torch_rules.broadcast_axes(t, shape)
        for axis in repeated:  # else it would be the tensor itself
            lower.sizes.is_not_one(shape[axis])
        return t if t.rank == len(shape) and not repeated else expanded(lower, t, shape)

    return Sequence(list(map(spread, given)))


# ---- parts


def part(lower: TorchPart, x: Tensor, axis: int, start: Abstract, stop: Abstract) -> Tensor:
    key = [Literal(slice(None))] * axis + [SliceValue(start, stop, NONE)]
    return lower.indexing.index(x, Sequence(key))


@means(torch.narrow, torch.Tensor.narrow)
def narrow(
    lower: TorchPart, input: Abstract, dim: Abstract, start: Abstract, length: Abstract
) -> Tensor:
    x = tensor(lower, input)
    first, count = lower.indexing.dim_of(start), lower.indexing.dim_of(length)
    axis = lower.torch_tensors.axis(dim, x.rank)
    if lower.sizes.is_negative(first) or lower.sizes.is_negative(count):
        raise refuse(reasons.TORCH_FORM, "x.narrow", "a start from the end, or no length")
    if not lower.sizes.is_at_most(first + count, x.shape[axis]):
        raise refuse(reasons.TORCH_FORM, "x.narrow", "an end behind that of the axis")
    end = lower.torch_tensors.size_value(first + count)
    return part(lower, x, axis, start, end)


@means(torch.select, torch.Tensor.select)
def select(lower: TorchPart, input: Abstract, dim: Abstract, index: Abstract) -> Tensor:
    x = tensor(lower, input)
    axis = lower.torch_tensors.axis(dim, x.rank)
    return lower.indexing.index(x, Sequence([*[Literal(slice(None))] * axis, index]))


@means(torch.chunk, torch.Tensor.chunk)
def chunk(
    lower: TorchPart, input: Abstract, chunks: Abstract, dim: Abstract = ZERO, *, seen: Any
) -> Sequence:
    """Parts of one size, but for the last; their number is that of the recorded call."""
    x = tensor(lower, input)
    axis = lower.torch_tensors.axis(dim, x.rank)
    count = lower.indexing.integer(chunks)
    whole = x.shape[axis]
    each = (whole + (count - 1)) // count
    if len(seen) != count and whole.constant is None:
        raise refuse(reasons.TORCH_FORM, "x.chunk", "fewer chunks than asked for")
    if whole.constant is None:  # so many only of sizes that are large enough
        last = lower.program.register_of_dim(whole - each * (count - 1))
        test = lower.program.operate(">", last, lower.program.constant(0))
        lower.program.guard("guard_truth", test, True)
    return parts_of(lower, x, axis, [each] * (len(seen) - 1))


def parts_of(lower: TorchPart, x: Tensor, axis: int, sizes: SequenceOf[_dvm.Dim]) -> Sequence:
    """Views one behind the other; the last one is the rest."""
    made: list[Tensor] = []
    start = lower.graph.size(0)
    value = lower.torch_tensors.size_value
    for size in sizes:
        made.append(part(lower, x, axis, value(start), value(start + size)))
        start = start + size
    made.append(part(lower, x, axis, value(start), NONE))
    return Sequence(made)


@means(torch.split, torch.Tensor.split)
def split(
    lower: TorchPart,
    tensor_: Abstract,
    split_size_or_sections: Abstract,
    dim: Abstract = ZERO,
    *,
    seen: Any,
) -> Sequence:
    x = tensor(lower, tensor_)
    axis = lower.torch_tensors.axis(dim, x.rank)
    whole = x.shape[axis]
    plain = lower.indexing.plain(split_size_or_sections)
    if isinstance(plain, int):
        size = lower.graph.size(plain)
        if whole.constant is None:
            register = lower.program.register_of_dim((whole + (plain - 1)) // plain)
            lower.program.guard("guard_value", register, len(seen), key=(register,))
        return parts_of(lower, x, axis, [size] * (len(seen) - 1))
    sizes = [lower.graph.size(size) for size in plain]
    total = lower.graph.size(sum(plain))
    lower.sizes.require_equal(whole, total)
    return parts_of(lower, x, axis, sizes[:-1])


@means(torch.unbind, torch.Tensor.unbind)
def unbind(lower: TorchPart, input: Abstract, dim: Abstract = ZERO, *, seen: Any) -> Sequence:
    x = tensor(lower, input)
    axis = lower.torch_tensors.axis(dim, x.rank)
    if x.shape[axis].constant is None:
        register = lower.program.register_of_dim(x.shape[axis])
        lower.program.guard("guard_value", register, len(seen), key=(register,))
    before = [Literal(slice(None))] * axis
    return Sequence(
        [lower.indexing.index(x, Sequence([*before, Literal(k)])) for k in range(len(seen))]
    )


@means(torch.Tensor.size)
def size_of(lower: TorchPart, input: Abstract, dim: Abstract = NONE, *, seen: Any) -> Any:
    x = tensor(lower, input)
    if lower.indexing.plain(dim) is None:
        return Sequence([*map(lower.torch_tensors.size_value, x.shape)], torch.Size)
    return lower.torch_tensors.size_value(x.shape[lower.torch_tensors.axis(dim, x.rank)])


@means(torch.Tensor.dim, torch.Tensor.is_floating_point, torch.is_floating_point, torch.is_tensor)
def told(lower: TorchPart, input: Abstract, *, seen: Any) -> Literal:
    """What follows from dtype and rank."""
    tensor(lower, input)
    return Literal(seen)


@means(torch.numel, torch.Tensor.numel)
def numel(lower: TorchPart, input: Abstract) -> Any:
    return lower.torch_tensors.size_value(lower.graph.product(tensor(lower, input).shape))


# ---- joins


def joined(lower: TorchPart, tensors: Abstract, seen: Any) -> list[Tensor]:
    """In the dtype of the result, and in C order, which then is its own."""
    given = [tensor(lower, each) for each in lower.containers.elements(tensors)]
    if not given:
        raise refuse(reasons.TORCH_FORM, "torch.cat", "nothing")
    if any(t.order in CHANNELS_LAST for t in given):
        raise refuse(reasons.TORCH_ORDER, "torch.cat")
    return [cast(lower, t, seen.dtype) for t in given]


@means(torch.cat, torch.concat, torch.concatenate)
def cat(lower: TorchPart, tensors: Abstract, dim: Abstract = ZERO, *, seen: Any) -> Tensor:
    given = joined(lower, tensors, seen)
    rank = max(t.rank for t in given)
    # One of rank 1 without elements is left out, whatever the rank of the others is.
    given = [t for t in given if t.rank == rank or t.rank != 1 or t.shape[0].constant != 0]
    if any(t.rank != rank for t in given):
        raise refuse(reasons.TORCH_FORM, "torch.cat", "tensors of several ranks")
    axis = lower.torch_tensors.axis(dim, rank)
    for place in range(rank):
        for t in given[1:] if place != axis else ():
            lower.torch_tensors.equal_sizes(given[0], place, t, place)
    shape = list(given[0].shape)
    for t in given[1:]:
        shape[axis] = shape[axis] + t.shape[axis]
    nodes = [node_of(lower, t) for t in given]
    return result(lower, lowered(lower, rows.cat, [(seen.dtype, shape)], nodes, axis))


@means(torch.stack)
def stack(lower: TorchPart, tensors: Abstract, dim: Abstract = ZERO, *, seen: Any) -> Tensor:
    given = joined(lower, tensors, seen)
    axis = lower.torch_tensors.axis(dim, given[0].rank + 1)
    shape = list(given[0].shape)
    for t in given[1:]:
        for place in range(t.rank):
            lower.sizes.require_equal(t.shape[place], shape[place])
    shape.insert(axis, lower.graph.size(len(given)))
    nodes = [node_of(lower, t) for t in given]
    return result(lower, lowered(lower, rows.stack, [(seen.dtype, shape)], nodes, axis))


# ---- places


def taken(row: Row) -> Meaning:
    """Elements at places along one axis."""

    def meaning(
        lower: TorchPart, input: Abstract, dim: Abstract, index: Abstract, *, seen: Any
    ) -> Tensor:
        x, places = tensor(lower, input), tensor(lower, index)
        axis = lower.torch_tensors.axis(dim, x.rank)
        expected: Any = [(seen.dtype, [])]
        nodes = node_of(lower, x), axis, node_of(lower, places)
        return result(lower, lowered(lower, row, expected, *nodes))

    return meaning


means(torch.index_select, torch.Tensor.index_select)(taken(indexing.index_select))
means(torch.gather, torch.Tensor.gather)(taken(indexing.gather))


def indexed(lower: TorchPart, input: Tensor, key: Abstract, seen: Any) -> Tensor:
    """`x[key]` with tensors of whole numbers among its parts, which are broadcast together."""
    parts = index_parts(key)
    plain = [part if not isinstance(part, Tensor) else Literal(slice(None)) for part in parts]
    if any(isinstance(part, Tensor) and not part.is_integer for part in parts):
        raise refuse(reasons.TORCH_FORM, "x[key]", "a mask")
    if any(isinstance(part, Literal) and part.object is Ellipsis for part in parts):
        raise refuse(reasons.TORCH_FORM, "x[key]", "an ellipsis beside tensors")
    if not lower.indexing.is_basic(plain):
        raise refuse(reasons.TORCH_FORM, "x[key]", describe(key))
    if any(not isinstance(part, (Tensor, SliceValue)) and not _is_slice(part) for part in parts):
        raise refuse(reasons.TORCH_FORM, "x[key]", "numbers beside tensors")
    part = lower.indexing.index(input, Sequence(plain)) if plain else input
    places = [node_of(lower, p) if isinstance(p, Tensor) else None for p in parts]
    places += [None] * (part.rank - len(places))
    expected: Any = [(seen.dtype, [])]
    return result(lower, lowered(lower, indexing.index, expected, node_of(lower, part), places))


def _is_slice(part: Abstract) -> bool:
    return isinstance(part, Literal) and isinstance(part.object, slice)


OPERATORS["subscript", "[]"] = indexed
