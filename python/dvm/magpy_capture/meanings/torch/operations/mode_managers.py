"""Managers of PyTorch's modes that a program makes, as `with` takes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dvm import reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import attributes_of, entered, methods_of
from dvm.magpy_capture.values import Abstract, Literal, Method


@dataclass(eq=False)
class ModeManager:
    """One of them.

    enters: begins the mode, and gives what `as` names. leaves: ends it, and says what `__exit__`
    does.
    """

    enters: Callable[[TorchPart, Any], Any]
    leaves: Callable[[TorchPart], Literal]


@attributes_of(ModeManager)
def method_of(_: TorchPart, base: ModeManager, name: str, _seen: Any) -> Any:
    return Method(base, name)


@entered(ModeManager)
def enter(lower: TorchPart, manager: ModeManager) -> Any:
    return manager.enters(lower, manager)


@methods_of(ModeManager)
def leave(lower: TorchPart, manager: ModeManager, name: str, *_call: Any) -> Abstract:
    """`__exit__`: of a `with`, which has entered it."""
    if name != "__exit__":
        raise refuse(reasons.CALL_METHOD, name, describe(manager))
    return manager.leaves(lower)


def parts_of_class(cls: type) -> tuple[Any, ...]:
    """What the recorder does not enter where a program uses such a class of torch's."""
    return (cls, *(getattr(cls, f"__{name}__") for name in ("init", "enter", "exit")))


__all__ = ["ModeManager", "parts_of_class"]
