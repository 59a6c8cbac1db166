"""`with torch.no_grad()`: within it, tensors that want gradients are like others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from dvm import reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import attributes_of, entered, means, methods_of
from dvm.magpy_capture.values import Abstract, Literal, Method

NONE = Literal(None)
#: what the recorder does not enter
MANAGERS = (torch.no_grad, *(getattr(torch.no_grad, f"__{n}__") for n in ("init", "enter", "exit")))


@dataclass(eq=False)
class NoGrad:
    """A torch.no_grad that the program made."""


@means(torch.no_grad)
def make(lower: TorchPart) -> Any:
    lower.torch_modes.guard_modes()
    return NoGrad()


@attributes_of(NoGrad)
def method_of(_: TorchPart, base: NoGrad, name: str, _seen: Any) -> Any:
    return Method(base, name)


@entered(NoGrad)
def enter(lower: TorchPart, _manager: NoGrad) -> Abstract:
    lower.torch_modes.without += 1
    return NONE


@methods_of(NoGrad)
def leave(lower: TorchPart, manager: NoGrad, name: str, *_call: Any) -> Abstract:
    """`__exit__`: of a `with`, which has entered it."""
    if name != "__exit__":
        raise refuse(reasons.CALL_METHOD, name, describe(manager))
    lower.torch_modes.without -= 1
    return NONE
