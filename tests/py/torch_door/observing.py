"""What can be seen of a call: results, how they lie in memory, what else changed, gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree


@dataclass
class Seen:
    """Of one call. shared: which of arguments and results are in one memory, by first of them."""

    error: str = ""
    message: str = ""
    structure: Any = None
    values: list[Any] = field(default_factory=list)
    layouts: list[Any] = field(default_factory=list)
    shared: list[int] = field(default_factory=list)
    arguments: list[torch.Tensor] = field(default_factory=list)
    random: int = 0
    gradients: list[torch.Tensor | None] = field(default_factory=list)

    def differences(self, other: Seen, rtol: float, atol: float) -> dict[str, str]:
        """What is another thing in `other`, by what it is of."""
        found: dict[str, str] = {}
        for name in ("error", "structure", "layouts", "shared", "random"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                found[name] = f"{mine} is not {theirs} {self.message}{other.message}"
        if found.keys() & {"error", "structure"}:
            return found
        for name in ("values", "arguments", "gradients"):
            try:
                torch.testing.assert_close(
                    getattr(self, name), getattr(other, name),
                    rtol=rtol, atol=atol, equal_nan=True, allow_subclasses=False,
                )  # fmt: skip
            except AssertionError as error:
                found[name] = str(error)
        return found


def observe(
    function: Callable[..., Any],
    arguments: Callable[[], list[torch.Tensor]],
    keywords: dict[str, Any],
    grads: bool,
    between: Callable[[list[torch.Tensor]], None] | None = None,
) -> Seen:
    """Call a function on what `arguments` makes, from one state of torch's generator.

    grads: whether results are gone back from; arguments are no leaves then, so that a program may
        write to them.
    between: what happens to the arguments before that.
    """
    leaves = [leaf.requires_grad_(grads) for leaf in arguments()]
    given = [leaf * 1 if grads else leaf for leaf in leaves]
    if grads:
        # A product is as its operand lies in memory, but for what overlaps.
        given = [a if a.stride() == b.stride() else b for a, b in zip(given, leaves, strict=True)]
    torch.manual_seed(7)
    seen = Seen()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made, seen.structure = pytree.tree_flatten(function(*given, **keywords))
            seen.random = hash(torch.get_rng_state().numpy().tobytes())
            tensors = [r for r in made if isinstance(r, torch.Tensor)]
            seen.layouts = [(t.dtype, tuple(t.shape), strides(t), t.requires_grad) for t in tensors]
            seen.shared = shared([*given, *tensors])
            seen.values = [r.detach().clone() if isinstance(r, torch.Tensor) else r for r in made]
            seen.arguments = [a.detach().clone() for a in given]
            if between is not None:
                with torch.no_grad():
                    between(given)
            if grads:
                seen.gradients = gradients(tensors, leaves)
        except Exception as error:  # whatever the program raises
            seen.error, seen.message = type(error).__name__, str(error)
    return seen


def strides(tensor: torch.Tensor) -> tuple[int, ...]:
    """Of axes along which there is more than one element."""
    if tensor.numel() == 0:
        return ()
    return tuple(s for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n > 1)


def shared(tensors: list[torch.Tensor]) -> list[int]:
    """For each the first that is in its memory."""
    memory = [
        tensor.untyped_storage().data_ptr() if tensor.numel() else -1 - k
        for k, tensor in enumerate(tensors)
    ]
    return [memory.index(place) for place in memory]


def gradients(tensors: list[torch.Tensor], leaves: list[Any]) -> list[torch.Tensor | None]:
    losses = [
        (t * torch.arange(t.numel(), dtype=t.dtype).view(t.shape).cos()).sum().double()
        for t in tensors
        if t.requires_grad
    ]
    if not losses:
        return []
    return list(torch.autograd.grad(torch.stack(losses).sum(), leaves, allow_unused=True))
