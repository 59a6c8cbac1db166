"""Calls of modules: the recording goes to `forward` at once, where nn.Module.__call__ does."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.modules import module as of_all_modules

import dvm
from dvm import _dvm


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.arange(1.0, 5.0))

    def forward(self, x: torch.Tensor, *rest: float, by: float = 1.0, **more: float) -> Any:
        if by > 100:
            raise ValueError("by is too much")
        return x * self.weight * by + sum(rest) + sum(more.values())


class Quiet(Scaled):
    """A class with a __call__ of its own, which calls that of nn.Module."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*args, **kwargs) * 2


class Twice(Scaled):
    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return super()._call_impl(*args, **kwargs) * 2


def catches(module: Any, x: torch.Tensor) -> Any:
    try:
        return module(x, by=1e3)
    except ValueError as error:
        return x + len(str(error))


SPREAD = {"by": 3.0, "other": 4.0}

CALLS: dict[str, Callable[[Any, torch.Tensor], Any]] = {
    "one": lambda m, x: m(x),
    "named": lambda m, x: m(x=x, by=2.0),
    "spread": lambda m, x: m(*[x, 1.0], 2.0, **dict(SPREAD)),
    "collected": lambda m, x: m(x, 1.0, by=2.0, other=5.0),
    "by its method": lambda m, x: m.__call__(x),
    "by its class": lambda m, x: nn.Module.__call__(m, x),
    "by a bound method": lambda m, x: (lambda call: call(x, by=2.0))(m.__call__),
    "mapped": lambda m, x: sum(map(m, [x, x + 1])),
    "raises": catches,
}


def own_forward(module: nn.Module) -> None:
    module.forward = lambda x, *_, **__: x - 1  # type: ignore[method-assign]


def class_forward(module: nn.Module) -> None:
    def forward(_: Any, x: torch.Tensor, *rest: Any, **more: Any) -> Any:
        return x * 5 + len(rest) + len(more)

    type(module).forward = forward  # type: ignore[method-assign]


CHANGES: dict[str, Callable[[Any], Any]] = {
    "hook": lambda m: m.register_forward_hook(lambda _m, _a, y: y + 1),
    "pre-hook": lambda m: m.register_forward_pre_hook(lambda _, a: (a[0] + 1, *a[1:])),
    "hook of all": lambda _: of_all_modules.register_module_forward_hook(lambda _m, _a, y: y + 1),
    "compiled": lambda m: setattr(m, "_compiled_call_impl", lambda x: x * 7),
    "forward of its own": own_forward,
    "forward of its class": class_forward,
}


def check(f: Any, function: Any, rows: int) -> None:
    x = torch.randn(rows, 4)
    torch.testing.assert_close(f(x), function(x))


@pytest.fixture(params=[None, 1, 2, 3, 7], ids=lambda every: f"collected {every}")
def _collector(request: pytest.FixtureRequest) -> Iterator[None]:
    """Runs after that many new objects, wherever a call is, and tells a function of Python."""
    former = gc.get_threshold()
    told = lambda _phase, _info: None  # noqa: E731
    if request.param is not None:
        gc.callbacks.append(told)
        gc.set_threshold(request.param, 1000)
    yield
    gc.set_threshold(*former)
    if request.param is not None:
        gc.callbacks.remove(told)


@pytest.mark.usefixtures("_collector")
@pytest.mark.parametrize("kind", [Scaled, Quiet, Twice])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls(call: Any, kind: type[Scaled]) -> None:
    module = kind()
    f = dvm.compile(lambda x: call(module, x))
    with torch.no_grad():
        for rows in (3, 1, 5):
            check(f, lambda x: call(module, x), rows)
    assert (f.stats.hits, f.stats.fallbacks) == (2, 0)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_a_call_comes_to_may_change(change: Any) -> None:
    module = type("Changing", (Scaled,), {})()
    f = dvm.compile(lambda x: module(x) + 1)
    with torch.no_grad():
        for rows in (3, 1):
            check(f, lambda x: module(x) + 1, rows)
        assert f.stats.hits == 1
        handle = change(module)
        for rows in (3, 1, 5):
            check(f, lambda x: module(x) + 1, rows)
        if handle is not None:
            handle.remove()
            check(f, lambda x: module(x) + 1, 3)
            assert f.stats.hits >= 2


def test_a_hook_that_the_function_adds_is_called() -> None:
    module = Scaled()

    def hooked(x: torch.Tensor) -> Any:
        module(x)
        handle = module.register_forward_hook(lambda _m, _a, y: y + 1)
        y = module(x)
        handle.remove()
        return y

    f = dvm.compile(hooked)
    with torch.no_grad():
        for rows in (3, 1):
            check(f, hooked, rows)


def test_the_recording_has_no_events_of_nn_module() -> None:
    module = nn.Sequential(Scaled(), nn.ReLU())
    record = _dvm.record(lambda x: module(x), torch.ones(4))
    entered = [name for kind, name, *_ in record["events"] if kind == "enter"]
    assert entered == ["Sequential.forward", "Scaled.forward", "ReLU.forward"]
