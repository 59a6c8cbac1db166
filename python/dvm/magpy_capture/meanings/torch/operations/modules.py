"""What modules of PyTorch ask before they do their work."""

from __future__ import annotations

import torch
from torch import nn

from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm import reasons
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import iterates, means
from dvm.magpy_capture.values import DictValue, DictView, Instance, Literal


@means(torch._C._get_tracing_state)
def tracing_state(lower: TorchPart) -> Literal:
    """Nobody traces; guarded with all other modes."""
    lower.torch_modes.guard_modes()
    return Literal(None)


@means(torch.is_grad_enabled)
def is_grad_enabled(lower: TorchPart) -> Literal:
    lower.torch_modes.guard_modes()
    return Literal(torch.is_grad_enabled())


def submodules(lower: TorchPart, base: Instance) -> DictValue:
    """`base._modules`."""
    found = lower.operators.attribute(base, "_modules", base.object._modules)
    if not isinstance(found, DictValue):
        raise refuse(reasons.ITERATION_OVER, describe(base))
    return found


@iterates(nn.ModuleList.__iter__, nn.Sequential.__iter__)
def modules_of(lower: TorchPart, base: Instance) -> DictView:
    return DictView(submodules(lower, base), "values")


@iterates(nn.ModuleDict.__iter__)
def names_of(lower: TorchPart, base: Instance) -> DictView:
    return DictView(submodules(lower, base), "keys")
