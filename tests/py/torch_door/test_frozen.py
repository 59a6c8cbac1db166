"""`frozen=True`: weights are packed once, and whoever writes to them later is noticed."""

import concurrent.futures
import inspect
from typing import Any

import pytest
import torch
from torch import nn

import dvm.torch
from torch_door.models import MODELS, transformer
from whole import some


@pytest.fixture(autouse=True)
def _from_nothing() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


class Net(nn.Module):
    """Products by a weight, its transpose and a buffer, none of which fills up its panels."""

    def __init__(self, width: int = 96) -> None:
        super().__init__()
        self.first = nn.Linear(width, 130)
        self.second = nn.Parameter(torch.randn(130, width) / 10)
        self.register_buffer("third", torch.randn(width, 70) / 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.first(x).relu() @ self.second @ self.third


def packed(compiled: Any, *args: Any) -> int:
    (graph,) = dvm.torch.explain(compiled)(*args).graphs
    return graph.counters["packed_bytes"]


def check(compiled: Any, module: nn.Module, x: torch.Tensor) -> None:
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-4)


@pytest.fixture
def frozen() -> Any:
    module = Net().eval()
    compiled = dvm.torch.compile(module, frozen=True)
    x = torch.rand(64, 96)
    check(compiled, module, x)
    with torch.no_grad():
        assert packed(compiled, x) > 0
    return compiled, module, x


def test_the_results_have_the_same_bits_for_any_rows(frozen):
    compiled, module, _ = frozen
    plain = dvm.torch.compile(module)
    with torch.no_grad():
        for rows in (2, 3, 16, 64, 65, 300):
            x = torch.rand(rows, 96)
            assert torch.equal(compiled(x), plain(x))


def test_only_inference_has_it(frozen):
    compiled, module, x = frozen
    compiled(x).sum().backward()
    assert module.second.grad is not None
    report = dvm.torch.explain(compiled)(x)
    assert [graph.counters["packed_bytes"] for graph in report.graphs] == [0]


def replaced(module: Net) -> None:
    module.second = nn.Parameter(torch.randn(130, 96))


def assigned(module: Net) -> None:
    module.second.data = torch.randn(130, 96)


def assigned_twice(module: Net) -> None:
    """So that the memory of the first may be that of the last."""
    shape = module.second.shape
    for _ in range(20):
        module.second.data = torch.randn(shape)


@torch.no_grad()
def written(module: Net) -> None:
    module.second.mul_(2)


@torch.no_grad()
def written_by_a_view(module: Net) -> None:
    module.first.weight[3:5].zero_()


def stepped(module: Net) -> None:
    steps = torch.optim.SGD(module.parameters(), lr=0.5)
    module(torch.rand(3, 96)).square().sum().backward()
    steps.step()
    module.zero_grad()


def loaded(module: Net) -> None:
    module.load_state_dict({k: v + 1 for k, v in module.state_dict().items()})


def buffered(module: Net) -> None:
    module.third += 1


def moved(module: Net) -> None:
    module.double().float()


CHANGES = [
    replaced,
    assigned,
    assigned_twice,
    written,
    written_by_a_view,
    stepped,
    loaded,
    buffered,
    moved,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_is_noticed(frozen, change):
    compiled, module, x = frozen
    for _ in range(3):
        change(module)
        for _ in range(2):
            check(compiled, module, x)


# torch counts the writes of some of them only. SparseAdam takes no dense gradients.
OPTIMIZERS = [
    (kind, keywords)
    for kind in vars(torch.optim).values()
    if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)
    and kind not in (torch.optim.Optimizer, torch.optim.SparseAdam)
    for keywords in ({}, {"foreach": True}, {"fused": True})
    if keywords.keys() <= inspect.signature(kind).parameters.keys()
]  # fmt: skip


@pytest.mark.parametrize(("kind", "keywords"), OPTIMIZERS)
def test_a_step_is_noticed(frozen, kind, keywords):
    compiled, module, x = frozen
    steps = kind([p for p in module.parameters() if p.dim() == 2], lr=0.5, **keywords)

    def loss() -> torch.Tensor:
        steps.zero_grad()
        total = module(x).square().mean()
        total.backward()
        return total

    before = module.second.detach().clone()
    for _ in range(2):
        loss()
        steps.step(loss)
        check(compiled, module, x)
    assert not torch.equal(module.second, before)


class Careless(torch.optim.Optimizer):
    """As many write them."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {})

    def step(self, _closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                p.data.add_(1)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_steps_that_write_data_or_are_compiled(frozen, is_compiled):
    compiled, module, x = frozen
    for steps in (
        Careless(module.parameters()),
        torch.optim.AdamW(module.parameters(), fused=True),
    ):
        module(x).square().mean().backward()
        step = torch.compile(steps.step, backend="aot_eager") if is_compiled else steps.step
        for _ in range(2):
            step()
            check(compiled, module, x)


def test_steps_with_other_weights_leave_what_is_packed(frozen):
    """A teacher's are not packed again at each step of its pupil."""
    compiled, _, x = frozen
    pupil = Net()
    steps = torch.optim.Adam(pupil.parameters(), fused=True)
    with torch.no_grad():
        (graph,) = dvm.torch.explain(compiled)(x).graphs
    before = graph.counters["packed_bytes"]
    pupil(x).sum().backward()
    steps.step()
    assert graph.counters["packed_bytes"] == before > 0


def test_what_is_packed_stays(frozen):
    compiled, _, x = frozen
    with torch.no_grad():
        before = packed(compiled, x)
        assert [packed(compiled, torch.rand(rows, 96)) for rows in (40, 64, 100)] == [before] * 3


def test_other_graphs_read_the_weights_themselves(frozen):
    """What this graph packed is of no other's concern, which might not notice a change."""
    compiled, module, x = frozen
    plain = dvm.torch.compile(module)
    with torch.no_grad():
        plain(x)
        module.second.mul_(3)
    check(plain, module, x)
    check(compiled, module, x)


def test_a_graph_that_serves_several_modules():
    layers = [Net() for _ in range(3)]
    compiled = [dvm.torch.compile(layer, frozen=True) for layer in layers]
    x = torch.rand(64, 96)
    for _ in range(3):
        for called, layer in zip(compiled, layers, strict=True):
            check(called, layer, x)
    with torch.no_grad():
        layers[1].second.mul_(2)
    for called, layer in zip(compiled, layers, strict=True):
        check(called, layer, x)


def test_modules_that_are_gone_hold_no_memory():
    x = torch.rand(64, 96)

    def run() -> int:
        module = Net()
        compiled = dvm.torch.compile(module, frozen=True)
        with torch.no_grad():
            return packed(compiled, x)

    first = run()
    assert max(run() for _ in range(4)) <= 2 * first


def test_two_threads_while_a_third_writes(frozen):
    compiled, module, x = frozen

    def run() -> None:
        with torch.no_grad():
            for _ in range(100):
                assert compiled(x).isfinite().all()

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = [pool.submit(run) for _ in range(2)]
        with torch.no_grad():
            while not all(future.done() for future in running):
                module.second.mul_(-1)
    for future in running:
        future.result()
    check(compiled, module, x)


@pytest.mark.parametrize("name", some(["bert", "dlrm", "gpt2", "llama", "mmoe"], 3))
def test_models(name):
    module = transformer(name, layers=1) if name in ("bert", "gpt2", "llama") else MODELS[name][0]()
    module.eval()
    compiled = dvm.torch.compile(module, frozen=True)
    with torch.no_grad():
        for shape in [(2, 9), (3, 33), (4, 12), (2, 9)]:
            args = MODELS[name][1](*shape)
            got, wanted = compiled(*args), module(*args)
            if not isinstance(wanted, torch.Tensor):
                got, wanted = got[0], wanted[0]
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)


def test_weights_of_inference_mode_are_read_as_they_are():
    with torch.inference_mode():
        module = Net().eval()
        compiled = dvm.torch.compile(module, frozen=True)
        x = torch.rand(64, 96)
        torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-4)
        module.second.mul_(2)
        torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-4)
