"""Compiled models beside other threads: of Python, with models of their own, with the same one."""

import concurrent.futures
from typing import Any

import pytest
import torch

import dvm.torch
from other_thread import turns_beside
from torch_door.models import MODELS


@pytest.fixture(autouse=True)
def _from_nothing() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def made(name: str) -> tuple[torch.nn.Module, Any, list[Any], list[torch.Tensor]]:
    """A module, compiled by a first call, with arguments and what eager torch makes of them."""
    make, arguments = MODELS[name]
    module = make().eval()
    compiled = dvm.torch.compile(module)
    given = [arguments(2 + k % 5, 2 + k) for k in range(20)]
    with torch.no_grad():
        compiled(*given[0])
        return module, compiled, given, [module(*args) for args in given]


def run(compiled: Any, given: list[Any]) -> list[torch.Tensor]:
    with torch.no_grad():
        return [compiled(*args) for _ in range(10) for args in given]


@pytest.mark.parametrize("names", [("mmoe", "mmoe"), ("mmoe", "dlrm"), ("autoencoder", "cnn")])
def test_two_threads(names):
    first = made(names[0])
    second = first if names[0] == names[1] else made(names[1])
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = [pool.submit(run, model[1], model[2]) for model in (first, second)]
    for future, (*_, expected) in zip(running, (first, second), strict=True):
        for got, wanted in zip(future.result(), expected * 10, strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)


def test_two_threads_train_models_of_their_own():
    """Losses of each are those that it has alone."""

    def train(name: str, compiles: bool) -> list[float]:
        make, _ = MODELS[name]
        drawn = torch.Generator().manual_seed(1)
        module = make()
        for parameter in module.parameters():
            parameter.data.copy_(torch.rand(parameter.shape, generator=drawn) - 0.5)
        called = dvm.torch.compile(module) if compiles else module
        steps = torch.optim.SGD(module.parameters(), lr=0.05)
        losses = []
        for args in batches[name]:
            steps.zero_grad()
            loss = called(*args).square().mean()
            loss.backward()
            steps.step()
            losses.append(loss.item())
        return losses

    names = ("mmoe", "autoencoder")
    batches = {name: [MODELS[name][1](3 + k % 3, 6) for k in range(12)] for name in names}
    alone = [train(name, False) for name in names]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = [pool.submit(train, name, True) for name in names]
    for future, losses in zip(running, alone, strict=True):
        torch.testing.assert_close(future.result(), losses, rtol=1e-3, atol=1e-5)


def test_python_runs_on_while_a_model_does():
    module = torch.nn.Sequential(*(torch.nn.Linear(768, 768) for _ in range(4))).eval()
    compiled, x = dvm.torch.compile(module), torch.rand(1024, 768)
    with torch.no_grad():
        compiled(x)
        assert turns_beside(lambda: compiled(x)) > 20
