"""The U-Net of a diffusion model in training: its loss, and the gradient of each parameter."""

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

import dvm.torch
from torch_door.models import Diffusion

STEPS = 2


def trained(
    module: Any, model: torch.nn.Module, batches: list[torch.Tensor]
) -> tuple[list[float], dict[str, torch.Tensor]]:
    """Losses of some steps, and the gradients of the last one."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for k, x in enumerate(batches):
        torch.manual_seed(k)
        optimizer.zero_grad()
        noise = torch.randn_like(x)
        loss = F.mse_loss(module(x + noise, torch.arange(len(x)) * 11.0), noise)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("form", [torch.contiguous_format, torch.channels_last], ids=str)
def test_losses_and_all_gradients_are_those_of_eager_torch(form: torch.memory_format) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    ours = Diffusion(depth=2).to(memory_format=form)
    theirs = copy.deepcopy(ours)
    batches = [torch.randn(2, 3, 16, 16).to(memory_format=form) for _ in range(STEPS)]
    before = {graph.number for graph in dvm.torch.report().graphs}
    losses, gradients = trained(torch.compile(ours, backend="dvm"), ours, batches)
    wanted, expected = trained(theirs, theirs, batches)
    torch.testing.assert_close(losses, wanted, rtol=1e-5, atol=1e-6)
    assert gradients.keys() == expected.keys()
    for name, gradient in gradients.items():
        largest = expected[name].abs().max().item()
        error = (gradient - expected[name]).abs().max().item()
        assert error <= 1e-4 * largest + 1e-6, f"{name}: {error} of {largest}"
        assert gradient.stride() == expected[name].stride(), name
    graphs = [g for g in dvm.torch.report().graphs if g.number not in before]
    assert not any(g.reason or g.given_up for g in graphs), dvm.torch.report()
