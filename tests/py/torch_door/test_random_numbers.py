"""Random numbers come from torch's generator, as often as eager torch draws and in its order."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from torch_door import memory_formats
from whole import alternating

CALLED: list[int] = []


@torch.library.custom_op("dvm_test::drawn", mutates_args=())
def drawn(x: Tensor) -> Tensor:
    """Numbers that are others at each call, by an op that does not say so."""
    CALLED.append(x.numel())
    return torch.rand_like(x) + len(CALLED)


@drawn.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


drawn.register_autograd(lambda _, gradient: gradient, setup_context=lambda *_args, **_kwargs: None)

DRAWS: dict[str, Callable[[Tensor], Tensor]] = {
    "normal_": lambda x: torch.empty_like(x).normal_(),
    "uniform_": lambda x: torch.empty_like(x).uniform_(),
    "exponential_": lambda x: torch.empty_like(x).exponential_(),
    "geometric_": lambda x: torch.empty_like(x).geometric_(0.3),
    "log_normal_": lambda x: torch.empty_like(x).log_normal_(),
    "cauchy_": lambda x: torch.empty_like(x).cauchy_(),
    "random_": lambda x: torch.empty_like(x).random_(7),
    "bernoulli_": lambda x: torch.empty_like(x).bernoulli_(x.detach().sigmoid()),
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "poisson": lambda x: torch.poisson(x.exp()),
    "multinomial": lambda x: torch.multinomial(x.exp().flatten(1), 3).float(),
    "normal": lambda x: torch.normal(x.detach(), 2.0),
    "gamma": lambda x: torch.distributions.Gamma(x.exp(), 1.0, validate_args=False).rsample(),
    "dirichlet": lambda x: torch._sample_dirichlet(x.detach().exp()),
    "rand_like": torch.rand_like,
    "randn_like": torch.randn_like,
    "randint_like": lambda x: torch.randint_like(x, 9),
    "randperm": lambda x: torch.randperm(x.shape[0]).float(),
    "dropout": lambda x: F.dropout(x, 0.5, True),
    "channels": lambda x: F.dropout2d(x, 0.5, True),
    "alpha dropout": lambda x: F.alpha_dropout(x, 0.5, True),
    "gumbel": lambda x: F.gumbel_softmax(x, hard=True),
    "fractional pool": lambda x: F.fractional_max_pool2d(x, 2, 3),
    "an op of the user's": drawn,
}


@pytest.fixture(autouse=True)
def _from_nothing() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize(("name", "has_gradients"), alternating(DRAWS, (False, True)))
def test_what_is_drawn_twice_is_drawn_twice(name: str, has_gradients: bool) -> None:
    draw = DRAWS[name]

    def f(x: Tensor) -> Tensor:
        first, second = draw(x), draw(x)
        return (first - second) * x.sum() + draw(x * 1)

    x = memory_formats.FORMATS["sliced channels"](torch.randn(memory_formats.SHAPE))
    seen = []
    for called in (f, torch.compile(f, backend="dvm")):
        CALLED.clear()
        torch.manual_seed(3)
        given = x.detach().requires_grad_(has_gradients)
        made = called(given)
        gradients = torch.autograd.grad(made.sum(), given) if has_gradients else ()
        seen.append((made.detach(), gradients, torch.get_rng_state(), list(CALLED)))
    got, wanted = seen[1], seen[0]
    torch.testing.assert_close(got[:2], wanted[:2], rtol=1e-5, atol=1e-4)
    assert torch.equal(got[2], wanted[2])
    assert got[3] == wanted[3]
