"""How far eager torch's own results move where its operations round otherwise.

An operation may give what it would for operands that are off by a unit in the last place, or what
is off by one itself (it is stable, mixed forward and backward), or its exact result rounded once:
of no order of a sum, and of no fusion, more can be asked. So a program is run again with operands
and results nudged at random, and with operations that are computed in doubles. What it gives then
is as right as what it gave at first: where a sum cancels, a variance is taken of large numbers, or
squares leave the range of floats, that is much else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from torch_native.observing import TOLERANCE, Seen

RUNS = 12
#: of how far the runs are from each other, how far off a result may be
FACTOR = 4


class Rounded(TorchDispatchMode):
    """Operations on floats round otherwise: all that do not merely move elements.

    number: 0 computes in doubles, any other one nudges operands, each in its own way.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exact = number == 0
        self.chances = torch.Generator().manual_seed(number)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        written = [each for each in func._schema.arguments if each.alias_info is not None]
        is_in_place = [each.name for each in written if each.alias_info.is_write] == ["self"]
        if written and not is_in_place:  # a view, or a result that is given
            return func(*args, **kwargs)
        operands = (tree_map_only(torch.Tensor, torch.clone, args) if is_in_place else args, kwargs)
        wide = tree_map_only(torch.Tensor, widened, operands)
        before = self.chances.get_state(), torch.get_rng_state()
        made = func(*(args if not is_in_place else operands[0]), **operands[1])
        after = torch.get_rng_state()
        try:
            torch.set_rng_state(before[1])
            exact = func(*wide[0], **wide[1])
        except (RuntimeError, NotImplementedError, TypeError, ValueError):
            exact = made  # one of no doubles
        torch.set_rng_state(after)
        if any(map(rounds, leaves(made), leaves(exact))):
            if self.exact:
                made = torch.utils._pytree.tree_map(narrowed, exact, made)
            else:
                torch.set_rng_state(before[1])
                operands = (args, kwargs)
                nudged = tree_map_only(torch.Tensor, self.nudged, operands)
                made = func(*nudged[0], **nudged[1])
                made = tree_map_only(torch.Tensor, self.nudged, made)
                torch.set_rng_state(after)
        if is_in_place:
            args[0].copy_(made)
            return args[0]
        return made

    def nudged(self, tensor: torch.Tensor) -> torch.Tensor:
        """Elements are off by a unit in the last place, up or down, or not at all."""
        if tensor.dtype not in TOLERANCE:
            return tensor.clone()
        way = torch.randint(-1, 2, tensor.shape, generator=self.chances).to(tensor.dtype)
        return tensor * (1 + way * torch.finfo(tensor.dtype).eps)


def leaves(made: Any) -> list[Any]:
    return torch.utils._pytree.tree_leaves(made)


def widened(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.dtype in TOLERANCE else tensor.clone()


def narrowed(exact: Any, like: Any) -> Any:
    return exact.to(like.dtype) if isinstance(exact, torch.Tensor) else exact


def rounds(made: Any, exact: Any) -> bool:
    """Whether the result is not what it is in doubles; of doubles nobody knows."""
    if not isinstance(made, torch.Tensor) or made.dtype not in TOLERANCE:
        return False
    return made.dtype == torch.float64 or not torch.equal(
        made.double().nan_to_num(7.5), exact.double().nan_to_num(7.5)
    )


def is_within(found: Seen, wanted: Seen, again: Callable[[int], Seen]) -> bool:
    """Whether a call did what it may do in eager torch; again: what the call does so rounded."""
    runs = [again(number) for number in range(RUNS)]
    if any(not found.difference(run) for run in runs):
        return True
    same = [run for run in runs if not found.difference(run, values=False)]
    if found.difference(wanted, values=False) or len(same) < len(runs):
        return False
    columns = zip(*(run.values for run in [wanted, *runs]), strict=True)
    return all(is_among(mine, column) for mine, column in zip(found.values, columns, strict=True))


def is_among(mine: torch.Tensor, runs: Sequence[torch.Tensor]) -> bool:
    """Whether each element is not much farther from the first run than the others are.

    One that is finite in some only is out of the range of its dtype on the way.
    """
    if mine.dtype not in TOLERANCE:
        return any(torch.equal(mine, each) for each in runs)
    rtol, atol = TOLERANCE[mine.dtype]
    made = torch.stack([each.double() for each in runs])
    first, own = made[0], mine.double()
    spread = (made - first).abs().amax(0)
    is_near = (own - first).abs() <= FACTOR * spread + atol + rtol * first.abs()
    finite = made.isfinite()
    leaves_range = finite.any(0) & ~finite.all(0)
    is_alike = torch.isclose(own, first, rtol, atol, equal_nan=True)
    return bool((is_near | leaves_range | is_alike).all())


__all__ = ["Rounded", "is_within"]
