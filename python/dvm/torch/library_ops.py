"""Ops that torch itself computes, as functions that a Graph calls in its place in the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import Node

from dvm import _dvm
from dvm.torch.builder import Number, Tensor
from dvm.torch.symbols import Untranslatable


def bind(
    node: Node, values: dict[Node, Any]
) -> tuple[Callable[..., Any], list[Tensor], list[_dvm.Dim], list[Node | torch.Tensor | None]]:
    """Return what runs a node, and what it is given: tensors, and behind them sizes.

    Last comes whose layout each tensor has to have; None for a number, which has none.

    All other arguments are part of the function, which is a lambda so that a call costs no walk
    over them.
    """
    text = _Text(values)
    args = [text.of(a) for a in node.args]
    args += [f"{name}={text.of(a)}" for name, a in node.kwargs.items()]
    parameters = ", ".join(
        [f"t{k}" for k in range(len(text.tensors))] + [f"s{k}" for k in range(len(text.sizes))]
    )
    call = f"op({', '.join(args)})"
    if not isinstance(node.meta.get("val"), torch.Tensor):
        call = f"tuple({call})"
    function = eval(f"lambda {parameters}: {call}", {"op": _target(node), **text.constants})
    return function, text.tensors, text.sizes, text.as_these


def picked(function: Callable[..., Any], order: Sequence[int]) -> Callable[..., Any]:
    """Return the function with some of its results, in that order."""
    if len(order) == 1:
        (place,) = order
        return lambda *args: function(*args)[place]

    def pick(*args: Any) -> Any:
        results = function(*args)
        return tuple(results[k] for k in order)

    return pick


def as_it_is(tensor: torch.Tensor) -> torch.Tensor:
    """What the Graph calls for a tensor of torch's, in the layout that it is given in."""
    return tensor


def expanded(known: Sequence[int | None]) -> Callable[..., torch.Tensor]:
    """Return a function of a tensor, and of the sizes to expand it to that are not known."""

    def expand(tensor: torch.Tensor, *given: int) -> torch.Tensor:
        rest = iter(given)
        return tensor.expand([next(rest) if size is None else size for size in known])

    return expand


class _Text:
    """The arguments of a call as text, with what it is evaluated with."""

    def __init__(self, values: dict[Node, Any]) -> None:
        self._values = values
        self.tensors: list[Tensor] = []
        self.as_these: list[Node | torch.Tensor | None] = []
        self.sizes: list[_dvm.Dim] = []
        self.constants: dict[str, Any] = {}

    def of(self, argument: Any) -> str:
        if isinstance(argument, list | tuple):
            return f"[{', '.join(map(self.of, argument))}]"
        value = self._values[argument] if isinstance(argument, Node) else argument
        if isinstance(value, Tensor):
            return self._tensor(value, argument)
        if isinstance(value, _dvm.Dim):
            self.sizes.append(value)
            return f"s{len(self.sizes) - 1}"
        if isinstance(value, Number):
            return f"{self._tensor(value.tensor, None)}.item()"
        if value is None and isinstance(argument, Node):
            raise Untranslatable(f"an argument that is a {type(argument.meta.get('val')).__name__}")
        if isinstance(value, list | tuple):
            each = zip(value, argument.meta["val"], strict=True)
            return f"[{', '.join(self._tensor(*pair) for pair in each)}]"
        self.constants[f"c{len(self.constants)}"] = value
        return f"c{len(self.constants) - 1}"

    def _tensor(self, tensor: Tensor, like: Node | torch.Tensor | None) -> str:
        self.tensors.append(tensor)
        self.as_these.append(like)
        return f"t{len(self.tensors) - 1}"


def _target(node: Node) -> Any:
    if node.target is torch.ops.aten._embedding_bag.default:
        taken = {user.args[1] for user in node.users}
        if taken <= {0}:
            return torch.ops.aten._embedding_bag_forward_only.default
        is_promised = 1 in taken and node.meta["val"][1].shape[0] != 0
        return _embedding_bag if is_promised else node.target
    if node.target is not torch.ops.aten.as_strided.default:
        return node.target
    # The one op that asks what lies between and around a tensor's elements.
    source = node.args[0].meta["val"]
    if not source.is_contiguous() or source.storage_offset() != 0:
        raise Untranslatable("strides over a tensor that has strides of its own")
    return node.target


def _embedding_bag(weight: Any, places: Any, offsets: Any, *others: Any) -> tuple[Any, ...]:
    """Also the bag of each place, which torch promises, but leaves away where it needs none."""
    made = torch.ops.aten._embedding_bag.default(weight, places, offsets, *others)
    if made[1].numel() == places.numel():
        return tuple(made)
    every = torch.arange(places.numel(), dtype=offsets.dtype)
    bags = torch.searchsorted(offsets, every, right=True) - 1
    return made[0], bags.to(offsets.dtype), *made[2:]
