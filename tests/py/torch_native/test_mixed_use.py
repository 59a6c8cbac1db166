"""One compiled module, trained, evaluated, frozen, cast and loaded in drawn orders, beside eager.

A few orders here; more of them with DVM_TEST_WHOLE=1.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dvm
from whole import how_many

#: seeds; of these few torch.compile traces least
ORDERS = range(how_many(0, 20)) or (3, 5, 9)
ACTIONS = 14

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(600)]


class Tuned(nn.Module):
    """A backbone, which runs without gradients if it is frozen, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.GELU())
        self.head = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.25), nn.ReLU(), nn.Linear(6, 2))
        self.is_frozen = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.is_frozen:
            with torch.no_grad():
                x = self.backbone(x)
        else:
            x = self.backbone(x)
        return self.head(x)


class Pair:
    """An eager module and a compiled one, to which the same is done.

    chances: draws what is done, and all its numbers.
    """

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        self.chances = random.Random(seed)
        self.eager = Tuned()
        self.compiled = dvm.compile(copy.deepcopy(self.eager))
        self.dtype = torch.float32
        self.renew_optimisers()

    def both(self, change: Callable[[Any], Any]) -> None:
        for each in (self.eager, self.compiled):
            change(each)

    def renew_optimisers(self) -> None:
        kind = self.chances.choice([torch.optim.SGD, torch.optim.AdamW])
        self.optimisers = [kind(each.parameters(), lr=0.01) for each in (self.eager, self.compiled)]

    def batch(self) -> torch.Tensor:
        return torch.randn(self.chances.choice([2, 3, 5, 8]), 4, dtype=self.dtype)

    def each(self, run: Callable[[Any], Any]) -> None:
        """Compare what both come to, from one state of torch's generator."""
        seed, made = self.chances.randrange(1000), []
        for module in (self.eager, self.compiled):
            torch.manual_seed(seed)
            made.append(run(module))
        wanted, found = made
        rough = self.dtype == torch.bfloat16
        close = {"rtol": 5e-2, "atol": 5e-2} if rough else {"rtol": 1e-4, "atol": 1e-5}
        torch.testing.assert_close(found, wanted, **close)
        assert (found.requires_grad, found.is_inference()) == (
            wanted.requires_grad,
            wanted.is_inference(),
        )

    def evaluate(self) -> None:
        x, mode = self.batch(), self.chances.choice([torch.no_grad, torch.inference_mode])
        was_training, trains = self.eager.training, self.chances.random() < 0.3
        self.both(lambda module: module.train(trains))
        with mode():
            self.each(lambda module: module(x))
        self.both(lambda module: module.train(was_training))

    def call(self) -> None:
        """Without backward; now and then with gradients for the input."""
        x = self.batch().requires_grad_(self.chances.random() < 0.5)
        self.each(lambda module: module(x))

    def step(self) -> None:
        data = [self.batch() for _ in range(self.chances.choice([1, 1, 3]))]
        for module, optimiser in zip((self.eager, self.compiled), self.optimisers, strict=True):
            optimiser.zero_grad(set_to_none=len(data) == 1)
            torch.manual_seed(len(data))
            for x in data:
                loss = module(x).square().mean()
                if loss.requires_grad:
                    loss.backward()
            optimiser.step()
        if self.dtype == torch.bfloat16 or isinstance(self.optimisers[0], torch.optim.AdamW):
            # Steps of what is rounding alone part them; the next action begins alike.
            self.load()

    def toggle(self) -> None:
        wants = self.chances.random() < 0.5
        part = self.chances.choice(["backbone", "head", "head.3"])
        self.both(lambda module: module.get_submodule(part).requires_grad_(wants))

    def freeze(self) -> None:
        frozen = self.chances.random() < 0.5
        self.both(lambda module: setattr(module, "is_frozen", frozen))

    def switch(self) -> None:
        trains = self.chances.random() < 0.5
        self.both(lambda module: module.train(trains))

    def cast(self) -> None:
        self.dtype = self.chances.choice([torch.float32, torch.float64, torch.bfloat16])
        self.both(lambda module: module.to(self.dtype))
        self.renew_optimisers()

    def load(self) -> None:
        self.compiled.load_state_dict(self.eager.state_dict())

    def replace(self) -> None:
        """Another head, with other parameters."""
        head = nn.Linear(6, 2, dtype=self.dtype)
        self.both(lambda module: module.head.__setitem__(3, copy.deepcopy(head)))
        self.renew_optimisers()


MOST = ("evaluate", "step", "call")
SOME = ("toggle", "freeze", "switch", "cast", "load", "replace", "renew_optimisers")


@pytest.mark.parametrize("seed", ORDERS)
def test_drawn_orders(seed: int) -> None:
    torch._dynamo.reset()
    with dvm.stance("default" if seed % 3 == 2 else "force_capture"):
        follow(Pair(seed))


def follow(pair: Pair) -> None:
    for _ in range(ACTIONS):
        name = pair.chances.choice(MOST if pair.chances.random() < 0.6 else SOME)
        getattr(pair, name)()
        for own, wanted in zip(pair.compiled.parameters(), pair.eager.parameters(), strict=True):
            assert (own.grad is None) == (wanted.grad is None), name
            assert own.requires_grad == wanted.requires_grad
            assert own.dtype == wanted.dtype
        for (each, own), wanted in zip(
            pair.compiled.state_dict().items(), pair.eager.state_dict().values(), strict=True
        ):
            rough = 5e-2 if pair.dtype == torch.bfloat16 else 2e-4
            torch.testing.assert_close(
                own, wanted, rtol=rough, atol=rough, msg=lambda m, n=name, e=each: f"{n}, {e}: {m}"
            )
