"""Random numbers: what is drawn, and how far the generators have come behind each call."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from torch import nn

from torch_native.cases import ONE, Layer, Made, calls_of, case, each, grid, table

TABLE = """
return x + torch.rand(2, 1)
return x + torch.randn(x.shape)
return torch.rand_like(x) * x, torch.randn_like(x)
return torch.randint(0, 5, (3,)), x
return torch.randperm(x.shape[0]), x * 2
return torch.bernoulli(torch.full_like(x, 0.5))
return torch.multinomial(torch.ones(4), 2), x + 1
return torch.normal(0.0, 1.0, (2,)), x
return x.clone().normal_(), x.clone().uniform_()
return F.dropout(x, 0.5, True)
return F.dropout(x, 0.5, False), F.dropout(x, 0.0, True)
return F.dropout(x, 1.0, True)
return nn.Dropout(0.5)(x), nn.Dropout(0.5).eval()(x)
return F.alpha_dropout(x, 0.5, True), F.feature_dropout(x, 0.2, True)
torch.manual_seed(3); return torch.rand(2) + x[0, 0]
a = torch.rand(2); y = x * 2; b = torch.rand(2); return a, b, y
return torch.initial_seed(), x + 1
s = torch.get_rng_state(); a = torch.rand(2); torch.set_rng_state(s); return a, torch.rand(2), x
with torch.random.fork_rng(): a = torch.rand(2) :: return a, torch.rand(2) + x[0, 0]
if x.sum() > 1: return x + torch.rand(1) :: return x * 2
for k in range(x.shape[0]): x[k] += torch.rand(3) :: return x
g = torch.Generator().manual_seed(4); return torch.rand(2, generator=g) + x[0, 0]
return torch.empty(3).exponential_(), x
return torch.distributions.Normal(0.0, 1.0).sample((2,)), x
return F.gumbel_softmax(x, hard=True)
return F.rrelu(x, training=True), F.rrelu(x, training=False)
return torch.nn.init.normal_(torch.empty(2, 3)) + x[0]
"""
table("random numbers", "x", ONE, TABLE)


@case
def a_generator_of_ones_own() -> Made:
    generator = torch.Generator()

    def program(x: Any) -> Any:
        return x + torch.rand(2, 1, generator=generator)

    def seeded() -> Any:
        generator.manual_seed(7)
        return (grid(),)

    return program, calls_of(seeded, lambda: (grid(),)), lambda: generator.get_state()


@case
def a_generator_as_an_argument() -> Made:
    return (lambda x, g: (x * torch.rand(2, 1, generator=g), g.initial_seed())), [
        lambda k=k: (grid(), torch.Generator().manual_seed(k)) for k in (1, 1, 2)
    ]


@case
def of_python_and_numpy() -> Made:
    def program(x: Any) -> Any:
        return x * random.random() + float(np.random.rand())

    def seeded() -> Any:
        random.seed(1)
        np.random.seed(1)
        return (grid(),)

    return program, [seeded] * 3, lambda: (random.getstate(), np.random.get_state()[1].tolist())


@case
def dropout_of_a_module() -> Made:
    module = Layer()

    def mode(training: bool) -> Any:
        module.train(training)
        return (grid(),)

    return (lambda x: module(x)), calls_of(
        lambda: mode(False), lambda: mode(True), lambda: mode(False)
    )


@case
def a_sampled_latent() -> Made:
    torch.manual_seed(2)
    mean, spread = nn.Linear(3, 2), nn.Linear(3, 2)

    def program(x: Any) -> Any:
        m, s = mean(x), torch.exp(spread(x) / 2)
        return m + s * torch.randn_like(s), m, s

    return program, each(grid())
