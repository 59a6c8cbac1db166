"""What modules of PyTorch ask before they do their work."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.backends import ContextProp, PropModule

from dvm import reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import SETTLED, Meaning, iterates, looks_up, means
from dvm.magpy_capture.values import (
    Abstract,
    DictValue,
    DictView,
    Instance,
    Literal,
    Sequence,
    Size,
    Tensor,
    is_none,
    resolve,
)


SETTLED.add(nn.Module)


@means(torch.is_grad_enabled, torch.is_inference_mode_enabled)
@means(torch.get_default_dtype, torch._C._get_tracing_state)
@means(torch._C._len_torch_function_stack, torch._C._len_torch_dispatch_stack)
def mode(lower: TorchPart, *, seen: Any) -> Literal:
    """What is guarded with all other modes."""
    lower.torch_modes.guard_modes()
    return Literal(seen)


@means(torch.is_autocast_enabled)
def is_autocast_enabled(
    lower: TorchPart, device_type: Abstract = Literal(None), *, seen: Any
) -> Literal:
    """Of this machine's processor, or of another device, which is asked besides."""
    device = lower.indexing.plain(device_type)
    if device == "cpu":
        return mode(lower, seen=seen)
    given = [] if device is None else [Literal(device)]
    return lower.torch_modes.asked(torch.is_autocast_enabled, given, seen)


def setting(function: Any) -> Meaning:
    """What a function without arguments tells of torch."""

    def meaning(lower: TorchPart, *, seen: Any) -> Literal:
        return lower.torch_modes.asked(function, [], seen)

    return meaning


for _function in (torch._C._get_deterministic_algorithms, torch._C._is_tracing):
    means(_function)(setting(_function))


@looks_up(type(torch._VF).__getattr__, PropModule.__getattr__, ContextProp.__get__)
def of_module(lower: TorchPart, base: Instance, name: str, seen: Any) -> Abstract:
    """What a module of Python's finds elsewhere: it is looked at on each call."""
    return lower.instances.read(base, name, "getattr", seen)


def submodules(lower: TorchPart, base: Instance) -> DictValue:
    """`base._modules`."""
    found = lower.operators.attribute(base, "_modules", base.object._modules)
    if not isinstance(found, DictValue):
        raise refuse(reasons.ITERATION_OVER, describe(base))
    return found


@means(torch.finfo, torch.iinfo)
def facts(lower: TorchPart, dtype: Abstract, *, seen: Any) -> Literal:
    """What a dtype is like."""
    lower.indexing.plain(dtype)
    return Literal(seen)


@iterates(nn.ModuleList.__iter__, nn.Sequential.__iter__)
def modules_of(lower: TorchPart, base: Instance) -> DictView:
    return DictView(submodules(lower, base), "values")


@iterates(nn.ModuleDict.__iter__)
def names_of(lower: TorchPart, base: Instance) -> DictView:
    return DictView(submodules(lower, base), "keys")


@looks_up(nn.Module.__getattr__)
def part_of_module(lower: TorchPart, base: Instance, name: str, seen: Any) -> Abstract:
    """A parameter, a buffer or a module within a module."""
    for table in ("_parameters", "_buffers", "_modules"):
        held = vars(base.object)[table]
        if name in held:
            found = lower.operators.attribute(base, table, held)
            return lower.operators.subscript(found, Literal(name), seen)
    raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))


@means(torch._C._has_torch_function_unary, torch._C._has_torch_function_variadic)
@means(torch._C._has_torch_function)
def has_torch_function(lower: TorchPart, *given: Abstract, seen: Any) -> Literal:
    """No plain tensor, number or None has functions of torch of its own."""
    if seen:
        raise refuse(reasons.TORCH_FORM, "a function of torch", "a tensor of another class")
    for each in given:
        parts = lower.containers.elements(each) if isinstance(each, Sequence) else [each]
        for part in map(resolve, parts):
            known = isinstance(part, (Tensor, Size)) or is_none(part)
            if not known and not isinstance(getattr(part, "object", None), (int, float, bool)):
                raise refuse(reasons.TORCH_FORM, "a function of torch", describe(part))
    return Literal(False)
