"""Methods of PyTorch's tensors that write into them."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.elementwise import named
from dvm.magpy_capture.meanings.torch.operations.lowered import pointwise, tensor
from dvm.magpy_capture.registry import METHODS, SEEING, Meaning, means
from dvm.magpy_capture.values import Abstract, Literal, Tensor
from dvm.torch import pointwise as rows

#: the methods of which there is one in place
NAMES = (
    *(
        "add sub mul div pow remainder fmod floor_divide abs neg exp log sqrt rsqrt reciprocal"
    ).split(),
    *("sin cos tanh sigmoid relu clamp clip round floor ceil trunc").split(),
    *("logical_and logical_or logical_not bitwise_and bitwise_or bitwise_xor bitwise_not").split(),
    *("eq ne lt le gt ge square erf absolute acos acosh addmm asin asinh atan atan2 atanh").split(),
    *(
        "baddbmm clamp_max clamp_min cosh cumprod cumsum divide exp2 expm1 hypot log10 log1p"
    ).split(),
    *("log2 logical_xor multiply sign sinh subtract tan true_divide").split(),
)


def in_place(compute: Meaning) -> Meaning:
    """What it computes, written into the tensor, which it returns."""

    def meaning(
        lower: TorchPart, input: Abstract, *given: Abstract, seen: Any, **named: Abstract
    ) -> Tensor:
        x = tensor(lower, input)
        told = {"seen": seen} if compute in SEEING else {}
        made = compute(lower, x, *given, **named, **told)
        lower.torch_rules.write(x, made, [*given, *named.values()])
        return x

    own = inspect.signature(compute)
    told = inspect.Parameter("seen", inspect.Parameter.KEYWORD_ONLY)
    parameters = [each for each in own.parameters.values() if each.name != "seen"]
    parameters = sorted([*parameters, told], key=lambda each: each.kind)
    meaning.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return meaning


for _name in NAMES:
    means(*named(f"{_name}_"))(in_place(METHODS["torch", _name]))


@means(torch.Tensor.masked_fill_)
def masked_fill(
    lower: TorchPart, input: Abstract, mask: Abstract, value: Abstract, *, seen: Any
) -> Tensor:
    """In the order that the tensor lies in, where masked_fill gives a copy in C order."""
    x = tensor(lower, input)
    made = pointwise(lower, rows.where, seen, mask, value, x)
    lower.torch_rules.write(x, made, [mask, value])
    return x


@means(torch.Tensor.zero_, torch.zero_)
def zero(lower: TorchPart, input: Abstract) -> Tensor:
    return fill(lower, input, Literal(0))


@means(torch.Tensor.fill_, torch.fill_)
def fill(lower: TorchPart, input: Abstract, value: Abstract) -> Tensor:
    x = tensor(lower, input)
    lower.torch_rules.write(x, lower.torch_rules.element_of(value, x.dtype))
    return x


@means(torch.Tensor.copy_)
def copy(
    lower: TorchPart, input: Abstract, src: Abstract, non_blocking: Abstract = Literal(False)
) -> Tensor:
    x, source = tensor(lower, input), tensor(lower, src)
    if source is not x:
        return fill(lower, x, source)
    lower.writes.count(x)
    return x
