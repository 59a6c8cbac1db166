"""`with torch.autocast("cpu", ...)`: within it, some functions compute in another dtype.

Those that have a meaning here are given what torch would cast for them; all others are torch's own
calls, under the same mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from dvm import reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.elementwise import cast
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import attributes_of, entered, means, methods_of
from dvm.magpy_capture.values import Abstract, Literal, Method, Tensor, resolve

#: functions that are computed in the lower dtype (aten/src/ATen/autocast_mode.h), of those that
#: have a meaning
LOWERED = frozenset("linear matmul mm bmm addmm baddbmm".split())
#: whose result lies as its kernel for that dtype has it: torch's own call
LEFT = frozenset({"scaled_dot_product_attention"})
#: dtypes of what is cast
CAST = frozenset({"float32", "float16", "bfloat16"})
#: what the recorder does not enter
MANAGERS = (
    torch.autocast,
    *(getattr(torch.autocast, f"__{name}__") for name in ("init", "enter", "exit")),
)


@dataclass(eq=False)
class Autocast:
    """A torch.autocast that the program made; no dtype: a disabled one."""

    dtype: torch.dtype | None


@means(torch.autocast)
def make(
    lower: TorchPart, device_type: Abstract, *given: Abstract, seen: Any, **named: Abstract
) -> Any:
    lower.torch_modes.guard_modes()
    for each in (*given, *named.values()):
        lower.indexing.plain(each)
    if lower.indexing.plain(device_type) != "cpu":
        raise refuse(reasons.TORCH_FORM, "torch.autocast", "another device")
    return Autocast(seen.fast_dtype if seen._enabled else None)


@attributes_of(Autocast)
def method_of(_: TorchPart, base: Autocast, name: str, _seen: Any) -> Any:
    return Method(base, name)


@entered(Autocast)
def enter(lower: TorchPart, manager: Autocast) -> Any:
    lower.torch_modes.autocasts.append(manager.dtype)
    return manager


@methods_of(Autocast)
def leave(lower: TorchPart, manager: Autocast, name: str, *_call: Any) -> Abstract:
    """`__exit__`: of a `with`, which has entered it."""
    if name != "__exit__":
        raise refuse(reasons.CALL_METHOD, name, describe(manager))
    lower.torch_modes.autocasts.pop()
    return Literal(False)


def lowered_argument(lower: TorchPart, value: Abstract, dtype: torch.dtype) -> Abstract:
    """What torch casts it to, where it is a tensor that it casts at all."""
    x = resolve(value)
    return cast(lower, x, dtype) if isinstance(x, Tensor) and x.dtype in CAST else value


__all__ = ["LEFT", "LOWERED", "lowered_argument"]
