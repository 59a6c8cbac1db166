"""`dvm.profile` of modules and functions of PyTorch, measured and on simulated cores."""

import re
from pathlib import Path

import pytest
import torch
from torch.nn import functional

import dvm.torch


class Net(torch.nn.Module):
    def __init__(self, pools=False):
        super().__init__()
        self.original = None  # a module may have a name that a compiled one has, too
        self.pools = pools
        self.before = torch.nn.AvgPool1d(3, 1, 1)
        self.wide = torch.nn.Linear(24, 48)
        self.norm = torch.nn.LayerNorm(48)
        self.narrow = torch.nn.Linear(48, 4)

    def forward(self, x):
        if self.pools:
            x = self.before(x[:, None])[:, 0]
        h = functional.gelu(self.wide(x))
        return self.narrow(self.norm(h))


X = torch.rand(7, 24)


def step(model):
    """A step of training, which nobody compiles."""

    def train(x):
        model.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    return train


@pytest.mark.parametrize(
    ("compiles", "name"),
    [(dvm.compile, "torch.avg_pool1d"), (dvm.torch.compile, "aten.avg_pool2d.default#0")],
)
def test_the_parts_of_a_measured_call_are_all_of_it(compiles, name):
    with torch.no_grad():
        profile = dvm.profile(compiles(Net(pools=True)))(X)
    assert sum(profile.parts().values()) == profile.wall
    assert profile.parts()["kernels"] > 0
    assert profile.function == "Net"
    called = [kernel for kernel in profile.kernels if kernel.kind == "call"]
    assert [kernel.name for kernel in called] == [name]
    assert profile.parts()["not compiled"] == sum(kernel.run for kernel in called)


@pytest.mark.parametrize("target", ["ascend910b1", "ascend910b3"])
def test_a_module_runs_on_simulated_cores(target):
    model = Net().eval()
    with torch.no_grad():
        profile = dvm.profile(model, target=target)(X)
        torch.testing.assert_close(profile.value, model(X))
        again = dvm.profile(dvm.compile(model), target=target)(X)
    assert profile.target == target
    assert profile.cycles == again.cycles > 0
    assert {kernel.name for kernel in profile.kernels} == {"g0.r0", "g0.r1"}
    assert profile.what_if(cores=2).after.cycles > 0
    sweep = profile.tiles()
    assert sweep.chosen in sweep.cycles


def test_lines_are_those_of_the_program():
    with torch.no_grad():
        profile = dvm.profile(Net().eval(), target="ascend910b3")(X)
    source = Path(__file__).read_text().splitlines()
    lines = [line.location for line in profile.lines()]
    assert all(location.startswith(__file__) for location in lines)
    texts = {source[int(location.rpartition(":")[2]) - 1].strip() for location in lines}
    assert texts == {
        "h = functional.gelu(self.wide(x))",
        "return self.narrow(self.norm(h))",
    }
    shares = [line.share for line in profile.lines()]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)


def test_a_page_shows_programs_and_what_follows_them():
    with torch.no_grad():
        page = dvm.profile(Net().eval(), target="ascend910b3")(torch.rand(300, 24)).page()
    assert "return self.narrow(self.norm(h))" in page
    assert re.search(r"g0\.r0, \d+ bytes", page)
    assert "behind it, on vector cores:" in page


def test_a_function_that_torch_compiled():
    @torch.compile(backend="dvm", dynamic=True)
    def f(x):
        return torch.tanh(x) * 2 + x

    measured = dvm.profile(f)(X)
    torch.testing.assert_close(measured.value, torch.tanh(X) * 2 + X)
    simulated = dvm.profile(f, target="ascend910b3")(X)
    torch.testing.assert_close(simulated.value, torch.tanh(X) * 2 + X)
    assert simulated.cycles > 0


def test_a_module_that_torch_compiled():
    model = Net().eval()
    options = {"target": "ascend910b3"}
    with torch.no_grad():
        compiled = torch.compile(model, backend="dvm", dynamic=True)
        assert dvm.profile(compiled)(X).target == "cpu"
        assert dvm.profile(compiled, target="ascend910b1")(X).target == "ascend910b1"
        for simulated in (
            torch.compile(model, backend="dvm", dynamic=True, options=options),
            dvm.compile(model, target="ascend910b3"),
        ):
            profile = dvm.profile(simulated)(X)
            assert profile.target == "ascend910b3"
            assert profile.cycles > 0


def test_a_step_of_training_has_both_graphs():
    model = Net()
    profile = dvm.torch.profile(step(dvm.compile(model)))(X)
    assert profile.function.endswith("train")
    graphs = {kernel.name.split(".")[0] for kernel in profile.kernels if kernel.kind == "region"}
    assert graphs == {"g0", "g1"}
    assert sum(profile.parts().values()) == profile.wall
    assert profile.value.requires_grad


def test_what_runs_no_graph_of_dvm_says_so():
    with pytest.raises(dvm.CaptureError, match="runs no graph that dvm compiled"):
        dvm.torch.profile(lambda x: x + 1)(X)
    complex_ones = dvm.torch.compile(lambda z: z * 1j)
    with pytest.raises(dvm.CaptureError, match="complex"):
        dvm.profile(complex_ones)(torch.rand(3, dtype=torch.complex64))


def test_an_unknown_target_is_an_error():
    with pytest.raises(dvm.UnsupportedError, match="no target 'nowhere'"):
        dvm.profile(Net(), target="nowhere")(X)
    with pytest.raises(dvm.UnsupportedError, match="no target 'nowhere'"):
        dvm.torch.compile(Net(), target="nowhere")
