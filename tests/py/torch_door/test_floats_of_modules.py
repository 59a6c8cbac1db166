"""Numbers that modules hold, such as an eps: traced once, and symbols where they keep changing."""

import pytest
import torch
from torch import nn

import dvm.torch
from torch_door.models import MODELS, transformer


@pytest.fixture(autouse=True)
def _from_nothing() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


class Scaled(nn.Module):
    def __init__(self, scale: float = 0.5) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8, eps=1e-3)
        self.scale = scale

    def forward(self, x: torch.Tensor, bias: float = 1.0) -> torch.Tensor:
        return self.norm(x) * self.scale + bias


@pytest.mark.parametrize("name", ["scaled", "bert", "resnet"])
def test_a_module_is_traced_once(name):
    torch._dynamo.utils.clear_compilation_metrics()
    if name == "scaled":
        module, args = Scaled(), (torch.rand(3, 8),)
    elif name == "bert":
        module, args = transformer("bert", layers=1).eval(), MODELS["bert"][1](2, 9)
    else:
        module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval()
        args = (torch.rand(2, 3, 8, 8),)
    with torch.no_grad():
        dvm.torch.compile(module)(*args)
    assert [m.restart_reasons for m in torch._dynamo.utils.get_compilation_metrics()] == [set()]


@pytest.mark.parametrize("where", ["module", "argument"])
def test_floats_that_change_at_every_call(where):
    module = Scaled()
    compiled = dvm.torch.compile(module)
    x = torch.rand(3, 8)
    numbers = set()
    with torch.no_grad():
        for k in range(20):
            value = 0.1 + k / 7
            if where == "module":
                module.scale = value
            args = (x,) if where == "module" else (x, value)
            torch.testing.assert_close(compiled(*args), module(*args))
            numbers |= {graph.number for graph in dvm.explain(compiled)(*args).graphs}
    assert len(numbers) <= 6
    with torch.no_grad():
        assert dvm.explain(compiled)(x).count("fallback") == 0
