"""PyTorch joins the libraries of arrays, as soon as a program has imported it."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from dvm.magpy_capture.registry import FUNCTIONS, ITERATED, METHODS

#: of the folder beside this file, in which order does not matter
OPERATIONS = ("elementwise", "shapes", "reductions", "products", "sources", "modules", "in_place")
NAME = f"{__package__}.operations"


def has_arrived() -> bool:
    """Whether PyTorch is there and nobody has looked at it yet."""
    return "torch.nn.functional" in sys.modules and f"{NAME}.library" not in sys.modules


def welcome() -> None:
    """Let its tensors be arrays, and its functions mean what they do."""
    for name in ("library", *OPERATIONS):
        importlib.import_module(f"{NAME}.{name}")


def leaves() -> list[Any]:
    """Functions in Python of PyTorch's own that mean something here: nobody enters them."""
    if f"{NAME}.library" not in sys.modules:
        return []
    functions = [*FUNCTIONS, *ITERATED, *_methods()]
    return [each for each in functions if _is_of_torch(each)]


def _methods() -> list[Any]:
    tensor = sys.modules["torch"].Tensor
    return [getattr(tensor, name) for library, name in METHODS if library == "torch"]


def _is_of_torch(function: Any) -> bool:
    module = getattr(function, "__module__", None)
    of_torch = type(module) is str and module.partition(".")[0] == "torch"
    return of_torch and isinstance(function, types.FunctionType)


__all__ = ["has_arrived", "leaves", "welcome"]
