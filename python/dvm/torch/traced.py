"""`dvm.torch.compile`: modules and functions on tensors, by torch.compile, for any sizes."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import torch
from torch._dynamo import convert_frame
from torch._dynamo.utils import counters
from torch.nn.modules import module as nn_module

from dvm.torch.backend import Options, backend
from dvm.torch.modules import CompiledModule, wrapped

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
        module = model.original if isinstance(model, CompiledModule) else model
        return wrapped(module, traced(module, chosen), compile, chosen)
    if not callable(model):
        raise TypeError(f"dvm.torch.compile takes a module or a function, not {model!r:.40}")
    return torch.compile(model, backend=backend, dynamic=True, options=chosen)


def traced(module: torch.nn.Module, options: dict[str, Any]) -> Callable[..., Any]:
    """Return what calls the module by graphs of Dynamo's."""
    called = torch.compile(module, backend=backend, dynamic=True, options=options)
    called.dynamo_ctx.enter_exit_hooks.append(_floats_as_they_are())
    return called  # type: ignore[no-any-return]


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


#: what a call goes through before Dynamo is asked for the first frame of the program
OUTSIDE = frozenset({"dvm.torch.modules", "torch._dynamo.eval_frame", nn_module.__name__})


def nothing_ran(refusal: torch._dynamo.exc.TorchDynamoException, module: torch.nn.Module) -> bool:
    """Whether Dynamo has refused a module's call before anything of it ran."""
    if module._forward_pre_hooks or nn_module._global_forward_pre_hooks:
        return False
    for frame, _ in traceback.walk_tb(refusal.__traceback__):
        place = frame.f_globals.get("__name__")
        if place not in OUTSIDE:
            return bool(place == convert_frame.__name__)
    return False
