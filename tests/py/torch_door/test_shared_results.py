"""Results that are views of one tensor share memory, as eager's do: a write into one is in all."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from whole import WHOLE, alternating, some

torch = pytest.importorskip("torch")

SIZES = (2, 3, 4)
Tensor = Any
View = Callable[[Tensor], Tensor]


def views_of(x: Tensor, rng: random.Random) -> View:
    """A view that tensors of this shape and these strides have."""
    rank = x.dim()
    axis = rng.randrange(rank) if rank else 0
    index = rng.randrange(x.shape[axis]) if rank and x.shape[axis] else 0
    order = rng.sample(range(rank), rank)
    found: list[View] = [lambda t: t[None], lambda t: t.expand(2, *t.shape)]
    if rank:
        found += [
            lambda t: t.permute(order),
            lambda t: t.narrow(axis, index, t.shape[axis] - index),
            lambda t: t.transpose(axis, -1)[..., ::2],
            lambda t: t.split(2, axis)[-1],
            lambda t: t.unfold(axis, min(2, t.shape[axis]), 1),
        ]
    if rank and x.shape[axis]:
        found += [lambda t: t.select(axis, index), lambda t: t.unbind(axis)[index]]
    if rank > 1:
        found.append(lambda t: t.diagonal(0, axis, (axis + 1) % rank))
        try:
            x.view(-1)
        except RuntimeError:
            pass
        else:
            found.append(lambda t: t.view(-1))
    return rng.choice(found)


def some_view(x: Tensor, rng: random.Random) -> View:
    views: list[View] = []
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        views.append(views_of(x, rng))
        x = views[-1](x)

    def viewed(t: Tensor) -> Tensor:
        for view in views:
            t = view(t)
        return t

    return viewed


def overlaps(x: Tensor) -> bool:
    """Whether elements share a place, so that torch writes none."""
    places = torch.arange(x.untyped_storage().nbytes() // x.element_size())
    seen = places.as_strided(x.shape, x.stride(), x.storage_offset()).reshape(-1)
    return bool(len(seen.unique()) != len(seen))


def can_be_written(view: View, x: Tensor) -> bool:
    """Whether torch.compile writes into such a view of it."""

    def written(t: Tensor) -> Tensor:
        y = t * 2
        view(y).tanh_()
        return y

    try:
        return bool(torch.equal(torch.func.functionalize(written)(x), written(x)))
    except RuntimeError:
        return False


@pytest.fixture(autouse=True)
def nothing_compiled() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def moving(x: Tensor) -> list[int]:
    sizes = zip(x.shape, x.stride(), strict=True)
    return [stride for size, stride in sizes if size > 1] if x.numel() else []


def argument(rng: random.Random) -> Tensor:
    """Its axes are in any order in memory, and some lie with gaps between their elements."""
    room = torch.arange(24.0 * 4).reshape(4, *SIZES) / 24
    x = room[2] if rng.random() < 0.5 else room.reshape(4, 3, 8)[:2, :, ::2].permute(0, 2, 1)
    return x.permute(rng.sample(range(3), 3))


def check_results(run: Callable[[Tensor], tuple[Tensor, ...]], got: Any, x: Tensor) -> None:
    """Compare all of memory, before and after each result is written into."""
    expected = run(x)
    torch.testing.assert_close(got, expected)
    assert [moving(t) for t in got] == [moving(t) for t in expected]
    for k, (e, g) in enumerate(zip(expected, got, strict=True)):
        if e.numel() and not overlaps(e):
            e += k + 1
            g += k + 1
    torch.testing.assert_close(got, expected)


def same_in_memory(x: Tensor) -> Tensor:
    storage = x.untyped_storage().clone()
    return x.new_empty(0).set_(storage, x.storage_offset(), x.shape, x.stride())


@pytest.mark.parametrize(("seed", "dynamic"), some(product(range(40), (False, True)), 9))
def test_views_of_what_is_computed(seed, dynamic):
    rng = random.Random(seed)
    x = argument(rng)
    views = [some_view(x * 2, rng) for _ in range(rng.choice((1, 2, 2, 3)))]
    between = some_view(x * 2, rng)
    is_written = rng.random() < 0.4 and can_be_written(between, x)
    other = rng.random() < 0.5

    def run(x: Tensor) -> tuple[Tensor, ...]:
        y = x * 2
        if is_written:
            between(y).tanh_()
        results = tuple(view(y) for view in views)
        # Numbers have views, too; copies are none.
        return (*results, y.sum().expand(3), y.contiguous(), y.clone()) if other else results

    with torch.no_grad():
        compiled = torch.compile(run, backend="dvm", dynamic=dynamic)
        for _ in range(2):
            check_results(run, compiled(x), x)


@pytest.mark.parametrize(
    ("seed", "dynamic", "grad"), some(product(range(40), (False, True), (False, True)), 13)
)
def test_views_of_an_argument(seed, dynamic, grad):
    """AOTAutograd makes them again, of the strides and the offset that a backend gives them."""
    rng = random.Random(seed)
    x = argument(rng)
    views = [some_view(x, rng) for _ in range(rng.choice((1, 1, 2)))]
    counts = rng.random() < 0.5
    other = rng.random() < 0.5

    def run(x: Tensor, counter: Tensor) -> tuple[Tensor, ...]:
        if counts:
            counter.add_(1)
        results = tuple(view(x) for view in views)
        return (*results, x.sum(0)) if other else results

    compiled = torch.compile(run, backend="dvm", dynamic=dynamic)
    for _ in range(2):
        counters = torch.zeros(2), torch.zeros(2)
        ours, theirs = same_in_memory(x), same_in_memory(x)
        ours.requires_grad_(grad)
        with torch.set_grad_enabled(grad):
            got = [t.detach() for t in compiled(ours, counters[0])]
        check_results(lambda t: run(t, counters[1]), got, theirs)  # noqa: B023
        torch.testing.assert_close(ours.detach(), theirs)
        torch.testing.assert_close(*counters)


DRAWS = {
    "dropout": lambda x: torch.nn.functional.dropout(x, 0.5, True),
    "rand_like": lambda x: torch.rand_like(x * 2),
    "normal_": lambda x: (x * 2).normal_(),
    "uniform_": lambda x: (x + 1).uniform_(),
    "rrelu": lambda x: torch.nn.functional.rrelu(x - 1, training=True),
    "turned and back": lambda x: torch.nn.functional.dropout((x.mT * 2).mT, 0.5),
    "randn_like": lambda x: torch.randn_like(x.transpose(0, -1) + 1),
    "randint_like": lambda x: torch.randint_like((x * 3).mT, 9),
    "exponential_": lambda x: torch.empty_like(x.mT * 2).exponential_(),
    "bernoulli": lambda x: torch.bernoulli((x * 2).sigmoid().mT),
    "bernoulli_": lambda x: (x * 2).transpose(0, -1).bernoulli_(0.3),
    "of a copy": lambda x: torch.rand_like(x.mT.contiguous()),
    "of a part": lambda x: torch.rand_like((x * 2)[..., 1:, :]),
    "of what was sorted": lambda x: torch.rand_like(x.sort(0)[0].mT),
    "of like ones": lambda x: torch.rand_like(torch.zeros_like(x.mT)),
}


#: draws that torch's tracing makes other ops of, so that no backend of torch.compile has eager's
TRACED_OTHERWISE = ("rrelu", "bernoulli_")


@pytest.mark.parametrize(("name", "dynamic"), alternating(DRAWS, (False, True)))
def test_random_numbers_come_in_the_order_of_memory(name, dynamic):
    draw = DRAWS[name]
    traced = torch.compile(draw, backend="aot_eager", dynamic=dynamic)
    reference = traced if name in TRACED_OTHERWISE else draw
    for seed in range(8 if WHOLE else 2):
        x = argument(random.Random(seed))
        x = x.expand(2, *x.shape) if seed % 4 == 0 else x
        torch.manual_seed(seed)
        expected = reference(x)
        state = torch.get_rng_state()
        torch.manual_seed(seed)
        got = torch.compile(draw, backend="dvm", dynamic=dynamic)(x)
        torch.testing.assert_close(got, expected)
        assert moving(got) == moving(expected)
        assert torch.equal(torch.get_rng_state(), state)
        torch._dynamo.reset()


RESHAPED = {
    "flat": lambda x: x.reshape(-1) * 2,
    "rows": lambda x: x.reshape(x.shape[0], -1).sum(1),
    "in order": lambda x: x.contiguous().view(-1),
    "behind a view": lambda x: x.transpose(0, 2).flatten(1).exp(),
    "of torch's op": lambda x: x.sort(0)[0].reshape(-1) + 1,
    "of drawn numbers": lambda x: torch.nn.functional.dropout(x, 0.5, True).flatten(1) * 2,
}


@pytest.mark.parametrize(("name", "dynamic"), alternating(RESHAPED, (True, False)))
def test_other_shapes_of_what_lies_in_any_order(name, dynamic):
    reshaped = RESHAPED[name]
    for seed in range(8 if WHOLE else 2):
        x = argument(random.Random(seed))
        x = x.expand(2, *x.shape)[0, None].expand(3, *x.shape)[:, 0] if seed % 4 == 0 else x
        # A call that torch has to run is an error.
        options = {"fallback": "error"}
        compiled = torch.compile(reshaped, backend="dvm", dynamic=dynamic, options=options)
        torch.manual_seed(seed)
        expected = reshaped(x)
        torch.manual_seed(seed)
        torch.testing.assert_close(compiled(x), expected)
        torch._dynamo.reset()
