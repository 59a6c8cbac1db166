"""What PyTorch is asked about itself: modes, and settings of backends."""

from __future__ import annotations

from typing import Any

import torch
from torch.backends import ContextProp, PropModule

from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.library import SETTINGS
from dvm.magpy_capture.registry import Meaning, looks_up, means
from dvm.magpy_capture.values import Abstract, Instance, Literal


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


for _function in SETTINGS:
    means(_function)(setting(_function))


@looks_up(type(torch._VF).__getattr__, PropModule.__getattr__, ContextProp.__get__)
def of_module(lower: TorchPart, base: Instance, name: str, seen: Any) -> Abstract:
    """What a module of Python's finds elsewhere: it is looked at on each call."""
    return lower.instances.read(base, name, "getattr", seen)
