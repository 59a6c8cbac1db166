"""PyTorch joins the libraries of arrays, as soon as a program has imported it."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from dvm.magpy_capture.registry import FUNCTIONS, ITERATED, LOOKED_UP, METHODS

#: of the folder beside this file, in which order does not matter
OPERATIONS = (
    "elementwise",
    "shapes",
    "reductions",
    "products",
    "sources",
    "modules",
    "in_place",
    "grad_modes",
)
NAME = f"{__package__}.operations"


#: module of Python -> those of ours that say what it means
GUESTS = {
    "torch.nn.functional": ("library", *OPERATIONS),
    "transformers.configuration_utils": ("transformers",),
    "torch._dynamo.mutation_guard": ("dynamo",),
}
_welcomed: set[str] = set()


def has_arrived() -> bool:
    """Whether PyTorch, or a package on top of it, is there, and nobody has looked at it yet."""
    return any(name in sys.modules and name not in _welcomed for name in GUESTS)


def welcome() -> None:
    """Let its tensors be arrays, and its functions mean what they do."""
    for name, modules in GUESTS.items():
        if name in sys.modules and name not in _welcomed:
            _welcomed.add(name)
            for each in modules:
                importlib.import_module(f"{NAME}.{each}")


def leaves() -> list[Any]:
    """Functions in Python of PyTorch's own that mean something here: nobody enters them."""
    if f"{NAME}.library" not in sys.modules:
        return []
    called = sys.modules[f"{NAME}.library"].FUNCTIONS
    functions = [*FUNCTIONS, *ITERATED, *LOOKED_UP, *_methods(), *called]
    kept_out = [
        *sys.modules[f"{NAME}.grad_modes"].MANAGERS,
        *sys.modules[f"{NAME}.elementwise"].IN_PYTHON,
    ]
    kept_out += getattr(sys.modules.get(f"{NAME}.dynamo"), "LEAVES", ())
    return [*kept_out, *(each for each in functions if _is_of_torch(each))]


def _methods() -> list[Any]:
    tensor = sys.modules["torch"].Tensor
    return [getattr(tensor, name) for library, name in METHODS if library == "torch"]


def _is_of_torch(function: Any) -> bool:
    module = getattr(function, "__module__", None)
    of_torch = type(module) is str and module.partition(".")[0] in ("torch", "transformers")
    return of_torch and isinstance(function, types.FunctionType)


__all__ = ["has_arrived", "leaves", "welcome"]
