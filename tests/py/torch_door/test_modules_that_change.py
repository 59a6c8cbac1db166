"""A module and its compiled twin through what people do to modules between calls."""

import concurrent.futures
import copy
import io
import pickle
import random
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
import torch
from torch import nn

import dvm.torch
from torch_door.observing import shared
from whole import WHOLE, some

ACTIONS = 24
DOORS = [dvm.compile, dvm.torch.compile]
THREADS = list(product(DOORS, (False, True)))
SEEDS = some(product(range(40), DOORS), 3)


class Changing(nn.Module):
    """Weights that are tied, buffers that calls update, dropout, a branch on sizes, a dict out."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(12, 6)
        self.inner = nn.Linear(6, 6)
        self.norm = nn.BatchNorm1d(6)
        self.drop = nn.Dropout(0.25)
        self.head = nn.Linear(6, 12, bias=False)
        self.head.weight = self.table.weight
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(6))

    def forward(self, tokens: torch.Tensor, *, scale: float = 1.0) -> dict[str, Any]:
        x = self.norm(self.drop(self.inner(self.table(tokens))))
        self.calls += 1
        if tokens.shape[0] > 0:
            with torch.no_grad():
                self.mean.lerp_(x.mean(0), 0.5)
        if tokens.shape[0] > 4:
            x = x.tanh()
        x = x * scale
        return {"logits": self.head(x), "rows": [x, x[:2]], "count": tokens.shape[0]}


class Pair:
    """Eager and compiled, of equal states; each action is done to both."""

    def __init__(self, compiles: Any, seed: int) -> None:
        torch.manual_seed(seed)
        self.random = random.Random(seed)
        self.eager = Changing()
        self.compiled: Any = compiles(copy.deepcopy(self.eager))
        self.optimisers: list[Any] = []
        self.optimise()

    @property
    def both(self) -> tuple[Any, Any]:
        return self.eager, self.compiled

    def optimise(self) -> None:
        # Not Adam, which makes whole steps of noise: gradients of a bias before a norm are 0.
        self.optimisers = [
            torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9) for module in self.both
        ]

    def call(self, train: bool = False) -> None:
        rows = self.random.choice([1, 2, 3, 5, 8, 0][train:5] if train else [0, 1, 2, 3, 5, 8])
        tokens = torch.randint(0, 12, (max(rows, 2) if train else rows,))
        scale = self.random.choice([1.0, 0.5, 2.0])
        made = []
        for module in self.both:
            module.train(train)
            torch.manual_seed(3)
            made.append(module(tokens, scale=scale))
        self.compare(*made)
        if train:
            for module, result in zip(self.both, made, strict=True):
                module.zero_grad()
                loss = result["logits"].square().mean() + result["rows"][1].sum()
                loss.backward()
            grads = [[p.grad for p in module.parameters()] for module in self.both]
            torch.testing.assert_close(*grads, rtol=1e-3, atol=1e-4)

    def compare(self, eager: Any, compiled: Any) -> None:
        torch.testing.assert_close(compiled, eager, rtol=1e-3, atol=1e-4)
        memory = [shared([made["logits"], *made["rows"]]) for made in (eager, compiled)]
        assert memory[0] == memory[1]
        states = [dict(module.state_dict()) for module in self.both]
        torch.testing.assert_close(*states, rtol=1e-3, atol=1e-4)

    def infer(self) -> None:
        with self.random.choice([torch.no_grad, torch.inference_mode])():
            self.call()

    def train(self) -> None:
        self.call(train=True)

    def step(self) -> None:
        self.train()
        for optimiser in self.optimisers:
            optimiser.step()

    def load(self) -> None:
        state = Changing().to(self.eager.inner.weight.dtype).state_dict()
        for module in self.both:
            module.load_state_dict(state)

    def assign(self) -> None:
        state = Changing().to(self.eager.inner.weight.dtype).state_dict()
        for module in self.both:
            module.load_state_dict(copy.deepcopy(state), assign=True)
        self.optimise()

    def rebind_data(self) -> None:
        new = torch.rand_like(self.eager.inner.weight)
        for module in self.both:
            module.inner.weight.data = new.clone()

    def write_data(self) -> None:
        for module in self.both:
            module.inner.bias.data.mul_(0.5)
            with torch.no_grad():
                module.table.weight[3] = 0.25

    def replace(self) -> None:
        new = torch.rand_like(self.eager.inner.weight)
        for module in self.both:
            module.inner.weight = nn.Parameter(new.clone())
        self.optimise()

    def untie(self) -> None:
        for module in self.both:
            module.head.weight = nn.Parameter(module.table.weight.detach() * 1.5)
        self.optimise()

    def freeze(self) -> None:
        is_frozen = self.eager.inner.bias.requires_grad
        for module in self.both:
            module.zero_grad()
            module.inner.bias.requires_grad_(not is_frozen)

    def widen(self) -> None:
        dtype = torch.float32 if self.eager.mean.dtype == torch.float64 else torch.float64
        for module in self.both:
            module.to(dtype)
        self.optimise()

    def copy(self) -> None:
        self.eager, self.compiled = copy.deepcopy(self.eager), copy.deepcopy(self.compiled)
        self.optimise()

    def pickle(self) -> None:
        self.eager = pickle.loads(pickle.dumps(self.eager))
        self.compiled = pickle.loads(pickle.dumps(self.compiled))
        self.optimise()

    def save(self) -> None:
        kept = io.BytesIO()
        torch.save(self.compiled.state_dict(), kept)
        kept.seek(0)
        self.load()
        for module in self.both:
            kept.seek(0)
            module.load_state_dict(torch.load(kept))


RARE: list[Callable[[Pair], None]] = [
    Pair.load, Pair.assign, Pair.rebind_data, Pair.write_data, Pair.replace, Pair.untie,
    Pair.freeze, Pair.widen, Pair.copy, Pair.pickle, Pair.save,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _from_nothing() -> Iterator[None]:
    torch._dynamo.reset()
    with torch._dynamo.config.patch(recompile_limit=64, accumulated_recompile_limit=1024):
        yield


@pytest.mark.parametrize(("seed", "compiles"), SEEDS)
def test_a_module_that_changes_between_calls(compiles, seed):
    pair = Pair(compiles, seed)
    done: list[str] = []
    for _ in range(ACTIONS):
        action = pair.random.choice([Pair.infer, Pair.train, Pair.step, pair.random.choice(RARE)])
        done.append(action.__name__)
        try:
            action(pair)
        except AssertionError as error:
            raise AssertionError(f"after {', '.join(done)}: {error}") from error


@pytest.mark.parametrize(("compiles", "grads"), THREADS if WHOLE else THREADS[::3])
def test_threads_call_modules_of_their_own(compiles, grads):
    """Four threads, two modules: each result as that of eager torch."""
    modules = [Changing().eval() for _ in range(2)]
    compiled = [compiles(copy.deepcopy(module)) for module in modules]
    inputs = [torch.randint(0, 12, (rows,)) for rows in (2, 3, 5, 7, 2, 6)]

    def results(module: Any) -> list[torch.Tensor]:
        made = []
        with torch.set_grad_enabled(grads):
            for tokens in inputs * 4:
                logits = module(tokens)["logits"]
                made.append(logits)
                if grads:
                    made += torch.autograd.grad(logits.square().sum(), [module.inner.weight])
        return made

    wanted = [results(module) for module in modules]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        running = [pool.submit(results, compiled[k % 2]) for k in range(4)]
        for k, future in enumerate(running):
            torch.testing.assert_close(future.result(), wanted[k % 2], rtol=1e-3, atol=1e-4)


def test_a_batch_that_changes_is_two_graphs_at_most():
    """One of any size, and one of size 1, which torch never takes for any size."""

    def f(x: torch.Tensor) -> torch.Tensor:
        return (x @ x.t()).softmax(-1).sum(0) * x.shape[0]

    before = {graph.number for graph in dvm.torch.report().graphs}
    for dynamic in (None, True):
        torch._dynamo.reset()
        compiled = torch.compile(f, backend="dvm", dynamic=dynamic)
        for rows in (4, 9, 2, 17, 33, 3):
            x = torch.rand(rows, 5)
            torch.testing.assert_close(compiled(x), f(x))
        made = {graph.number for graph in dvm.torch.report().graphs} - before
        assert len(made) <= 2
        before |= made
