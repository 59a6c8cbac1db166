"""PyTorch joins the libraries of arrays, as soon as a program has imported it."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from dvm.magpy_capture.registry import FUNCTIONS, ITERATED, LOOKED_UP, METHODS, TRAMPOLINES

#: of the folder beside this file, in which order does not matter
OPERATIONS = (
    "elementwise",
    "shapes",
    "reductions",
    "products",
    "convolutions",
    "fast_paths",
    "sources",
    "draws",
    "modules",
    "in_place",
    "composed",
    "losses",
    "activations",
    "grad_modes",
    "settings",
    "outputs",
    "autocast",
)
NAME = f"{__package__}.operations"


#: module of Python -> those of ours that say what it means
GUESTS = {
    "torch.nn.functional": ("library", *OPERATIONS),
    "torch._dynamo.decorators": ("dynamo",),
    "transformers.configuration_utils": ("transformers",),
}
_welcomed: set[str] = set()


def has_arrived() -> bool:
    """Whether PyTorch, or a package on top of it, is there, and nobody has looked at it yet."""
    guests = any(name in sys.modules and name not in _welcomed for name in GUESTS)
    return guests or _tagging() is not None


def _tagging() -> Any:
    """`nn.Module.__init__` if Dynamo has put its own there, which tags what the first one made."""
    modules = sys.modules.get(f"{NAME}.modules")
    if modules is None:
        return None
    made: Any = sys.modules["torch"].nn.Module.__init__
    is_dynamos = getattr(made, "__module__", None) == "torch._dynamo.mutation_guard"
    return made if is_dynamos and made not in TRAMPOLINES else None


def welcome() -> None:
    """Let its tensors be arrays, and its functions mean what they do."""
    for name, modules in GUESTS.items():
        if name in sys.modules and name not in _welcomed:
            _welcomed.add(name)
            for each in modules:
                importlib.import_module(f"{NAME}.{each}")
    if (tagging := _tagging()) is not None:
        sys.modules[f"{NAME}.modules"].follow_tagging(tagging)


def leaves() -> list[Any]:
    """Functions in Python of PyTorch's own that mean something here: nobody enters them."""
    if f"{NAME}.library" not in sys.modules:
        return []
    called = sys.modules[f"{NAME}.library"].FUNCTIONS
    functions = [*FUNCTIONS, *ITERATED, *LOOKED_UP, *_methods(), *called]
    kept_out = [
        *sys.modules[f"{NAME}.grad_modes"].MANAGERS,
        *sys.modules[f"{NAME}.autocast"].MANAGERS,
        *sys.modules[f"{NAME}.elementwise"].IN_PYTHON,
    ]
    return [*kept_out, *_tags(), *(each for each in functions if _is_of_torch(each))]


def _tags() -> list[types.CodeType]:
    """What Dynamo's book of tagged modules is told when one of them dies."""
    kept: Any = getattr(sys.modules.get("torch._dynamo.utils"), "ExactWeakKeyDictionary", None)
    parts = kept.__setitem__.__code__.co_consts if kept is not None else ()
    return [part for part in parts if isinstance(part, types.CodeType)]


def _methods() -> list[Any]:
    tensor = sys.modules["torch"].Tensor
    return [getattr(tensor, name) for library, name in METHODS if library == "torch"]


def _is_of_torch(function: Any) -> bool:
    module = getattr(function, "__module__", None)
    of_torch = type(module) is str and module.partition(".")[0] in ("torch", "transformers")
    return of_torch and isinstance(function, types.FunctionType)


__all__ = ["has_arrived", "leaves", "welcome"]
