"""`dvm.torch.compile`: modules and functions on tensors, compiled for any sizes at once."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._dynamo.utils import counters

from dvm.torch.backend import Options, backend

#: calls that compile graphs of a module before floats in these may be any
FOR_ONE_FLOAT = 4


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
    called.dynamo_ctx.enter_exit_hooks.append(_floats_as_they_are())
    for slot, value in (("call", called), ("original", module), ("options", options)):
        object.__setattr__(made, slot, value)
    return made


def _floats_as_they_are() -> Callable[[], Callable[[], None]]:
    """Return what Dynamo enters each call of a module by; what that returns it leaves it by.

    With `dynamic=True` floats are symbols, too. Dynamo then finds that those of a module, an eps
    for instance, have to be numbers, and traces all of it again. So here they are numbers from the
    start; but where they keep changing, and each would have a graph, they are symbols after all.
    """
    specialise = torch._dynamo.config._make_closure_patcher(specialize_float=True)
    left = FOR_ONE_FLOAT

    def enter() -> Callable[[], None]:
        if left == 0:
            return _nothing
        before = counters["stats"]["unique_graphs"]
        revert = specialise()

        def leave() -> None:
            nonlocal left
            revert()
            if counters["stats"]["unique_graphs"] != before:
                left -= 1

        return leave

    return enter


def _nothing() -> None:
    pass


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
