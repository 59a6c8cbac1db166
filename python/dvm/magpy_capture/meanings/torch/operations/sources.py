"""New tensors of PyTorch: filled, counted, like others; elements as numbers of Python's."""

from __future__ import annotations

from typing import Any

import torch

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.library import NAMES
from dvm.magpy_capture.meanings.torch.operations.lowered import (
    builder_of,
    lowered,
    node_of,
    number_of,
    result,
    sized,
    tensor,
)
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import Meaning, means
from dvm.magpy_capture.tensors.fresh import c_order
from dvm.magpy_capture.values import (
    Abstract,
    ListValue,
    Literal,
    Named,
    Sequence,
    Tensor,
    resolve,
)
from dvm.torch import pointwise as rows
from dvm.torch import shapes

ZERO, ONE = Literal(0), Literal(1)
#: what a function that makes a tensor may be told besides its dtype
ALLOWED = {"device": ("cpu", None), "requires_grad": (False,), "layout": (None, torch.strided)}
ALLOWED |= {"pin_memory": (False, None), "memory_format": (None, torch.preserve_format)}


def check_options(lower: TorchPart, options: Named) -> None:
    """Refuses what is no plain tensor in this machine's memory."""
    lower.torch_modes.guard_modes()
    for name, value in options.items():
        known = lower.indexing.plain(value)
        if name == "device" and known is not None:
            known = torch.device(known).type
        if name != "dtype" and known not in ALLOWED.get(name, ()):
            raise refuse(reasons.TORCH_FORM, "a new tensor", name)


def filled(lower: TorchPart, shape: list[_dvm.Dim], value: Any, seen: Any) -> Tensor:
    made = lowered(lower, rows.full, [(seen.dtype, shape)], shape, value)
    return result(lower, builder_of(lower).broadcast(made, sized(shape)))


def of_shape(number: int) -> Meaning:
    def meaning(lower: TorchPart, *size: Abstract, seen: Any, **options: Abstract) -> Tensor:
        check_options(lower, options)
        return filled(lower, lower.torch_tensors.dims(size), number, seen)

    return meaning


means(torch.zeros)(of_shape(0))
means(torch.ones)(of_shape(1))


@means(torch.full)
def full(
    lower: TorchPart, size: Abstract, fill_value: Abstract, *, seen: Any, **options: Abstract
) -> Tensor:
    """Of a number, or of the one element of a tensor."""
    check_options(lower, options)
    value = resolve(fill_value)
    if isinstance(value, Tensor) and value.object is not None and not value.rank:
        value = item(lower, value, seen=value.object.item())
    number = number_of(lower, value, NAMES.get(seen.dtype, ""))
    return filled(lower, lower.torch_tensors.dims([size]), number, seen)


def like(number: Any) -> Meaning:
    def meaning(lower: TorchPart, input: Abstract, *, seen: Any, **options: Abstract) -> Tensor:
        check_options(lower, options)
        x = tensor(lower, input)
        if x.order != c_order(x.rank):
            raise refuse(reasons.TORCH_ORDER, "a tensor like another")
        made = filled(lower, x.shape, number, seen)
        made.strides = lower.torch_strides.of_copy(x)
        return made

    return meaning


@means(torch.full_like)
def full_like(
    lower: TorchPart, input: Abstract, fill_value: Abstract, *, seen: Any, **options: Abstract
) -> Tensor:
    made: Tensor = like(number_of(lower, fill_value, NAMES.get(seen.dtype, "")))(
        lower, input, seen=seen, **options
    )
    return made


means(torch.zeros_like)(like(0))
means(torch.ones_like)(like(1))


def new(number: int) -> Meaning:
    def meaning(
        lower: TorchPart, input: Abstract, *size: Abstract, seen: Any, **options: Abstract
    ) -> Tensor:
        check_options(lower, options)
        tensor(lower, input)
        return filled(lower, lower.torch_tensors.dims(size), number, seen)

    return meaning


means(torch.Tensor.new_zeros)(new(0))
means(torch.Tensor.new_ones)(new(1))


@means(torch.tensor)
def tensor_of(lower: TorchPart, data: Abstract, *, seen: Any, **options: Abstract) -> Tensor:
    """A number, or a row of numbers."""
    check_options(lower, options)
    given = resolve(data)
    if not isinstance(given, (Sequence, ListValue)):
        return filled(lower, [], fitting(lower, given, seen), seen)
    numbers = [fitting(lower, part, seen) for part in lower.containers.elements(given)]
    size = lower.graph.size
    if not numbers:
        return filled(lower, [size(0)], 0, seen)
    nodes = [node_of(lower, filled(lower, [size(1)], each, seen)) for each in numbers]
    shape = [size(len(nodes))]
    return result(lower, lowered(lower, shapes.cat, [(seen.dtype, shape)], nodes, 0))


def fitting(lower: TorchPart, value: Abstract, seen: Any) -> Any:
    """The number, of which no part is lost in the dtype."""
    kind = lower.torch_tensors.kind_of(lower.torch_tensors.number(value))
    if kind is float and not seen.is_floating_point():
        raise refuse(reasons.TORCH_FORM, "torch.tensor", "floats in another dtype")
    return number_of(lower, value, NAMES.get(seen.dtype, ""))


@means(torch.arange)
def arange(lower: TorchPart, *given: Abstract, seen: Any, **options: Abstract) -> Abstract:
    """Whole numbers up to a size: from 0, or from another one on."""
    named: Named = {name: options.pop(name) for name in ("start", "end", "step") if name in options}
    check_options(lower, options)
    given = (*given, *named.values()) if list(named) in ([], ["end"], ["start", "end"]) else given
    start, end, step = (ZERO, given[0], ONE) if len(given) == 1 else (*given, ONE)[:3]
    numbers = [lower.torch_tensors.number(each) for each in (start, end, step)]
    by = numbers[2]
    if any(lower.torch_tensors.kind_of(n) is not int for n in numbers) or not _is_step(by):
        return lower.opaque.call(torch.arange, list(given), {**named, **options}, seen)
    first, last = (lower.indexing.dim_of(resolve(each)) for each in (start, end))
    if not lower.sizes.is_at_most(first, last):
        raise refuse(reasons.TORCH_FORM, "torch.arange", "an end before the start")
    count = (last - first + (by - 1)) // by
    begin = first if first.constant is None else first.constant
    made = lowered(lower, rows.arange, [(seen.dtype, [count])], begin, None, by)
    return result(lower, made)


def _is_step(number: Any) -> bool:
    return type(number) is int and number > 0


@means(torch.empty)
def empty(lower: TorchPart, *size: Abstract, seen: Any, **options: Abstract) -> Abstract:
    """Whatever is in the memory that torch finds."""
    check_options(lower, options)
    return lower.opaque.call(torch.empty, list(size), options, seen)


@means(torch.Tensor.tolist)
def to_list(lower: TorchPart, input: Abstract, *, seen: Any) -> Abstract:
    return lower.opaque.call(torch.Tensor.tolist, [tensor(lower, input)], {}, seen)


@means(torch.Tensor.item)
def item(lower: TorchPart, input: Abstract, *, seen: Any) -> Abstract:
    """The one element as a number of Python's."""
    x = tensor(lower, input)
    if x.rank:
        raise refuse(reasons.TORCH_FORM, "x.item", "axes")
    value = lower.arrays.value_of(x)
    register = lower.graph.leave(value, {bool: "bool", int: "int", float: "float"}[type(seen)])
    return lower.heap.computed(register, seen)
