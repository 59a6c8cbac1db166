"""`out=`: what a function computes is written into a tensor that it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from dvm import reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.in_place import NAMES
from dvm.magpy_capture.meanings.torch.operations.library import TORCH_DTYPES
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.tensors.rules import Arguments
from dvm.magpy_capture.values import Abstract, Sequence, Tensor, resolve
from dvm.magpy_capture.values.kinds import name_of


def put(
    lower: TorchPart,
    output: Abstract,
    call: Callable[[Any], Abstract],
    function: Any,
    arguments: Arguments,
    seen: Any,
) -> Abstract:
    """The output, once it is written; torch would change its size or dtype in other forms.

    call: for what the function would give without it.
    """
    given = [*lower.opaque.parts_of([*arguments[0], *arguments[1].values()])]
    outputs = [*lower.opaque.parts_of([output])]
    made = call(would_give(lower, function, arguments, outputs))
    results = [*lower.opaque.parts_of([made])]
    for target, value in zip(outputs, results, strict=True):
        assert isinstance(target, Tensor)
        assert isinstance(value, Tensor)
        for source in given:
            shares = isinstance(source, Tensor) and source.storage is target.storage
            if shares and (source is not target or name_of(function) not in ELEMENTWISE):
                raise refuse(reasons.TORCH_FORM, name_of(function), "out")
        for own, other in zip(target.shape, value.shape, strict=True):
            lower.sizes.require_equal(own, other)
        if lower.arrays.value_of(value) == lower.arrays.value_of(target):
            raise refuse(reasons.TORCH_WRITE)  # of what is there already, which torch counts, too
    for target, value in zip(outputs, results, strict=True):
        lower.torch_rules.write(target, value)
    return Sequence([*outputs], type(seen)) if isinstance(seen, tuple) else output


#: functions that read each element before they write it
ELEMENTWISE = frozenset(f"torch.{name}" for name in NAMES)


def would_give(
    lower: TorchPart, function: Any, arguments: Arguments, outputs: list[Abstract]
) -> Any:
    """Tensors like those that the recorded call would have given without outputs, like them.

    One call more for each place in a program, for no meaning tells dtypes by itself. Of tensors on
    the device "meta" it would compute nothing, but import Dynamo: a second, for a third of torch's
    functions.
    """
    examples = [example(lower, each) for each in (Sequence(arguments[0]), *arguments[1].values())]
    state = torch.get_rng_state()
    try:
        with torch.no_grad():
            given = function(*examples[0], **dict(zip(arguments[1], examples[1:], strict=True)))
    except (RuntimeError, TypeError, IndexError) as error:
        raise refuse(reasons.TORCH_FORM, name_of(function), error) from None
    finally:
        torch.set_rng_state(state)
    for made, target in zip(pytree.tree_leaves(given), outputs, strict=True):
        if not isinstance(target, Tensor) or target.object is None:
            raise refuse(reasons.TORCH_FORM, name_of(function), "out")
        if (made.dtype, made.shape) != (target.object.dtype, target.object.shape):
            raise refuse(reasons.TORCH_FORM, name_of(function), "out of another size or dtype")
    return given


def example(lower: TorchPart, value: Abstract) -> Any:
    """What stands for an argument in such a call: itself, if it is as it was."""
    value = resolve(value)
    if isinstance(value, Tensor):
        sizes = tuple(lower.sizes.observed(dim) for dim in value.shape)
        dtype = TORCH_DTYPES[value.dtype]
        known = value.object
        if isinstance(known, torch.Tensor) and (known.shape, known.dtype) == (sizes, dtype):
            return known
        return torch.ones(sizes, dtype=dtype)
    if isinstance(value, Sequence):
        return tuple(example(lower, each) for each in value.elements)
    if not lower.host_operations.is_pure(value):
        raise refuse(reasons.TORCH_FORM, "a function of torch", describe(value))
    return lower.python.observed_value(value)


__all__ = ["put"]
