"""Models against eager torch, inference and gradients, over sizes that change."""

from typing import Any

import pytest
import torch

import dvm.torch
from torch_door.models import MODELS, TRANSFORMERS

SHAPES = [(2, 9), (3, 5), (1, 7), (2, 1), (4, 12), (2, 6)]


@pytest.fixture(autouse=True)
def _from_nothing():
    torch._dynamo.reset()
    torch.manual_seed(0)


def outputs(made: Any) -> torch.Tensor:
    return made if isinstance(made, torch.Tensor) else made[0]


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def gradients(module: torch.nn.Module, result: torch.Tensor) -> list[torch.Tensor]:
    module.zero_grad()
    result.square().mean().backward()
    return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in module.parameters()]


@pytest.mark.parametrize("name", MODELS)
def test_inference(name):
    make, arguments = MODELS[name]
    module = make().eval()
    compiled = torch.compile(module, backend="dvm", dynamic=True)
    with torch.no_grad():
        for shape in SHAPES:
            args = arguments(*shape)
            close(outputs(compiled(*args)), outputs(module(*args)))
        report = dvm.torch.explain(compiled)(*arguments(3, 8))
    if name != "lstm":  # torch does not give recurrent layers to a backend
        assert len(report.graphs) == 1
    assert report.count("fallback") == 0
    if name in TRANSFORMERS:
        assert report.count("library") == 0
    assert not report.graphs or report.count("compiled") > 0


@pytest.mark.parametrize("name", [name for name in MODELS if name != "lstm"])
def test_gradients(name):
    make, arguments = MODELS[name]
    module = make().eval()
    compiled = torch.compile(module, backend="dvm", dynamic=True)
    for shape in SHAPES[:3]:
        args = arguments(*shape)
        expected = gradients(module, outputs(module(*args)))
        for got, wanted in zip(gradients(module, outputs(compiled(*args))), expected, strict=True):
            close(got, wanted)
    assert dvm.torch.report().count("fallback") == 0


@pytest.mark.parametrize("optimiser", [torch.optim.SGD, torch.optim.AdamW])
@pytest.mark.parametrize("name", ["cnn", "autoencoder"])
def test_training_follows_eager(name, optimiser):
    make, arguments = MODELS[name]
    batches = [arguments(3 + k % 3, 6) for k in range(10)]

    def train(compiles: bool) -> list[float]:
        torch.manual_seed(1)
        module = make().train()
        called = torch.compile(module, backend="dvm", dynamic=True) if compiles else module
        steps = optimiser(module.parameters(), lr=0.01)
        losses = []
        for args in batches:
            steps.zero_grad()
            loss = called(*args).square().mean()
            loss.backward()
            steps.step()
            losses.append(loss.item())
        return losses

    torch.testing.assert_close(train(True), train(False), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_lengths_cost_two_graphs(name):
    make, arguments = MODELS[name]
    module = make().eval()
    before = len(dvm.torch.report().graphs)
    compiled = torch.compile(module, backend="dvm", dynamic=True)
    with torch.no_grad():
        for length in (9, *range(1, 65, 3), 64):
            args = arguments(1, length)
            close(outputs(compiled(*args)), outputs(module(*args)))
    # One for length 1, which torch never takes for any length.
    assert len(dvm.torch.report().graphs) - before <= 2


def test_halves():
    make, arguments = MODELS["bert"]
    module = make().eval().to(torch.bfloat16)
    compiled = torch.compile(module, backend="dvm", dynamic=True)
    with torch.no_grad():
        for shape in SHAPES[:2]:
            args = arguments(*shape)
            got, wanted = outputs(compiled(*args)), outputs(module(*args))
            torch.testing.assert_close(got, wanted, rtol=0.1, atol=0.1)
