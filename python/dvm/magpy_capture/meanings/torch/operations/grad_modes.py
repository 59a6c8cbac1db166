"""`with torch.no_grad()`: within it, tensors that want gradients are like others."""

from __future__ import annotations

from typing import Any

import torch

from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.mode_managers import ModeManager, parts_of_class
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Literal

NONE = Literal(None)
#: what the recorder does not enter
MANAGERS = parts_of_class(torch.no_grad)


class NoGrad(ModeManager):
    """A torch.no_grad that the program made."""


@means(torch.no_grad)
def make(lower: TorchPart) -> Any:
    lower.torch_modes.guard_modes()
    return NoGrad(enter, leave)


def enter(lower: TorchPart, _manager: NoGrad) -> Literal:
    lower.torch_modes.without += 1
    return NONE


def leave(lower: TorchPart) -> Literal:
    lower.torch_modes.without -= 1
    return NONE
