"""Models against eager torch, inference and gradients, over sizes that change.

A sample here, of transformers one layer; `make test-torch` takes all shapes, dtypes and modes.
"""

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch._dynamo.utils import counters

import dvm.torch
from torch_door.decisions import spread
from torch_door.models import MODELS, RECURRENT, TRANSFORMERS, Diffusion, tokens, transformer
from whole import WHOLE

SHAPES = [(2, 9), (3, 5), (4, 12)]
EDGES = [(1, 7), (2, 1), (1, 1)]
if WHOLE:
    SHAPES = [(batch, length) for batch in (2, 3, 5, 8) for length in (2, 5, 9, 12, 31)]
CASES = list(itertools.product((torch.float32, torch.bfloat16), ("eval", "train")))
SAMPLED = CASES[:1]
# Of every kind of transformer the gradients of one: Dynamo and AOTAutograd take seconds for each.
WITH_GRADIENTS = [
    name for name in MODELS if WHOLE or name not in TRANSFORMERS or name in ("bert", "gpt2")
]
cases = pytest.mark.parametrize(
    ("dtype", "mode"), CASES if WHOLE else SAMPLED, ids=lambda case: str(case).split(".")[-1]
)


@pytest.fixture(autouse=True)
def _from_nothing() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch._dynamo.config.patch(recompile_limit=32):
        yield


def model(name: str) -> torch.nn.Module:
    if name in TRANSFORMERS and not WHOLE:
        return transformer(name, layers=1)
    if name == "diffusion" and not WHOLE:
        return Diffusion(depth=1)
    return MODELS[name][0]()


def arguments(name: str, shape: tuple[int, int], dtype: torch.dtype) -> list[Any]:
    given = MODELS[name][1](*shape)
    return [x.to(dtype) if x.is_floating_point() else x for x in given]


def decided(mixtral: torch.nn.Module, shape: tuple[int, int]) -> list[Any]:
    """Rows of tokens of which each has its experts by more than halves' rounding.

    Where the second and the third are that near, torch's halves have another than f32, too, and
    such a token has other gradients altogether.
    """
    batch, length = shape
    rows: list[torch.Tensor] = []
    with torch.no_grad():
        while len(rows) < batch:
            (drawn,) = tokens(64, length)
            logits = mixtral(drawn, output_router_logits=True).router_logits
            best = torch.stack(logits).softmax(-1).topk(3).values  # of layers and tokens
            apart = (best[..., 1] - best[..., 2]).amin(0).view(64, length).amin(1)
            rows += drawn[apart > 2e-4]
    return [torch.stack(rows[:batch])]


def outputs(made: Any) -> torch.Tensor:
    return made if isinstance(made, torch.Tensor) else made[0]


def close(got: Any, wanted: Any, exact: Any, largest: float = 0, undecided: float = 0) -> None:
    """As near as torch's tolerance; halves as near to what f32 gives as torch's are.

    exact: what is computed in f32, None for that itself.
    largest: of all that is computed with it: a gradient that is 0, as of keys' biases, is noise.
    undecided: how far from `exact` a gradient is where ReLUs decide otherwise that are draws.
    """
    assert got.dtype == wanted.dtype
    if exact is None:
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)
        return
    error, eager = ((made.float() - exact).abs().max().item() for made in (got, wanted))
    rounding = 2**-7 * exact.abs().max().item() + 2**-8 * largest + 1e-6
    assert error <= 2 * eager + undecided + rounding


class Runs:
    """A module as torch runs it, compiled, and in f32 where it is of halves."""

    def __init__(self, name: str, dtype: torch.dtype, mode: str) -> None:
        module = model(name)
        self.wide = copy.deepcopy(module).train(mode == "train")
        self.module = module.to(dtype).train(mode == "train")
        if dtype != torch.float32:
            self.wide.load_state_dict({k: v.float() for k, v in module.state_dict().items()})
        self.before = {graph.number for graph in dvm.torch.report().graphs}
        self.compiled = torch.compile(self.module, backend="dvm", dynamic=True)
        self.is_half = dtype != torch.float32

    def each(self, args: list[Any], run: Any) -> list[Any]:
        """What `run` makes of the compiled module, of eager torch's and of the one in f32."""
        state = {name: value.clone() for name, value in self.module.state_dict().items()}
        made = []
        for called in (self.compiled, self.module):
            torch.manual_seed(1)
            self.module.load_state_dict(state)
            made.append([value.clone() for value in run(called, self.module, args)])
        exact = self.exact(args, run) if self.is_half else [None] * len(made[0])
        return list(zip(*made, exact, strict=True))

    def exact(self, args: list[Any], run: Any) -> list[torch.Tensor]:
        """What `run` makes in f32."""
        wide = [x.float() if x.is_floating_point() else x for x in args]
        return [value.clone() for value in run(self.wide, self.wide, wide)]

    def undecided(self, args: list[Any], run: Any, exact: list[torch.Tensor]) -> list[float]:
        """How far from `exact` results are where ReLUs decide otherwise that are draws."""
        if not self.is_half:
            return [0.0] * len(exact)
        halves = copy.deepcopy(self.module)
        return spread(lambda: self.exact(args, run), lambda: halves(*args), exact)

    def arguments(self, name: str, shape: tuple[int, int], dtype: torch.dtype) -> list[Any]:
        if name == "mixtral" and self.is_half:
            return decided(self.wide, shape)
        return arguments(name, shape, dtype)

    def report(self) -> dvm.torch.Report:
        graphs = dvm.torch.report().graphs
        return dvm.torch.Report([g for g in graphs if g.number not in self.before])


def draws(name: str, mode: str, dtype: torch.dtype) -> bool:
    """Whether halves are dropped by numbers that are others in f32."""
    return mode == "train" and dtype != torch.float32 and name in (*TRANSFORMERS, "gan")


def check_report(name: str, report: dvm.torch.Report, dropout: bool) -> None:
    if name in RECURRENT:
        assert not report.graphs
        return
    assert report.count("compiled") > 0
    assert report.count("fallback") == 0
    for graph in report.graphs:
        assert graph.reason == ""
        assert not graph.refusals
        assert not graph.given_up
    if name in TRANSFORMERS and name != "mixtral" and not dropout:
        library = {op for graph in report.graphs for op in graph.ops["library"]}
        assert library <= {"aten.embedding_dense_backward.default"}


# Written nearly as bert and gpt2 are.
TWINS = () if WHOLE else ("roberta", "opt")


@cases
@pytest.mark.parametrize("name", [name for name in MODELS if name not in TWINS])
def test_inference(name, dtype, mode):
    if draws(name, mode, dtype):
        pytest.skip("dropout differs in f32")
    runs = Runs(name, dtype, mode)
    with torch.no_grad():
        small = name in TRANSFORMERS and not WHOLE
        # Each edge is traced anew, which takes a U-Net's many layers ten seconds.
        edges = [] if small or (name == "diffusion" and not WHOLE) else EDGES
        for shape in [*SHAPES, *edges]:
            args = runs.arguments(name, shape, dtype)
            made = runs.each(args, lambda called, _module, a: [outputs(called(*a))])
            for got, wanted, exact in made:
                close(got, wanted, exact)
    report = runs.report()
    check_report(name, report, dropout=mode == "train")
    if small:
        assert len(report.graphs) == 1


@cases
@pytest.mark.parametrize("name", WITH_GRADIENTS)
def test_gradients(name, dtype, mode):
    if draws(name, mode, dtype):
        pytest.skip("dropout differs in f32")
    runs = Runs(name, dtype, mode)

    def gradients(called: Any, module: torch.nn.Module, args: list[Any]) -> list[torch.Tensor]:
        module.zero_grad()
        outputs(called(*args)).float().square().mean().backward()
        return [p.new_zeros(p.shape) if p.grad is None else p.grad for p in module.parameters()]

    for shape in SHAPES:
        args = runs.arguments(name, shape, dtype)
        made = runs.each(args, gradients)
        largest = max(exact.abs().max().item() for *_, exact in made) if runs.is_half else 0
        undecided = runs.undecided(args, gradients, [exact for *_, exact in made])
        for (got, wanted, exact), drawn in zip(made, undecided, strict=True):
            close(got, wanted, exact, largest, drawn)
    check_report(name, runs.report(), dropout=mode == "train")


@pytest.mark.parametrize("name", MODELS if WHOLE else ["gru", "mmoe", "cnn"])
def test_graphs_break_where_dynamo_breaks_them(name):
    module, args = model(name).eval(), arguments(name, SHAPES[0], torch.float32)
    seen = []
    for backend in ("eager", "dvm"):
        torch._dynamo.reset()
        counters.clear()
        with torch.no_grad():
            torch.compile(module, backend=backend, dynamic=True)(*args)
        seen.append((dict(counters["graph_break"]), counters["stats"]["unique_graphs"]))
    assert seen[0] == seen[1]


STEPS = 50 if WHOLE else 10
TRAINED = ("bert", "gpt2", "cnn", "mmoe", "autoencoder") if WHOLE else ("cnn", "mmoe")


OPTIMISERS = (torch.optim.SGD, torch.optim.AdamW)


@pytest.mark.parametrize(
    ("name", "optimiser"),
    list(
        itertools.product(TRAINED, OPTIMISERS) if WHOLE else zip(TRAINED, OPTIMISERS, strict=True)
    ),
)
def test_training_follows_eager(name, optimiser):
    batches = [arguments(name, (3 + k % 3, 6), torch.float32) for k in range(STEPS)]

    def train(compiles: bool, dtype: torch.dtype = torch.float32) -> list[float]:
        torch.manual_seed(1)
        module = model(name).train().to(dtype)
        called = torch.compile(module, backend="dvm", dynamic=True) if compiles else module
        steps = optimiser(module.parameters(), lr=0.01)
        losses = []
        for args in batches:
            steps.zero_grad()
            given = (arg.to(dtype) if arg.is_floating_point() else arg for arg in args)
            loss = outputs(called(*given)).square().mean()
            loss.backward()
            steps.step()
            losses.append(loss.item())
        return losses

    ours, eager = train(True), train(False)
    # AdamW makes whole steps of gradients that are 0 but for rounding (of keys' biases):
    # what that moves eager away from f64 may move ours as far, besides what else rounding does.
    exact = train(False, torch.float64)
    for k, (mine, theirs, best) in enumerate(zip(ours, eager, exact, strict=True)):
        # Last bits grow from step to step, in whatever order sums are made.
        relative, absolute = (1e-3, 1e-5) if k < 5 else (2e-2, 1e-4)
        assert abs(mine - theirs) <= absolute + relative * theirs + 2 * abs(theirs - best), k


@pytest.mark.parametrize("name", ["bert", "gpt2"] if WHOLE else ["distilbert"])
def test_lengths_cost_two_graphs(name):
    module = model(name).eval()
    before = {graph.number for graph in dvm.torch.report().graphs}
    compiled = torch.compile(module, backend="dvm", dynamic=True)
    with torch.no_grad():
        for length in (9, *range(1, 65, 3), 64):
            args = tokens(1, length)
            close(outputs(compiled(*args)), outputs(module(*args)), None)
    # One for length 1, which torch never takes for any length.
    after = {graph.number for graph in dvm.torch.report().graphs}
    assert len(after - before) <= 2


def test_a_recurrent_layer_in_a_graph():
    module = model("lstm").eval()
    compiled = torch.compile(module, backend="dvm", dynamic=True)
    with torch.no_grad(), torch._dynamo.config.patch(allow_rnn=True):
        for shape in [*SHAPES, (2, 21)]:
            args = tokens(*shape)
            close(compiled(*args), module(*args), None)
        report = dvm.torch.explain(compiled)(*args)
    assert [dict(graph.ops["library"]) for graph in report.graphs] == [
        {"aten.mkldnn_rnn_layer.default": 1}
    ]
    assert report.count("fallback") == 0
