"""Running totals, which torch adds up in a wider dtype than it gives: their errors do not grow."""

import pytest
import torch

import dvm.torch

COUNT = 10**6


@pytest.fixture(autouse=True)
def _from_nothing() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_a_million_of_them_have_eagers_bits(name, dtype):
    def f(x):
        return getattr(x, name)(0)

    compiled = torch.compile(f, backend="dvm", dynamic=True)
    for x in (torch.full((COUNT,), 0.1), torch.randn(COUNT), torch.rand(COUNT // 4, 4)):
        x = (x * 1e-3 + 1).to(dtype) if name == "cumprod" else x.to(dtype)
        assert torch.equal(compiled(x), f(x))


def nucleus(logits: torch.Tensor, p: float) -> torch.Tensor:
    """The most likely tokens that make up p of the probability; the others' logits are -inf."""
    ordered, places = logits.sort(descending=True)
    before = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1)
    return logits.masked_fill((before > p).scatter(-1, places, before > p), -torch.inf)


def test_which_tokens_are_sampled_from():
    """Of even probabilities each that is rounded counts: totals in float32 take other tokens.

    Eager's own softmax of so many is off by more, so this compares with float64.
    """
    compiled = torch.compile(nucleus, backend="dvm", dynamic=True)
    for tokens in (200_000, 150_000):
        logits = torch.randn(2, tokens) * 1e-3
        kept, wanted = compiled(logits, 0.9), nucleus(logits.double(), 0.9)
        assert (kept.isfinite() != wanted.isfinite()).sum() <= 2


def test_gradients():
    x = torch.randn(100_000, requires_grad=True)
    compiled = dvm.torch.compile(lambda x: x.cumsum(0))
    weights = torch.rand(100_000)
    (got,), (wanted,) = (
        torch.autograd.grad(f(x), x, weights) for f in (compiled, lambda x: x.cumsum(0))
    )
    torch.testing.assert_close(got, wanted, rtol=1e-6, atol=1e-6)
