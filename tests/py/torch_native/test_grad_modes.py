"""torch.no_grad() within a function, by `with` and as a decorator."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import dvm

linear = nn.Linear(4, 4)


def by_with(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = linear(x) * 2
    return y + 1


@torch.no_grad()
def decorated(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(linear(x))


def calls_decorated(x: torch.Tensor) -> torch.Tensor:
    return decorated(x) + 1


@pytest.mark.parametrize("function", [by_with, calls_decorated])
def test_no_grad_within_no_grad_is_nothing(function: Any) -> None:
    f = dvm.compile(function)
    with torch.no_grad():
        for rows in (3, 1, 5):
            x = torch.randn(rows, 4)
            torch.testing.assert_close(f(x), function(x))
    assert f.stats.hits == 2


conv = nn.Conv1d(3, 2, 3, padding=1)
scale = nn.Parameter(torch.arange(1.0, 5.0))
plain = torch.arange(4.0)


def within(compute: Any) -> Any:
    """A function that computes it within torch.no_grad()."""

    def function(x: torch.Tensor) -> Any:
        with torch.no_grad():
            y = compute(x)
        return y, y * 2

    return function


def raises(x: torch.Tensor) -> Any:
    try:
        with torch.no_grad():
            y = linear(x)
            raise ValueError("y")
    except ValueError:
        return y + 1


def nested(x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = linear(x)
        with torch.no_grad():
            y = linear(y)
        z = y * scale
    return z + 1


def looks(x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = x * scale
        return y if torch.is_grad_enabled() else y * 2


#: captured where gradients are kept outside
CAPTURED = {
    "with": by_with,
    "decorated": calls_decorated,
    "linear": within(linear),
    "transposed": within(lambda x: x @ linear.weight.t() + linear.weight[0]),
    "torch's own": within(lambda x: conv(x[:3].unsqueeze(0))),
    "mean": within(lambda x: (x - x.mean(0)) / scale),
    "raises": raises,
    "nested": nested,
    "asks": looks,
    "plain tensors outside": lambda x: within(linear)(x)[0] * plain + x,
    "sizes outside": lambda x: within(linear)(x)[0] * scale.shape[0],
}


def viewed_outside(x: torch.Tensor) -> Any:
    weight = linear.weight.t()
    with torch.no_grad():
        y = x @ weight
    return y @ weight


def viewed_within(x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = x * linear.weight[0]
    return y * linear.weight[0]


def written(x: torch.Tensor) -> Any:
    with torch.no_grad():
        scale.mul_(1.0)
        return x * scale


#: refused there
REFUSED = {
    "view made outside": viewed_outside,
    "read again outside": viewed_within,
    "used outside": lambda x: within(linear)(x)[0] * scale,
    "written": written,
    "not a pattern": lambda x: x * scale,
}


def check(f: Any, x: torch.Tensor) -> None:
    made, wanted = f(x), f.__wrapped__(x)
    for one, other in zip(
        *(each if isinstance(each, tuple) else (each,) for each in (made, wanted)), strict=True
    ):
        torch.testing.assert_close(one, other)
        assert one.requires_grad == other.requires_grad
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("function", CAPTURED.values(), ids=CAPTURED)
def test_within_no_grad_tensors_that_want_gradients_are_like_others(function: Any) -> None:
    f = dvm.compile(function)
    for rows in (3, 4, 7):
        check(f, torch.randn(rows, 4))
    assert (f.stats.captures, f.stats.hits) == (1, 2)
    with torch.no_grad():  # another path
        made = f(torch.randn(3, 4))
        assert not (made[0] if isinstance(made, tuple) else made).requires_grad


@pytest.mark.parametrize("function", REFUSED.values(), ids=REFUSED)
def test_what_has_a_gradient_is_torchs(function: Any) -> None:
    f = dvm.compile(function)
    for rows in (3, 4, 7):
        check(f, torch.randn(rows, 4))
    assert f.stats.captures == 0
    assert "gradients" in f.fallback_reasons[0]


def test_an_argument_that_wants_a_gradient() -> None:
    f = dvm.compile(by_with)
    for wants in (False, True, False, True):
        check(f, torch.randn(3, 4, requires_grad=wants))
    assert f.stats.captures == 2  # a signature each
    g = dvm.compile(lambda x: by_with(x) + x)
    for wants in (False, True, False, True):
        check(g, torch.randn(3, 4, requires_grad=wants))
    assert (g.stats.captures, g.stats.hits) == (1, 1)


@pytest.mark.parametrize("device", [(), ("cuda",)])
def test_autocast_of_another_device_is_asked_in_each_call(device: Any) -> None:
    f = dvm.compile(lambda x: (torch.is_autocast_enabled(*device), x + 1))
    with torch.no_grad(), dvm.stance("force_capture"):
        for is_enabled in (False, False, True, True, False):
            torch.set_autocast_enabled("cuda", is_enabled)
            try:
                assert f(torch.ones(2))[0] is is_enabled
            finally:
                torch.set_autocast_enabled("cuda", False)
    assert (f.stats.captures, f.stats.hits) == (2, 3)
