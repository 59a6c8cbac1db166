"""Modules in memory of every format, followed by something: all that is seen of it is eager's.

Values, how results lie, gradients, the state of torch's generator afterwards, and what an op of
the user's is given, with and without gradients. A sample here; `DVM_TEST_WHOLE=1` takes every
module in every format.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from torch_door import memory_formats
from torch_door.memory_formats import PROBED, SHAPE, Case
from whole import WHOLE, alternating

CASES = list(memory_formats.every_case()) if WHOLE else memory_formats.some_cases(8, 3, seed=1)


@pytest.fixture(autouse=True)
def _from_nothing() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@dataclass
class Call:
    """What is seen of one call and its backward pass."""

    values: list[torch.Tensor]
    lie: list[Any]
    gradients: list[torch.Tensor]
    random: torch.Tensor
    probed: list[Any]


def lies(t: torch.Tensor) -> Any:
    """Strides and offset; of no elements torch's inference has others than its ops give."""
    return tuple(t.shape), *((t.stride(), t.storage_offset()) if t.numel() else ())


def weight(t: torch.Tensor) -> torch.Tensor:
    """What a result is multiplied by in a loss: each element counts otherwise."""
    places = torch.arange(t.numel(), dtype=t.dtype).view(t.shape)
    return places.mul(0.7).cos()


def call(function: Callable[..., Any], module: torch.nn.Module, given: list[torch.Tensor]) -> Call:
    """With gradients, if torch has them enabled."""
    PROBED.clear()
    torch.manual_seed(5)
    given = [x.detach().requires_grad_() for x in given]
    made = pytree.tree_leaves(function(*given))
    random = torch.get_rng_state()
    gradients = []
    if torch.is_grad_enabled():
        loss = sum((t * weight(t)).sum() for t in made)
        leaves = [*given, *module.parameters()]
        gradients = list(torch.autograd.grad(loss, leaves, allow_unused=True))
    values = [t.detach().clone() for t in made]
    return Call(values, [lies(t) for t in made], gradients, random, sorted(PROBED))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_everything_seen_is_as_eager_torch_has_it(case: Case) -> None:
    function = case.function()
    compiled = torch.compile(function, backend="dvm", dynamic=case.dynamic or None)
    state = {name: value.clone() for name, value in function.state_dict().items()}
    for has_gradients, batch in ((True, SHAPE[0]), (False, SHAPE[0]), (True, 3)):
        if batch != SHAPE[0] and not case.dynamic:
            continue
        given = case.arguments(batch)
        with torch.set_grad_enabled(has_gradients):
            wanted = call(function, function, given)
            function.load_state_dict(state)
            got = call(compiled, function, given)
            function.load_state_dict(state)
        torch.testing.assert_close(got.values, wanted.values, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(got.gradients, wanted.gradients, rtol=1e-3, atol=1e-4)
        assert got.lie == wanted.lie
        assert torch.equal(got.random, wanted.random)
        assert got.probed == wanted.probed


#: elementwise ops of which torch's own tracing has an order of axes that eager torch has not
OF_TWO: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "copysign": torch.copysign,
    "floor_divide": torch.floor_divide,
    "divided and rounded": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "xlogy": torch.xlogy,
    "xlog1py": torch.special.xlog1py,
    "heaviside": torch.heaviside,
    "logaddexp": torch.logaddexp,
    "add": torch.add,
}


FORMATS = [
    ("contiguous", "channels first of all"),
    ("channels last", "reversed axes"),
    ("one batch repeated", "channels first of all"),
    ("sliced columns", "batch innermost"),
]


@pytest.mark.parametrize(("formats", "dynamic"), alternating(FORMATS, (False, True)))
def test_results_of_two_formats_lie_as_eagers_do(formats: tuple[str, str], dynamic: bool) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        return [op(x, y) for op in OF_TWO.values()]

    compiled = torch.compile(f, backend="dvm", dynamic=dynamic)
    torch.manual_seed(0)
    given = [memory_formats.FORMATS[name](torch.rand(SHAPE) + 0.1) for name in formats]
    for x, y in (given, given[::-1], (given[0][:1], given[1])):
        wanted, got = f(x, y), compiled(x, y)
        torch.testing.assert_close(got, wanted)
        assert [lies(t) for t in got] == [lies(t) for t in wanted]
