"""What ReLUs decide: a gradient jumps where the argument of one crosses 0.

Halves move every argument by their rounding. One that f32 has nearer to 0 than that is a draw: the
unit's gradient is all there or not at all, however exactly the rest is computed, and a computation
that is nearer to f32 in every argument may still be the one that loses it.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

DRAWS = 8
WITHIN = 4  # standard deviations of what halves move the arguments of a ReLU by


class Arguments(TorchDispatchMode):
    """Keeps the arguments of ReLUs, in the order in which they are called."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[torch.Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten.relu.default:
            self.seen.append(args[0].detach().float())
        return func(*args, **(kwargs or {}))


class Drawn(TorchDispatchMode):
    """Lets chance decide the ReLUs whose arguments are within their `widths` of 0."""

    def __init__(self, widths: list[float]) -> None:
        super().__init__()
        self._widths = iter(widths)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func is not torch.ops.aten.relu.default:
            return made
        is_open = args[0].abs() < next(self._widths)
        drawn = torch.where(torch.rand_like(made) < 0.5, torch.finfo(made.dtype).tiny, 0)
        return torch.where(is_open, drawn, made)


def spread(
    run: Callable[[], list[torch.Tensor]], halves: Callable[[], Any], exact: list[torch.Tensor]
) -> list[float]:
    """How far from `exact` the gradients are that `run` makes where draws end otherwise.

    run: makes the gradients in f32, as it made `exact`.
    halves: calls the same with halves; how far their arguments are from f32's is their rounding.
    """
    with Arguments() as wide:
        run()
    with Arguments() as rounded:
        halves()
    widths = [
        WITHIN * (a - b).square().mean().sqrt().item()
        for a, b in zip(rounded.seen, wide.seen, strict=True)
    ]
    farthest = [0.0] * len(exact)
    for draw in range(DRAWS if widths else 0):
        with torch.random.fork_rng():
            torch.manual_seed(draw)
            with Drawn(widths):
                made = run()
        apart = ((a - b).abs().max().item() for a, b in zip(made, exact, strict=True))
        farthest = list(map(max, farthest, apart))
    return farthest
