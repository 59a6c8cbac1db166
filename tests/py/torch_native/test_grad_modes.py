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


@pytest.mark.parametrize("function", [by_with, calls_decorated])
def test_no_grad_where_gradients_are_kept_is_torchs(function: Any) -> None:
    f = dvm.compile(function)
    for _ in range(3):
        made = f(torch.randn(3, 4))
        assert not made.requires_grad
        assert torch.is_grad_enabled()
    assert f.stats.captures == 0


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
