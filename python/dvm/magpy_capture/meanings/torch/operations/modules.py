"""What modules of PyTorch ask before they do their work."""

from __future__ import annotations

import inspect
import types
from collections import OrderedDict
from typing import Any

import torch
from torch import nn

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import (
    OF_KINDS,
    SETTLED,
    adopts,
    iterates,
    leads_to,
    looks_up,
    means,
)
from dvm.magpy_capture.values import (
    Abstract,
    DictValue,
    DictView,
    Host,
    Instance,
    Literal,
    Sequence,
    Size,
    Tensor,
    is_none,
    resolve,
)
from dvm.magpy_capture.values.kinds import class_attribute

SETTLED.add(nn.Module)


@means(torch.distributed.is_initialized)
def is_distributed(lower: TorchPart, *, seen: Any) -> Abstract:
    """Asked on each call."""
    asked = lower.program.constant(torch.distributed.is_initialized)
    return lower.heap.computed(lower.program.step("call", asked, [], ()), seen)


@means(torch.finfo, torch.iinfo)
def limits(lower: TorchPart, *dtype: Abstract, seen: Any) -> Literal:
    """What numbers of a dtype can be."""
    for each in dtype:
        lower.indexing.plain(each)
    return Literal(seen, identical=False)


@means(torch._C._log_api_usage_once)
def logged(_: TorchPart, *_event: Abstract) -> Literal:
    """Of what has run PyTorch counts kinds, once a process."""
    return Literal(None)


#: what a module that only calls its `forward` has of its class alone, and what of its own is empty
OF_CLASS = ("_compiled_call_impl", "_call_impl", "forward")
HOOKS = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")
#: those of all modules, variables of the module in which nn.Module is
GLOBAL_HOOKS = tuple(f"_global{name}" for name in HOOKS)


def forward_called(module: Any) -> types.FunctionType | None:
    """The `forward` that a call of the module comes to at once; None: there is more to do."""
    cls = type(module)
    found = [class_attribute(cls, name) for name in OF_CLASS]
    if found[:2] != [None, nn.Module._call_impl] or type(found[2]) is not types.FunctionType:
        return None
    if class_attribute(cls, "__getattribute__") is not object.__getattribute__:
        return None
    own = object.__getattribute__(module, "__dict__")
    if any(name in own for name in OF_CLASS) or torch._C._get_tracing_state():
        return None
    of_all = vars(torch.nn.modules.module)
    hooks = [own.get(name) for name in HOOKS] + [of_all[name] for name in GLOBAL_HOOKS]
    if any(type(each) not in (dict, OrderedDict) or each for each in hooks):
        return None
    forward = found[2]
    waits = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    return None if _dvm.is_leaf(forward) or forward.__code__.co_flags & waits else forward


@leads_to(nn.Module._wrapped_call_impl, forward_called)
def called_at_once(lower: TorchPart, module: Instance) -> Literal:
    """The `forward` of a module without hooks."""
    lower.torch_modes.guard_modes()
    cls = module.cls
    for name in ("__getattribute__", *OF_CLASS):
        lower.instances.guard_class(cls, name, class_attribute(cls, name))
    guard_unhooked(lower, module)
    scope = vars(torch.nn.modules.module)
    for name in GLOBAL_HOOKS:
        if id(scope[name]) in lower.heap.reached:
            raise refuse(reasons.TORCH_FORM, "nn.Module.__call__", name)
        lower.program.guard_name(scope, name, scope[name])
    for name in GLOBAL_HOOKS:
        lower.program.guard("guard_truth", lower.program.constant(scope[name]), False)
    return Literal(class_attribute(cls, "forward"))


def guard_unhooked(lower: TorchPart, module: Instance) -> None:
    """The module has no hooks, and no method of its own where it finds that of its class."""
    if any(name in module.attributes for name in OF_CLASS):
        raise refuse(reasons.TORCH_FORM, "nn.Module.__call__", describe(module))
    own = vars(module.object)
    met = [n for n in HOOKS if n in module.attributes or id(own[n]) in lower.heap.reached]
    if module.register >= 0:  # else the program made it
        unmet = tuple(name for name in HOOKS if name not in met)
        lower.program.guard("guard_bare", module.register, OF_CLASS, unmet)
    for name in met:  # which the program may have changed
        lower.python.outcome(lower.operators.attribute(module, name, own[name]), False)


@adopts(torch.Tensor)
def adopt_complex(
    lower: TorchPart, register: int, seen: torch.Tensor, external: bool = True
) -> Host:
    """A tensor that no graph can hold: torch computes with it between its parts."""
    lower.torch_modes.guard_modes()
    if lower.torch_modes.keeps_gradients:
        raise refuse(reasons.GRADIENTS)
    lower.program.guard("guard_signature", register, seen, key=(register,))
    if external:
        lower.memory.meet_opaque(register, seen)
    return Host(register, seen, made=not external)


def follow_tagging(init: Any) -> None:
    """Let Dynamo's `nn.Module.__init__` be the one that it replaced.

    Its tag tells Dynamo that a module was made while a program ran; it does without.
    """
    own = inspect.getclosurevars(init).nonlocals["init"]

    @leads_to(init, lambda _: own)
    def replaced(_lower: TorchPart, _module: Instance) -> Literal:
        return Literal(own)


def submodules(lower: TorchPart, base: Instance) -> DictValue:
    """`base._modules`."""
    found = lower.operators.attribute(base, "_modules", base.object._modules)
    if not isinstance(found, DictValue):
        raise refuse(reasons.ITERATION_OVER, describe(base))
    return found


@iterates(nn.ModuleList.__iter__, nn.Sequential.__iter__)
def modules_of(lower: TorchPart, base: Instance) -> DictView:
    return DictView(submodules(lower, base), "values")


@iterates(nn.ModuleDict.__iter__)
def names_of(lower: TorchPart, base: Instance) -> DictView:
    return DictView(submodules(lower, base), "keys")


@looks_up(nn.Module.__getattr__)
def part_of_module(lower: TorchPart, base: Instance, name: str, seen: Any) -> Abstract:
    """A parameter, a buffer or a module within a module."""
    for table in ("_parameters", "_buffers", "_modules"):
        held = vars(base.object)[table]
        if name in held:
            found = lower.instances.instance_attribute(base, table, held)
            return lower.containers.element(found, Literal(name), seen)
    raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))


OF_KINDS += [torch._C._has_torch_function, torch._C._has_torch_function_unary]
OF_KINDS += [torch._C._has_torch_function_variadic, torch.is_floating_point, torch.is_tensor]


@means(torch._C._has_torch_function_unary, torch._C._has_torch_function_variadic)
@means(torch._C._has_torch_function)
def has_torch_function(lower: TorchPart, *given: Abstract, seen: Any) -> Literal:
    """No plain tensor, number or None has functions of torch of its own."""
    if seen:
        raise refuse(reasons.TORCH_FORM, "a function of torch", "a tensor of another class")
    for each in given:
        parts = lower.containers.elements(each) if isinstance(each, Sequence) else [each]
        for part in map(resolve, parts):
            held = getattr(part, "object", None)
            known = isinstance(part, (Tensor, Size)) or is_none(part)
            known = known or isinstance(held, (int, float, bool)) or type(held) is torch.Tensor
            if not known:
                raise refuse(reasons.TORCH_FORM, "a function of torch", describe(part))
    return Literal(False)
