"""`with torch.autocast("cpu", ...)`: within it, some functions compute in another dtype.

Those that have a meaning here are given what torch would cast for them; all others are torch's own
calls, under the same mode.
"""

from __future__ import annotations

from typing import Any

import torch

from dvm import reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.elementwise import cast
from dvm.magpy_capture.meanings.torch.operations.mode_managers import ModeManager, parts_of_class
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Abstract, Literal, Tensor, resolve

#: functions that are computed in the lower dtype (aten/src/ATen/autocast_mode.h), of those that
#: have a meaning
LOWERED = frozenset("linear matmul mm bmm addmm baddbmm".split())
#: whose result lies as its kernel for that dtype has it: torch's own call
LEFT = frozenset({"scaled_dot_product_attention"})
#: dtypes of what is cast
CAST = frozenset({"float32", "float16", "bfloat16"})
#: what the recorder does not enter
MANAGERS = parts_of_class(torch.autocast)


class Autocast(ModeManager):
    """A torch.autocast that the program made."""


@means(torch.autocast)
def make(
    lower: TorchPart, device_type: Abstract, *given: Abstract, seen: Any, **named: Abstract
) -> Any:
    lower.torch_modes.guard_modes()
    for each in (*given, *named.values()):
        lower.indexing.plain(each)
    if lower.indexing.plain(device_type) != "cpu":
        raise refuse(reasons.TORCH_FORM, "torch.autocast", "another device")
    dtype = seen.fast_dtype if seen._enabled else None

    def enter(lower: TorchPart, manager: Autocast) -> Autocast:
        lower.torch_modes.autocasts.append(dtype)
        return manager

    return Autocast(enter, leave)


def leave(lower: TorchPart) -> Literal:
    lower.torch_modes.autocasts.pop()
    return Literal(False)


def lowered_argument(lower: TorchPart, value: Abstract, dtype: torch.dtype) -> Abstract:
    """What torch casts it to, where it is a tensor that it casts at all."""
    x = resolve(value)
    return cast(lower, x, dtype) if isinstance(x, Tensor) and x.dtype in CAST else value


__all__ = ["LEFT", "LOWERED", "lowered_argument"]
