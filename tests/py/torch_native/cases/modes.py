"""What holds for all that a thread does: gradients, inference, autocast, dtypes, modes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from torch_native.cases import (
    CASES,
    Calls,
    Layer,
    Made,
    calls_of,
    case,
    each,
    grid,
    table,
)


def set_grads(enabled: bool, x: torch.Tensor) -> Any:
    torch.set_grad_enabled(enabled)
    return (x,)


#: gradients kept or not, of tensors that want them or not
GRADS: Calls = calls_of(
    lambda: set_grads(False, grid()),
    lambda: set_grads(False, grid().requires_grad_()),
    lambda: set_grads(True, grid()),
    lambda: set_grads(True, grid().requires_grad_()),
    lambda: set_grads(True, grid().requires_grad_() * 1),
    lambda: set_grads(False, nn.Parameter(grid())),
)
UNDER_GRADS = """
y = x * 2; return y, y.requires_grad, y.is_leaf, y.grad_fn is None
y = x.detach(); return y, y.requires_grad, (y * 2).requires_grad
with torch.no_grad(): y = x * 2 :: return y, y.requires_grad, torch.is_grad_enabled()
with torch.enable_grad(): y = x * 2 :: return y, y.requires_grad
with torch.set_grad_enabled(x.requires_grad): y = x + 1 :: return y
with torch.inference_mode(): y = x * 2 :: return y.is_inference(), torch.is_inference_mode_enabled()
x.add_(1); return x
x[0] = 1; return x
x.data.add_(1); return x
x.detach().mul_(2); return x
y = x.clone(); y[0] = 0; return y, y.requires_grad
return x.requires_grad, x.is_leaf, x.grad is None
return x.sum().item(), x.tolist()
return bool(x.sum() > 0), float(x.max())
y = x.data; return y * 2, y.requires_grad
return torch.is_grad_enabled(), x + 1
y = (x * x).sum() :: if y.requires_grad: y.backward() :: return x.grad
return torch.nn.functional.linear(x, torch.ones(2, 3)), x @ x.t()
return torch.zeros_like(x).requires_grad, torch.empty_like(x, requires_grad=True).requires_grad
x.requires_grad_(False) if x.is_leaf else x; return x, x * 3
return x.numpy()
torch.set_grad_enabled(False); y = x * 2; torch.set_grad_enabled(True); return y
return isinstance(x, nn.Parameter), nn.Parameter(x.detach())
return torch.autograd.grad(x.sum(), x)[0] if x.requires_grad and torch.is_grad_enabled() else x
return x.retain_grad() if x.requires_grad else x + 1
"""
table("gradients", "x", GRADS, UNDER_GRADS)


class Doubling(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        return made * 2 if func in (torch.add, torch.Tensor.add) else made


class Counting(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


MANAGERS: dict[str, Any] = {
    "no_grad": torch.no_grad,
    "enable_grad": torch.enable_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "autocast off": lambda: torch.autocast("cpu", torch.bfloat16, enabled=False),
    "a mode of functions": Doubling,
    "a mode of dispatch": Counting,
    "a device": lambda: torch.device("meta"),
    "the default device": lambda: torch.device("cpu"),
    "anomaly detection": lambda: torch.autograd.set_detect_anomaly(True),
    "forward mode": torch.autograd.forward_ad.dual_level,
}


def within(make: Any, program: Any) -> Made:
    """Called before, within, behind and again within what a manager sets."""
    module = Layer().eval()
    held: list[Any] = []

    def outside() -> Any:
        return (grid(),)

    def enter() -> Any:
        held.append(make())
        held[-1].__enter__()
        return (grid(),)

    def leave() -> Any:
        held.pop().__exit__(None, None, None)
        return (grid(),)

    calls = [outside, outside, enter, outside, leave, outside, enter, leave]
    return (lambda x: program(module, x)), calls


PROGRAMS: dict[str, Any] = {
    "a module": lambda module, x: module(x),
    "arithmetic": lambda _module, x: (torch.add(x, 1), x + 1, x @ x.t(), torch.ones(2)),
    "a write": lambda module, x: (module.seen.add_(x[0]), x.add_(1)),
}
for _manager, _make in MANAGERS.items():
    for _what, _program in PROGRAMS.items():
        CASES[f"modes: {_what} within {_manager}"] = lambda make=_make, program=_program: within(
            make, program
        )


def setting(change: Any, back: Any) -> Made:
    """What holds for the process, changed between calls and within one."""

    def program(x: Any) -> Any:
        return torch.zeros(2), x / 2, x @ x.t(), torch.tensor(1.5), torch.arange(3) * 0.5

    def with_it() -> Any:
        change()
        return (grid(),)

    def without() -> Any:
        back()
        return (grid(),)

    return program, calls_of(without, with_it, without)


SETTINGS: dict[str, tuple[Any, Any]] = {
    "default dtype": (
        lambda: torch.set_default_dtype(torch.float64),
        lambda: torch.set_default_dtype(torch.float32),
    ),
    "deterministic algorithms": (
        lambda: torch.use_deterministic_algorithms(True),
        lambda: torch.use_deterministic_algorithms(False),
    ),
    "float32 products": (
        lambda: torch.set_float32_matmul_precision("medium"),
        lambda: torch.set_float32_matmul_precision("highest"),
    ),
    "default device": (
        lambda: torch.set_default_device("meta"),
        lambda: torch.set_default_device(None),
    ),
    "threads": (lambda: torch.set_num_threads(2), lambda: torch.set_num_threads(1)),
    "flushing of denormals": (
        lambda: torch.set_flush_denormal(True),
        lambda: torch.set_flush_denormal(False),
    ),
}
for _name, (_change, _back) in SETTINGS.items():
    CASES[f"modes: {_name}"] = lambda change=_change, back=_back: setting(change, back)


@case
def default_dtype_set_within() -> Made:
    def program(x: Any) -> Any:
        torch.set_default_dtype(torch.float64)
        y = torch.ones(2)
        torch.set_default_dtype(torch.float32)
        return y, torch.ones(2), x + 1

    return program, each(grid())


@case
def functorch_transforms() -> Made:
    def program(x: Any) -> Any:
        return torch.func.vmap(lambda row: row.sum() * 2)(x)

    return program, each(grid())


@case
def called_under_vmap() -> Made:
    """The program itself, given what vmap gives it."""
    inner = lambda row: row * 2 + row.sum()  # noqa: E731
    return (lambda x: torch.func.vmap(inner)(x) + inner(x[0])), each(grid())


@case
def a_mode_entered_within() -> Made:
    def program(x: Any) -> Any:
        with Doubling():
            return torch.add(x, 1)

    return program, each(grid())


@case
def gradients_wanted_between_calls() -> Made:
    def program(x: Any) -> Any:
        y = x * 2
        return y, y.requires_grad, torch.is_grad_enabled()

    return program, calls_of(
        lambda: (grid(),), lambda: (torch.set_grad_enabled(True), (grid().requires_grad_(),))[1],
        lambda: (torch.set_grad_enabled(False), (grid().requires_grad_(),))[1],
        lambda: (torch.set_grad_enabled(True), (grid(),))[1],
    )  # fmt: skip


@case
def in_place_on_a_leaf_that_wants_gradients() -> Made:
    return (lambda x: x.add_(1)), calls_of(
        lambda: (torch.set_grad_enabled(True), (grid(),))[1],
        lambda: (grid().requires_grad_(),),
    )


@case
def without_gradients_within() -> Made:
    def program(x: Any) -> Any:
        with torch.no_grad():
            y = x * 2
        return y, y.requires_grad

    return program, calls_of(
        lambda: (grid(),), lambda: (torch.set_grad_enabled(True), (grid().requires_grad_(),))[1]
    )


@case
def inference_tensors() -> Made:
    def program(x: Any) -> Any:
        y = x * 2
        return y, y.is_inference()

    def made() -> Any:
        with torch.inference_mode():
            return (grid(),)

    return program, calls_of(lambda: (grid(),), made)


@case
def inference_mode_within() -> Made:
    def program(x: Any) -> Any:
        with torch.inference_mode():
            return x * 2

    return program, each(grid())


@case
def autocast_within() -> Made:
    def program(x: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return x @ x.t()

    return program, each(grid())


@case
def default_dtypes() -> Made:
    def program(x: Any) -> Any:
        return torch.zeros(2), x + 1, torch.arange(x.shape[0]) / 2

    return program, calls_of(
        lambda: (grid(dtype=torch.int64),),
        lambda: (torch.set_default_dtype(torch.float64), (grid(dtype=torch.int64),))[1],
    )


#: x, a module, a matrix; within another autocast, too, and of another dtype
MIXED = calls_of(
    lambda: (grid(), Layer().eval(), grid(3, 3)),
    lambda: (grid(5), Layer().eval(), grid(3, 3)),
    lambda: (grid(dtype=torch.float64), Layer().double().eval(), grid(3, 3, torch.float64)),
    lambda: (grid(dtype=torch.bfloat16), Layer().bfloat16().eval(), grid(3, 3, torch.bfloat16)),
)
AUTOCAST = """
with torch.autocast("cpu", torch.bfloat16): y = m(x); z = y @ x.t() :: return y, z, y + x
with torch.autocast("cpu", torch.float16): y = x.t() @ x :: return y, x @ y.float()
with torch.autocast("cpu"): y = F.linear(x, w, w[0]); z = y.softmax(-1) :: return y + 1, z
with torch.autocast("cpu", torch.bfloat16, enabled=False): y = x @ w :: return y
with torch.autocast("cpu"): y = torch.sort(x @ w, 0).values; z = torch.cat([y, x]) :: return z
with torch.autocast("cpu"): y = F.mse_loss(x @ w, x) :: return y
with torch.autocast("cpu"): y = torch.is_autocast_enabled("cpu") :: return y, x @ w
with torch.autocast("cpu", torch.bfloat16), torch.no_grad(): y = m(x) :: return y
with torch.no_grad(), torch.autocast("cpu"): y = F.conv1d(x[None], w[None]) :: return y
with torch.autocast("cuda", torch.bfloat16): y = x @ w :: return y
y = torch.amp.autocast("cpu")(lambda a: a @ w)(x); return y, x @ w
return torch.get_autocast_dtype("cpu"), x @ w
"""
table("autocast", "x, m, w", MIXED, AUTOCAST)


@case
def autocast_that_is_left_by_an_error() -> Made:
    def program(x: Any) -> Any:
        try:
            with torch.autocast("cpu", torch.bfloat16):
                y = x @ x.t()
                if x.sum() > 0:
                    raise ValueError
        except ValueError:
            return y, x @ x.t()
        return y.float() + x @ x.t()

    return program, calls_of(lambda: (grid(),), lambda: (-grid(4) - 3,))


@case
def autocast_within_autocast() -> Made:
    def program(x: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            y = x @ x.t()
            with torch.autocast("cpu", enabled=False):
                z = x @ x.t() + y.float()
            return y, z, torch.sort(x.t() @ z.to(x.dtype)).values

    return program, calls_of(lambda: (grid(),), lambda: (grid(4),))
