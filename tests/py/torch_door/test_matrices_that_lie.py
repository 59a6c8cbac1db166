"""Determinants, factors and inverses of matrices in memory of any format, and their gradients."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

Tensor = torch.Tensor
N = 4


def spread(x: Tensor) -> Tensor:
    """Far from singular, and its singular values apart, in the order of axes that x has."""
    return x * 0.2 + torch.eye(N) + torch.arange(N) * torch.eye(N)


OPS: dict[str, Callable[[Tensor], Any]] = {
    "det": torch.det,
    "slogdet": lambda x: torch.linalg.slogdet(x)[1],
    "logdet": lambda x: torch.logdet(x @ x.mT),
    "svd": lambda x: torch.linalg.svd(x)[1],
    "svd and its vectors": lambda x: [part.abs() for part in torch.linalg.svd(x)],
    "inverse": torch.linalg.inv,
    "qr": lambda x: [part.abs() for part in torch.linalg.qr(x)],
    "cholesky": lambda x: torch.linalg.cholesky(x @ x.mT),
    "eigh": lambda x: torch.linalg.eigvalsh(x + x.mT),
    "solve": lambda x: torch.linalg.solve(x, x.mT + 1),
    "triangular": lambda x: torch.linalg.solve_triangular(x.triu(), x, upper=True),
}

#: what is made of 3 x 2 matrices, each lying otherwise
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "turned": lambda x: spread(x).mT * 2,
    "turned back": lambda x: (spread(x).mT * 2).mT,
    "channels last": lambda x: spread(x.contiguous(memory_format=torch.channels_last)),
    "batches innermost": lambda x: spread(x.permute(2, 3, 0, 1).contiguous().permute(2, 3, 0, 1)),
    "a slice of batches": lambda x: (spread(x) * 1.5)[1:, :1],
    "every second batch": lambda x: (spread(x) * 1.5)[::2],
    "one of a batch": lambda x: (spread(x) * 1.5)[:, 1],
    "one alone": lambda x: spread(x)[0, 1].t() * 2,
    "repeated": lambda x: spread(x)[:, :1].expand(-1, 2, -1, -1),
    "batches exchanged": lambda x: spread(x).transpose(0, 1) + 0.5,
}


@pytest.fixture(autouse=True)
def _from_nothing() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("op", OPS.values(), ids=OPS.keys())
def test_they_and_their_gradients_are_those_of_eager_torch(op: Callable[[Tensor], Any]) -> None:
    """All layouts in one graph, so that it is compiled once."""

    def run(x: Tensor) -> list[Any]:
        return [op(lay(x)) for lay in LAYOUTS.values()]

    def called(function: Callable[[Tensor], Any]) -> tuple[list[Tensor], Tensor]:
        torch.manual_seed(3)
        x = torch.randn(3, 2, N, N).requires_grad_()
        made = torch.utils._pytree.tree_leaves(function(x))
        (gradient,) = torch.autograd.grad(sum((t.sin()).sum() for t in made), x)
        return made, gradient

    (made, gradient), (expected, wanted) = called(torch.compile(run, backend="dvm")), called(run)
    torch.testing.assert_close(made, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(gradient, wanted, rtol=1e-3, atol=1e-4)
    assert [t.stride() for t in made] == [t.stride() for t in expected]
