"""What eager torch promises of ops beside their values, of calls of each by themselves.

Errors have torch's types, numbers that no integer holds become what they become for torch, results
lie in memory as torch has them, and may grow.
"""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

import dvm.torch

INF, NAN = float("inf"), float("nan")


@pytest.fixture(autouse=True)
def _from_nothing() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """What a call gives, or the kind of its error."""
    try:
        return function(*args)
    except Exception as error:  # whatever torch has for such arguments
        return type(error)


# Places

PLACES = {
    "add": lambda x, places, source: x.index_add(0, places, source),
    "add twice": lambda x, places, source: x.index_add(0, places, source, alpha=2),
    "copy": lambda x, places, source: x.index_copy(0, places, source),
    "fill": lambda x, places, source: x.index_fill(0, places, source.sum()),
    "reduce": lambda x, places, source: x.index_reduce(0, places, source, "amax"),
    "select": lambda x, places, _: x.index_select(0, places),
    "take": lambda x, places, _: x.take(places),
    "put": lambda x, places, source: x.put(places, source[:, 0]),
    "index": lambda x, places, _: x[places],
    "index_put": lambda x, places, source: x.index_put((places,), source),
    "gather": lambda x, places, _: x.gather(0, places[:, None]),
    "scatter": lambda x, places, source: x.scatter(0, places[:, None], source),
    "scatter_add": lambda x, places, source: x.scatter_add(0, places[:, None], source),
    "take_along": lambda x, places, _: x.take_along_dim(places[:, None], 0),
    "embedding": lambda x, places, _: F.embedding(places, x),
    "cross_entropy": lambda _x, places, source: F.cross_entropy(source, places),
    "cross_entropy sum": lambda _x, places, y: F.cross_entropy(y, places, reduction="sum"),
    "cross_entropy each": lambda x, places, source: F.cross_entropy(source, places, x[0].exp()),
    "nll_loss 2d": lambda _x, places, source: F.nll_loss(source.log_softmax(1)[..., None, None],
                                                        places[:, None, None]),
    "multi_margin": lambda _x, places, source: F.multi_margin_loss(source, places),
    "one_hot": lambda _x, places, _: F.one_hot(places, 8),
}  # fmt: skip
INDICES = {
    "inside": [0, 3, 1],
    "negative": [0, -1, 1],
    "far below": [0, -100, 1],
    "ignored": [0, 1, -100],
    "beyond": [0, 5, 1],
    "far beyond": [2**40, 0, 1],
    "fewer": [0, 1],
    "more": [0, 1, 2, 3],
}
SOURCES = {"fits": (3, 5), "one": (1, 5), "narrow": (3, 1), "wide": (3, 6), "short": (2, 5)}


@pytest.mark.parametrize("op", PLACES)
def test_places_and_sources_that_do_not_fit(op):
    """As eager: what one of them takes the other takes, and errors are of one type."""
    compiled = torch.compile(PLACES[op], backend="dvm", dynamic=True)
    reference = torch.compile(PLACES[op], backend="aot_eager", dynamic=True)
    x = torch.randn(5, 5)
    with torch._dynamo.config.patch(recompile_limit=64):
        for indices, shape in itertools.product(INDICES.values(), SOURCES.values()):
            if shape != SOURCES["fits"] and indices is not INDICES["inside"]:
                continue
            args = (x, torch.tensor(indices), torch.randn(shape))
            wanted, got = outcome(PLACES[op], *args), outcome(compiled, *args)
            if isinstance(wanted, type) and isinstance(outcome(reference, *args), type):
                # Dynamo and its fakes have errors of their own, before a backend has a say.
                wanted = outcome(reference, *args)
            if isinstance(wanted, type):
                assert got is wanted, f"{indices} {shape}"
            else:
                torch.testing.assert_close(got, wanted, equal_nan=True, msg=f"{indices} {shape}")


# Numbers

NUMBERS = [NAN, INF, -INF, 3e9, -3e9, 2.0**31, 2.0**31 - 1, -(2.0**31), 1e20, -1e20, 2.0**63, 300.5,
           -300.5, 70000.0, -1.0, 255.9, 0.5, -0.5]  # fmt: skip
SIGNED = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)


@pytest.mark.parametrize("target", ["cpu", "ascend910b3"])
@pytest.mark.parametrize("source", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_floats_that_no_integer_holds(source, target):
    x = torch.tensor(NUMBERS * 5, dtype=torch.float64).to(source)

    def f(x):
        return [y.to(dtype) for y in (x, x + 0) for dtype in SIGNED]

    compiled = dvm.torch.compile(f, target=target)
    for got, wanted in zip(compiled(x), f(x), strict=True):
        assert torch.equal(got, wanted)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_an_index_that_was_nan_is_none(dtype):
    def f(x, at):
        return x[at.to(dtype)]

    compiled = torch.compile(f, backend="dvm", dynamic=True)
    x = torch.rand(5)
    assert torch.equal(compiled(x, torch.tensor([0.0, 4.2])), x[[0, 4]])
    with pytest.raises(IndexError):
        compiled(x, torch.tensor([0.0, NAN]))


def test_a_decomposition_that_torch_refuses():
    """The graph runs as torch does, and its report says so."""

    def f(x):
        return torch.nan_to_num(x * 2)

    x = torch.tensor([complex("nan"), complex("1+infj"), 2 + 3j])
    compiled = torch.compile(f, backend="dvm", dynamic=True)
    torch.testing.assert_close(compiled(x), f(x))
    (graph,) = dvm.torch.explain(compiled)(x).graphs
    assert graph.reason


# Memory


@pytest.mark.parametrize("grads", [False, True], ids=["inference", "gradients"])
def test_what_keeps_its_memory_format(grads):
    def f(x):
        places = torch.arange(x.numel() // 4).view(2, 8, 2, 3) % 24
        unpooled = F.max_unpool2d(x[..., :2, :3], places, 2)
        return x.roll(1, 1), x.roll((1, -1), (0, 3)), x.roll(1), unpooled

    compiled = torch.compile(f, backend="dvm", dynamic=True)
    x = torch.randn(2, 8, 4, 6)
    turned = x.permute(3, 1, 2, 0).contiguous().permute(3, 1, 2, 0)
    for given in (x, x.contiguous(memory_format=torch.channels_last), turned):
        given = given.detach().requires_grad_(grads)
        for got, wanted in zip(compiled(given), f(given), strict=True):
            assert got.stride() == wanted.stride()
            assert torch.equal(got, wanted)


def test_results_grow():
    compiled = torch.compile(lambda x: (x + 1, (x * 2).t()), backend="dvm", dynamic=True)
    for rows in (3, 400, 100_000):
        x = torch.rand(rows, 4)
        for got in compiled(x):
            torch.add(torch.ones(2, rows, 4), 1, out=got)
            assert torch.equal(got, torch.full((2, rows, 4), 2.0))
        got, wanted = compiled(x)[0], x + 1
        got.resize_(rows + 7, 4)
        assert torch.equal(got[:rows], wanted)
        got = compiled(x)[0]
        storage = got.untyped_storage()
        assert storage.resizable()
        storage.resize_(0)  # as those do who keep parameters apart
        storage.resize_(rows * 16)
        got.copy_(wanted)
        assert torch.equal(got, wanted)
