"""Reductions, softmax and running totals of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from dvm import reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.elementwise import cast, named
from dvm.magpy_capture.meanings.torch.operations.lowered import (
    Row,
    lowered,
    node_of,
    result,
    tensor,
)
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import Meaning, means
from dvm.magpy_capture.tensors.fresh import c_order
from dvm.magpy_capture.values import Abstract, Literal, Sequence, is_none
from dvm.torch import reductions as rows

NONE, FALSE = Literal(None), Literal(False)


def along(lower: TorchPart, row: Row, input: Abstract, seen: Any, *args: Any, **named: Any) -> Any:
    """What a row makes of one tensor in C order; the shape of the result is the row's to find."""
    x = tensor(lower, input)
    if x.order != c_order(x.rank) and any(lower.sizes.observed(dim) <= 1 for dim in x.shape):
        raise refuse(reasons.TORCH_ORDER, "a function of a tensor whose sizes hide its order")
    expected: Any = [(each.dtype, []) for each in (seen if isinstance(seen, tuple) else [seen])]
    made = lowered(lower, row, expected, node_of(lower, x), *args, **named)
    if isinstance(made, list):
        return Sequence([result(lower, each) for each in made], type(seen))
    return result(lower, made)


def reduction(row: Row, *, with_dtype: bool = False) -> Meaning:
    """Over any axes; all of them by default."""

    def meaning(
        lower: TorchPart,
        input: Abstract,
        dim: Abstract = NONE,
        keepdim: Abstract = FALSE,
        *,
        dtype: Abstract = NONE,
        seen: Any,
    ) -> Any:
        if not (with_dtype or is_none(dtype)):
            raise refuse(reasons.TORCH_FORM, "a reduction", "another dtype")
        x = tensor(lower, input)
        axes = lower.torch_tensors.axes(dim, x.rank)
        return along(lower, row, x, seen, axes, lower.indexing.plain(keepdim))

    return meaning


means(*named("sum"))(reduction(rows.reduction("sum"), with_dtype=True))
means(*named("prod"))(reduction(rows.reduction("prod"), with_dtype=True))
means(*named("logsumexp"))(reduction(rows.logsumexp))
means(*named("mean"))(reduction(rows.mean, with_dtype=True))
means(*named("amax"))(reduction(rows.extremum("max")))
means(*named("amin"))(reduction(rows.extremum("min")))
means(*named("any"))(reduction(rows.truth("any")))
means(*named("all"))(reduction(rows.truth("all")))


def extremum(op: str, other: str) -> Meaning:
    def meaning(
        lower: TorchPart,
        input: Abstract,
        dim: Abstract = NONE,
        keepdim: Abstract = FALSE,
        *,
        seen: Any,
    ) -> Any:
        """All of a tensor, along an axis with the places, or the greater of two tensors."""
        if not isinstance(seen, tuple):
            if is_none(dim):
                return along(lower, rows.extremum(op), input, seen)
            return lower.torch_rules.elementwise_of_two(other, input, dim, seen)
        x = tensor(lower, input)
        axis = lower.torch_tensors.axis(dim, x.rank)
        keeps = lower.indexing.plain(keepdim)
        return along(lower, rows.extremum_and_place(op), x, seen, axis, keeps)

    return meaning


means(*named("max"))(extremum("max", "maximum"))
means(*named("min"))(extremum("min", "minimum"))


def place(op: str) -> Meaning:
    def meaning(
        lower: TorchPart,
        input: Abstract,
        dim: Abstract = NONE,
        keepdim: Abstract = FALSE,
        *,
        seen: Any,
    ) -> Any:
        x = tensor(lower, input)
        axis = None if is_none(dim) else lower.torch_tensors.axis(dim, x.rank)
        return along(
            lower, rows.place_of_extremum(op), x, seen, axis, lower.indexing.plain(keepdim)
        )

    return meaning


means(*named("argmax"))(place("argmax"))
means(*named("argmin"))(place("argmin"))


def variance(finish: Callable[..., Any]) -> Meaning:
    def meaning(
        lower: TorchPart,
        input: Abstract,
        dim: Abstract = NONE,
        unbiased: Abstract = NONE,
        keepdim: Abstract = FALSE,
        *,
        correction: Abstract = NONE,
        seen: Any,
    ) -> Any:
        x = tensor(lower, input)
        if isinstance(lower.indexing.plain(dim), bool):
            dim, unbiased = NONE, dim  # x.var(False)
        asked, given = lower.indexing.plain(unbiased), lower.indexing.plain(correction)
        less = given if given is not None else 0 if asked is False else 1
        axes = lower.torch_tensors.axes(dim, x.rank)
        count = lower.graph.product(x.shape[axis] for axis in axes)
        few, none = lower.graph.size(math.floor(less)), lower.graph.size(0)
        whole = lower.graph.product(x.shape)
        if lower.sizes.is_at_most(count, few) or lower.sizes.is_at_most(whole, none):
            raise refuse(reasons.TORCH_FORM, "a variance", "a warning, of too few elements")
        return along(lower, finish, x, seen, axes, less, lower.indexing.plain(keepdim))

    return meaning


def deviation(b: Any, *args: Any) -> Any:
    return b.sqrt(rows.var(b, *args))


means(*named("var"))(variance(rows.var))
means(*named("std"))(variance(deviation))


def softmax_of(row: Row) -> Meaning:
    def meaning(
        lower: TorchPart, input: Abstract, dim: Abstract, dtype: Abstract = NONE, *, seen: Any
    ) -> Any:
        x = tensor(lower, input)
        kind = lower.indexing.plain(dtype)
        if isinstance(kind, torch.dtype):
            x = cast(lower, x, kind)
        return along(lower, row, x, seen, lower.torch_tensors.axis(dim, x.rank))

    return meaning


def softmax_by(compute: Meaning) -> Meaning:
    """The same, as torch.nn.functional has it."""

    def meaning(
        lower: TorchPart,
        input: Abstract,
        dim: Abstract = NONE,
        _stacklevel: Abstract = NONE,
        dtype: Abstract = NONE,
        *,
        seen: Any,
    ) -> Any:
        if is_none(dim):
            raise refuse(reasons.TORCH_FORM, "softmax", "no dim")
        return compute(lower, input, dim, dtype, seen=seen)

    return meaning


for _name, _row in {"softmax": rows.softmax, "log_softmax": rows.log_softmax}.items():
    _compute = softmax_of(_row)
    means(getattr(torch, _name), getattr(torch.Tensor, _name))(_compute)
    means(getattr(functional, _name))(softmax_by(_compute))


@means(torch.Tensor.norm, torch.norm)
def norm(
    lower: TorchPart,
    input: Abstract,
    p: Abstract = Literal("fro"),
    dim: Abstract = NONE,
    keepdim: Abstract = FALSE,
    dtype: Abstract = NONE,
    *,
    seen: Any,
) -> Any:
    x = tensor(lower, input)
    order = lower.indexing.plain(p)
    if not is_none(dtype):
        raise refuse(reasons.TORCH_FORM, "a norm", "another dtype")
    axes = lower.torch_tensors.axes(dim, x.rank)
    keeps = lower.indexing.plain(keepdim)
    return along(lower, rows.vector_norm, x, seen, 2 if order == "fro" else order, axes, keeps)


def running(op: str) -> Meaning:
    def meaning(
        lower: TorchPart, input: Abstract, dim: Abstract, *, dtype: Abstract = NONE, seen: Any
    ) -> Any:
        x = tensor(lower, input)
        return along(lower, rows.running(op), x, seen, lower.torch_tensors.axis(dim, x.rank))

    return meaning


means(*named("cumsum"))(running("add"))
means(*named("cumprod"))(running("mul"))
