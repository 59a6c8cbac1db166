"""Elementwise functions and operators of PyTorch, and its activations."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.lowered import Row, number_of, pointwise
from dvm.magpy_capture.meanings.torch.rules import OPERATORS
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import Meaning, means
from dvm.magpy_capture.tensors.fresh import c_order
from dvm.magpy_capture.values import Abstract, Literal, Tensor, is_none, resolve
from dvm.torch import pointwise as rows
from dvm.torch.aten import ROWS

NONE, FALSE, ONE = Literal(None), Literal(False), Literal(1)


def row_of(name: str) -> Row:
    """The lowering of an op of torch's."""
    lower = ROWS[f"aten.{name}"].lower
    assert lower is not None
    return lower


def named(name: str) -> list[Any]:
    """The functions of that name: torch's own, that of tensors, that of torch.nn.functional."""
    found = (getattr(place, name, None) for place in (torch, torch.Tensor, functional))
    return [each for each in dict.fromkeys(found) if each is not None]


# ---- of one tensor

UNARY = (
    *(
        "abs neg ceil floor trunc reciprocal sqrt exp exp2 expm1 log log2 log10 log1p sin cos"
    ).split(),
    *("tan asin acos atan sinh cosh tanh asinh acosh atanh erf sigmoid rsqrt square").split(),
    *("round sign logical_not bitwise_not isnan").split(),
)


def unary(row: Row) -> Meaning:
    def meaning(lower: TorchPart, input: Abstract, *, seen: Any) -> Tensor:
        return pointwise(lower, row, seen, input)

    return meaning


for _name in UNARY:
    means(*named(_name))(unary(row_of(f"{_name}.default")))
means(*named("absolute"))(unary(row_of("abs.default")))


@means(*named("isinf"))
def isinf(lower: TorchPart, input: Abstract, *, seen: Any) -> Tensor:
    """Of floats torch compares magnitudes; of whole numbers it fills a tensor like them."""
    made = pointwise(lower, row_of("isinf.default"), seen, input)
    x = resolve(input)
    assert isinstance(x, Tensor)
    is_float = x.dtype.startswith(("float", "bfloat"))
    through = x.strides.seen_through(turned=False)
    made.strides = through if is_float else lower.torch_strides.of_copy(x)
    return made


def into(lower: TorchPart, input: Abstract, made: Tensor) -> Tensor:
    """What was computed of a tensor takes its place: the tensor itself, written."""
    x = resolve(input)
    assert isinstance(x, Tensor)
    if lower.arrays.value_of(made) == lower.arrays.value_of(x):
        raise refuse(reasons.TORCH_WRITE)  # of what is there already, which torch counts, too
    lower.torch_rules.write(x, made)
    return x


def activation(row: Row) -> Meaning:
    def meaning(
        lower: TorchPart, input: Abstract, inplace: Abstract = FALSE, *, seen: Any
    ) -> Tensor:
        made = pointwise(lower, row, seen, input)
        return into(lower, input, made) if lower.indexing.plain(inplace) else made

    return meaning


for _name in ("relu", "silu"):
    means(*named(_name))(activation(row_of(f"{_name}.default")))


@means(*named("gelu"))
def gelu(
    lower: TorchPart, input: Abstract, approximate: Abstract = Literal("none"), *, seen: Any
) -> Tensor:
    how = lower.indexing.plain(approximate)
    return pointwise(lower, row_of("gelu.default"), seen, input, approximate=how)


@means(*named("leaky_relu"))
def leaky_relu(
    lower: TorchPart,
    input: Abstract,
    negative_slope: Abstract = Literal(0.01),
    inplace: Abstract = FALSE,
    *,
    seen: Any,
) -> Tensor:
    slope = lower.indexing.plain(negative_slope)
    made = pointwise(lower, row_of("leaky_relu.default"), seen, input, slope=slope)
    return into(lower, input, made) if lower.indexing.plain(inplace) else made


# ---- of two

BINARY = {
    "mul": "mul.Tensor", "multiply": "mul.Tensor", "maximum": "maximum.default",
    "minimum": "minimum.default", "fmax": "fmax.default", "fmin": "fmin.default",
    "atan2": "atan2.default", "hypot": "hypot.default", "logaddexp": "logaddexp.default",
    "bitwise_and": "bitwise_and.Tensor", "bitwise_or": "bitwise_or.Tensor",
    "bitwise_xor": "bitwise_xor.Tensor", "logical_and": "logical_and.default",
    "logical_or": "logical_or.default", "logical_xor": "logical_xor.default",
    "eq": "eq.Tensor", "ne": "ne.Tensor", "lt": "lt.Tensor", "le": "le.Tensor",
    "gt": "gt.Tensor", "ge": "ge.Tensor", "fmod": "fmod.Tensor",
    "true_divide": "div.Tensor",
}  # fmt: skip


def binary(row: Row) -> Meaning:
    def meaning(lower: TorchPart, input: Abstract, other: Abstract, *, seen: Any) -> Tensor:
        return pointwise(lower, row, seen, input, other)

    return meaning


for _name, _op in BINARY.items():
    means(*named(_name))(binary(row_of(_op)))


def whole_division(op: str) -> Meaning:
    """Of integers, torch raises an error of a zero: where a size divides, it is asked for one."""

    def meaning(lower: TorchPart, input: Abstract, other: Abstract, *, seen: Any) -> Tensor:
        by_sizes = False
        if not isinstance(resolve(other), Tensor) and not seen.is_floating_point():
            divisor = number_of(lower, other)
            by_sizes = isinstance(divisor, _dvm.Dim) and not lower.sizes.is_size(divisor, 0)
        return pointwise(lower, rows.integer_division(op, by_sizes=by_sizes), seen, input, other)

    return meaning


for _symbol, _name in {"//": "floor_divide", "%": "remainder"}.items():
    OPERATORS["binary", _symbol] = means(*named(_name))(whole_division(_name))


def scaled(row: Row) -> Meaning:
    def meaning(
        lower: TorchPart, input: Abstract, other: Abstract, *, alpha: Abstract = ONE, seen: Any
    ) -> Tensor:
        factor = lower.indexing.plain(alpha)
        return pointwise(lower, row, seen, input, other, alpha=factor)

    return meaning


add = means(*named("add"))(scaled(row_of("add.Tensor")))
sub = means(*named("sub"), *named("subtract"))(scaled(row_of("sub.Tensor")))


@means(*named("rsub"))
def rsub(lower: TorchPart, input: Abstract, other: Abstract, *, seen: Any) -> Tensor:
    return pointwise(lower, row_of("sub.Tensor"), seen, other, input)


@means(*named("div"), *named("divide"))
def div(
    lower: TorchPart,
    input: Abstract,
    other: Abstract,
    *,
    rounding_mode: Abstract = NONE,
    seen: Any,
) -> Tensor:
    mode = lower.indexing.plain(rounding_mode)
    return pointwise(lower, rows.div, seen, input, other, rounding_mode=mode)


@means(*named("pow"))
def power(lower: TorchPart, input: Abstract, exponent: Abstract, *, seen: Any) -> Tensor:
    return pointwise(lower, rows.power, seen, input, exponent)


# ---- of three


@means(torch.where)
def where(
    lower: TorchPart, condition: Abstract, input: Abstract, other: Abstract, *, seen: Any
) -> Tensor:
    return pointwise(lower, rows.where, seen, condition, input, other)


@means(torch.Tensor.where)
def where_of(
    lower: TorchPart, input: Abstract, condition: Abstract, other: Abstract, *, seen: Any
) -> Tensor:
    """The method, whose first two come the other way round."""
    return where(lower, condition, input, other, seen=seen)


@means(*named("clamp"), *named("clip"))
def clamp(
    lower: TorchPart, input: Abstract, min: Abstract = NONE, max: Abstract = NONE, *, seen: Any
) -> Tensor:
    given = [input, *(bound for bound in (min, max) if not is_none(bound))]

    def row(b: Any, x: Any, *bounds: Any) -> Any:
        rest = list(bounds)
        low = None if is_none(min) else rest.pop(0)
        return rows.clamp(b, x, low, None if is_none(max) else rest.pop(0))

    return pointwise(lower, row, seen, *given)


def bounded(name: str) -> Meaning:
    def meaning(lower: TorchPart, input: Abstract, bound: Abstract, *, seen: Any) -> Tensor:
        return clamp(lower, input, seen=seen, **{name: bound})

    return meaning


means(*named("clamp_min"))(bounded("min"))
means(*named("clamp_max"))(bounded("max"))


@means(torch.Tensor.masked_fill, torch.masked_fill)
def masked_fill(
    lower: TorchPart, input: Abstract, mask: Abstract, value: Abstract, *, seen: Any
) -> Tensor:
    operands = [resolve(operand) for operand in (mask, input)]
    rank = max(operand.rank for operand in operands if isinstance(operand, Tensor))
    # A copy in C order, which is written.
    return pointwise(lower, rows.where, seen, mask, value, input, order=c_order(rank))


# ---- operators

#: methods in Python, which the recorder does not enter
IN_PYTHON = (torch.Tensor.__rsub__,)

OPERATORS["binary", "+"], OPERATORS["binary", "-"] = add, sub
OPERATORS["binary", "/"] = div
for _symbol, _name in {
    "*": "mul", "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor",
}.items():  # fmt: skip
    OPERATORS["binary", _symbol] = binary(row_of(BINARY[_name]))
OPERATORS["binary", "**"] = power
for _name in ("maximum", "minimum"):
    OPERATORS["function", _name] = binary(row_of(BINARY[_name]))
for _symbol, _name in {
    "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}.items():  # fmt: skip
    OPERATORS["compare", _symbol] = binary(row_of(f"{_name}.Tensor"))
for _symbol, _name in {"-": "neg", "~": "bitwise_not"}.items():
    OPERATORS["unary", _symbol] = unary(row_of(f"{_name}.default"))
OPERATORS["unary", "abs"] = unary(row_of("abs.default"))


# ---- dtypes and copies

FORMATS = (torch.preserve_format, torch.contiguous_format)


def cast(lower: TorchPart, input: Abstract, dtype: Any) -> Tensor:
    """The same tensor where it has the dtype already."""
    x = resolve(input)
    assert isinstance(x, Tensor)
    if lower.torch_tensors.has_dtype(x, dtype):
        return x
    like = torch.empty(0, dtype=dtype)
    made = pointwise(lower, rows.cast, like, x)
    made.strides = lower.torch_strides.of_copy(x)
    return made


for _name, _dtype in {
    "float": torch.float32, "double": torch.float64, "half": torch.float16, "int": torch.int32,
    "long": torch.int64, "bool": torch.bool, "short": torch.int16, "char": torch.int8,
    "byte": torch.uint8,
}.items():  # fmt: skip

    def _cast(_dtype: torch.dtype) -> Meaning:
        def meaning(lower: TorchPart, input: Abstract) -> Tensor:
            return cast(lower, input, _dtype)

        return meaning

    means(getattr(torch.Tensor, _name))(_cast(_dtype))


@means(torch.Tensor.to, torch.Tensor.type)
def to(
    lower: TorchPart,
    input: Abstract,
    *given: Abstract,
    copy: Abstract = FALSE,
    seen: Any,
    **named: Abstract,
) -> Tensor:
    """Another dtype; this machine's memory is where all tensors are."""
    wanted = None
    for place, value in enumerate((*given, *named.values())):
        known = lower.indexing.plain(value)
        if isinstance(known, torch.dtype):
            wanted = known
        elif isinstance(known, torch.device) or known == "cpu":
            if torch.device(known).type != "cpu":
                raise refuse(reasons.TORCH_FORM, "x.to", "another device")
        elif known not in (None, False):
            raise refuse(reasons.TORCH_FORM, "x.to", f"argument {place}")
    x = resolve(input)
    assert isinstance(x, Tensor)
    made = x if wanted is None else cast(lower, x, wanted)
    return clone(lower, x, seen=seen) if made is x and lower.indexing.plain(copy) else made


@means(torch.Tensor.type_as)
def type_as(lower: TorchPart, input: Abstract, other: Abstract) -> Tensor:
    like = resolve(other)
    if not isinstance(like, Tensor):
        raise refuse(reasons.TORCH_FORM, "x.type_as", "no tensor")
    return cast(lower, input, getattr(torch, like.dtype))


@means(torch.clone, torch.Tensor.clone)
def clone(
    lower: TorchPart, input: Abstract, *, memory_format: Abstract = NONE, seen: Any
) -> Tensor:
    x = resolve(input)
    assert isinstance(x, Tensor)
    wanted = lower.indexing.plain(memory_format)
    if wanted not in (None, *FORMATS):
        raise refuse(reasons.TORCH_FORM, "x.clone", str(wanted))
    if wanted is torch.contiguous_format:
        return lower.elementwise.copy(x, c_order(x.rank))
    made = lower.elementwise.copy(x)
    made.strides = lower.torch_strides.of_copy(x)
    return made


@means(torch.Tensor.contiguous)
def contiguous(lower: TorchPart, input: Abstract) -> Tensor:
    """The same tensor where it lies in C order, else a copy."""
    x = resolve(input)
    assert isinstance(x, Tensor)
    if x.contiguous and x.order == c_order(x.rank):
        return x
    made = lower.views.maybe_view(
        x,
        x.shape,
        lambda value: lower.views.c_ordered(x, value),
        lambda value: lower.graph.transpose_value(value, x.order),
        (torch.Tensor.contiguous, []),
    )
    made.contiguous = True  # in either case
    return made


def lies_in_c_order(lower: TorchPart, x: Tensor) -> bool:
    """What x.is_contiguous() says, for which the path then is."""
    if x.contiguous and x.order == c_order(x.rank):
        return True
    turned = turned_axes(x)
    if x.contiguous and all(lower.sizes.exceeds_one(x.shape[axis]) for axis in turned):
        # In another order, which no axis of one element hides; of no elements there is none.
        others = [dim for axis, dim in enumerate(x.shape) if axis not in turned]
        if not any(lower.sizes.is_size(dim, 0) for dim in others):
            return False
    if x.object is None:
        raise refuse(reasons.TORCH_ORDER, "x.contiguous")
    given = [lower.arrays.layout_register(x)]
    ask = lower.program.constant(torch.Tensor.is_contiguous)
    answer = bool(x.object.is_contiguous())
    lower.program.guard("guard_truth", lower.program.step("call", ask, given, ()), answer)
    return answer


def turned_axes(x: Tensor) -> list[int]:
    """Those that do not lie in memory, to each other axis, as they are told."""
    place = {axis: place for place, axis in enumerate(x.order)}
    return [
        axis
        for axis in place
        if any((axis < other) != (place[axis] < place[other]) for other in place if other != axis)
    ]


@means(torch.Tensor.is_contiguous)
def is_contiguous(lower: TorchPart, input: Abstract) -> Literal:
    x = resolve(input)
    assert isinstance(x, Tensor)
    return Literal(lies_in_c_order(lower, x))


@means(torch.Tensor.detach, torch.detach)
def detach(lower: TorchPart, input: Abstract) -> Tensor:
    """Another tensor of the same memory."""
    x = resolve(input)
    assert isinstance(x, Tensor)
    return lower.torch_tensors.view(x, x.shape, x.order, "detach")


__all__ = ["activation", "binary", "cast", "named", "row_of", "unary"]
