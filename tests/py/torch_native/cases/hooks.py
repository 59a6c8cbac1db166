"""Hooks of every kind, added to modules and removed between calls and within them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torch_native.cases import CASES, Layer, Made, case, changed, changing

of_all = nn.modules.module


def doubled(_module: nn.Module, _given: Any, made: torch.Tensor) -> torch.Tensor:
    return made * 2


def looked_at(_module: nn.Module, _given: Any, made: torch.Tensor) -> None:
    """Changes nothing."""
    assert made.shape[-1] == 3


def added_before(_module: nn.Module, given: Any) -> Any:
    return (given[0] + 1,)


def one_before(_module: nn.Module, given: Any) -> Any:
    """A result that is no tuple is made one."""
    return given[0] - 1


def with_names(_module: nn.Module, given: Any, named: Any, made: torch.Tensor) -> torch.Tensor:
    return made + len(given) + len(named)


def before_with_names(_module: nn.Module, given: Any, named: Any) -> Any:
    return (given[0] * 3,), named


def written(_module: nn.Module, _given: Any, made: torch.Tensor) -> None:
    made.add_(1)


def counted(module: Any, _given: Any, _made: torch.Tensor) -> None:
    module.count = getattr(module, "count", 0) + 1


def raising(_module: nn.Module, _given: Any, made: torch.Tensor) -> None:
    raise ValueError(f"a hook saw {tuple(made.shape)}")


def backwards(_module: nn.Module, wanted: Any, _given: Any) -> Any:
    return wanted


Added = Callable[[Layer], Any]
#: how a hook is added
HOOKS: dict[str, Added] = {
    "forward hook": lambda m: m.first.register_forward_hook(doubled),
    "forward hook that looks": lambda m: m.first.register_forward_hook(looked_at),
    "forward hook that writes": lambda m: m.second.register_forward_hook(written),
    "forward hook that counts": lambda m: m.first.register_forward_hook(counted),
    "forward hook that raises": lambda m: m.first.register_forward_hook(raising),
    "forward hook called always": lambda m: m.first.register_forward_hook(
        doubled, always_call=True
    ),
    "forward hook with names": lambda m: m.first.register_forward_hook(
        with_names, with_kwargs=True
    ),
    "forward hook before others": lambda m: m.first.register_forward_hook(doubled, prepend=True),
    "hook before forward": lambda m: m.first.register_forward_pre_hook(added_before),
    "hook before forward, no tuple": lambda m: m.second.register_forward_pre_hook(one_before),
    "hook before forward with names": lambda m: m.first.register_forward_pre_hook(
        before_with_names, with_kwargs=True
    ),
    "hook of the outermost": lambda m: m.register_forward_hook(doubled),
    "hook before the outermost": lambda m: m.register_forward_pre_hook(added_before),
    "backward hook": lambda m: m.first.register_full_backward_hook(backwards),
    "backward hook before": lambda m: m.first.register_full_backward_pre_hook(lambda _m, g: g),
    "hook of all modules": lambda _m: of_all.register_module_forward_hook(
        lambda _module, _given, made: made + 1
    ),
    "hook before all modules": lambda _m: of_all.register_module_forward_pre_hook(
        lambda _module, given: (given[0] + 1,)
    ),
    "backward hook of all": lambda _m: of_all.register_module_full_backward_hook(backwards),
    "hook of state": lambda m: m.register_state_dict_post_hook(lambda *_: None),
}


def added_and_removed(add: Added) -> Made:
    """Removed between calls, and once by its handle in a `with`."""
    handles: list[Any] = []
    return changed(
        lambda m: handles.append(add(m)),
        lambda m: handles.append(add(m)),
        lambda _m: handles.pop().remove(),
        lambda _m: handles.pop().remove(),
    )


for _name, _add in HOOKS.items():
    CASES[f"hooks: {_name}"] = lambda add=_add: added_and_removed(add)


@case
def added_within_the_call() -> Made:
    def program(m: Any, x: Any) -> Any:
        with m.first.register_forward_hook(doubled):
            y = m(x)
        return y, m(x)

    return changed(lambda m: m.first.weight.data.add_(1), program=program)


@case
def added_by_a_hook() -> Made:
    def more(module: Any, _given: Any, _made: Any) -> None:
        module.register_forward_hook(doubled)

    return changed(lambda m: m.first.register_forward_hook(more))


@case
def removes_itself() -> Made:
    def once(m: Any) -> None:
        handle = m.first.register_forward_hook(lambda _m, _g, made: (handle.remove(), made * 2)[1])

    return changed(once)


@case
def keeps_what_it_saw() -> Made:
    kept: list[Any] = []

    def program(m: Any, x: Any) -> Any:
        kept.clear()
        return m(x), list(kept)

    return changed(
        lambda m: m.first.register_forward_hook(lambda _m, _g, made: kept.append(made)),
        program=program,
    )


@case
def a_closure_of_the_hook_is_rebound() -> Made:
    factor = {"value": 2}
    return changed(
        lambda m: m.first.register_forward_hook(lambda _m, _g, made: made * factor["value"]),
        lambda _m: factor.update(value=5),
    )


@case
def of_a_parameter() -> Made:
    """Only what keeps gradients calls it."""
    return changed(lambda m: m.first.weight.register_hook(lambda grad: grad * 2))


@case
def called_after_an_error() -> Made:
    def failing(module: Any) -> None:
        module.second.register_forward_pre_hook(lambda _m, given: (given[0][:, :2],))

    return changed(lambda m: m.second.register_forward_hook(counted, always_call=True), failing)


@case
def within_a_sequence() -> Made:
    torch.manual_seed(1)
    chain = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 3))).eval()
    return changing(
        chain,
        lambda m: m[1].register_forward_hook(doubled),
        lambda m: m[1][0].register_forward_pre_hook(added_before),
        lambda m: m[1]._forward_hooks.clear(),
    )


@case
def handles_in_another_order() -> Made:
    def both(m: Any) -> None:
        m.first.register_forward_hook(doubled)
        m.first.register_forward_hook(lambda _m, _g, made: made + 1)

    return changed(
        both, lambda m: m.first._forward_hooks.move_to_end(next(iter(m.first._forward_hooks)))
    )
