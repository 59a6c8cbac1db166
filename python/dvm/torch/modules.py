"""`dvm.torch.compile`: modules and functions on tensors, compiled for any sizes at once."""

from __future__ import annotations

import copy
import functools
from typing import Any

import torch

from dvm.torch.backend import Options, backend


def compile(model: Any, /, **options: Any) -> Any:
    """Return a module, or a function on tensors, compiled for any sizes from its first call on.

    A module stays one: what is returned has the class, the parameters, the hooks and the state of
    the original, and shares them, so that what is done to one of the two is done to both. Copies
    and pickles of it are of the original.

    Args:
        model: a torch.nn.Module, or a function on tensors.
        options: as `Options` has them.

    Raises:
        UnsupportedError: for an option or a value of one that there is not.
        TypeError: if `model` is neither.
    """
    chosen = vars(Options.of(options))
    if isinstance(model, torch.nn.Module):
        return _compiled_module(model, chosen)
    if not callable(model):
        raise TypeError(f"dvm.torch.compile takes a module or a function, not {model!r:.40}")
    return torch.compile(model, backend=backend, dynamic=True, options=chosen)


def _compiled_module(module: torch.nn.Module, options: dict[str, Any]) -> torch.nn.Module:
    if isinstance(module, CompiledModule):
        module = module.original
    made = object.__new__(_class_for(module.__class__))
    # One __dict__ for both: parameters, hooks, `training`, and what users set.
    object.__setattr__(made, "__dict__", module.__dict__)
    called = torch.compile(module, backend=backend, dynamic=True, options=options)
    for slot, value in (("call", called), ("original", module), ("options", options)):
        object.__setattr__(made, slot, value)
    return made


class CompiledModule(torch.nn.Module):  # type: ignore[misc]
    """What a compiled module is besides its own class. `original` is the module as it was given."""

    # Beside the __dict__, which is the original's.
    __slots__ = ("call", "options", "original")
    call: Any
    options: dict[str, Any]
    original: torch.nn.Module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.nn.Module:
        return _compiled_module(copy.deepcopy(self.original, memo), self.options)

    def __copy__(self) -> torch.nn.Module:
        return _compiled_module(copy.copy(self.original), self.options)

    def __reduce_ex__(self, _protocol: Any) -> tuple[Any, ...]:
        return _compiled_module, (self.original, self.options)


@functools.cache
def _class_for(kind: Any) -> Any:
    """Return a subclass of a module's class whose instances call what was compiled."""
    return type(kind)(
        kind.__name__, (CompiledModule, kind), {"__slots__": (), "__module__": kind.__module__}
    )
