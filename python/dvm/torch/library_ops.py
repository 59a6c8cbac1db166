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
) -> tuple[Callable[..., Any], list[Tensor], list[_dvm.Dim]]:
    """Return what runs a node, and what it is given: tensors, and behind them sizes.

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
    return function, text.tensors, text.sizes


def picked(function: Callable[..., Any], order: Sequence[int]) -> Callable[..., Any]:
    """Return the function with some of its results, in that order."""
    if len(order) == 1:
        (place,) = order
        return lambda *args: function(*args)[place]

    def pick(*args: Any) -> Any:
        results = function(*args)
        return tuple(results[k] for k in order)

    return pick


def with_numbers(
    function: Callable[..., Any], known: Sequence[int | None]
) -> Callable[..., torch.Tensor]:
    """Return a function of a tensor and of numbers with those that are known; others are given."""

    def call(tensor: torch.Tensor, *given: int) -> torch.Tensor:
        rest = iter(given)
        made: torch.Tensor = function(tensor, [next(rest) if n is None else n for n in known])
        return made

    return call


def permuted(tensor: torch.Tensor, axes: Sequence[int]) -> torch.Tensor:
    return tensor.permute(list(axes))


def expanded(tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    return tensor.expand(list(shape))


def with_gaps(tensor: torch.Tensor, lies: Sequence[int]) -> torch.Tensor:
    """Return a copy of a shape with strides, and an offset in its storage, in that order."""
    rank = tensor.dim()
    shape, strides, offset = lies[:rank], lies[rank:-1], lies[-1]
    last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    storage = torch.empty(offset + last + 1 if 0 not in shape else offset, dtype=tensor.dtype)
    return storage.as_strided(shape, strides, offset).copy_(tensor)


class _Text:
    """The arguments of a call as text, with what it is evaluated with."""

    def __init__(self, values: dict[Node, Any]) -> None:
        self._values = values
        self.tensors: list[Tensor] = []
        self.sizes: list[_dvm.Dim] = []
        self.constants: dict[str, Any] = {}

    def of(self, argument: Any) -> str:
        if isinstance(argument, list | tuple):
            return f"[{', '.join(map(self.of, argument))}]"
        value = self._values[argument] if isinstance(argument, Node) else argument
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, _dvm.Dim):
            self.sizes.append(value)
            return f"s{len(self.sizes) - 1}"
        if isinstance(value, Number):
            return f"{self._tensor(value.tensor)}.item()"
        if value is None and isinstance(argument, Node):
            raise Untranslatable(f"an argument that is a {type(argument.meta.get('val')).__name__}")
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(self.of, value))}]"
        self.constants[f"c{len(self.constants)}"] = value
        return f"c{len(self.constants) - 1}"

    def _tensor(self, tensor: Tensor) -> str:
        self.tensors.append(tensor)
        return f"t{len(self.tensors) - 1}"


def _target(node: Node) -> Any:
    if node.target is torch.ops.aten.mkldnn_rnn_layer.default:
        return _recurrent
    if node.target is torch.ops.aten._embedding_bag.default:
        taken = {user.args[1] for user in node.users}
        if taken <= {0}:
            return torch.ops.aten._embedding_bag_forward_only.default
        is_promised = 1 in taken and node.meta["val"][1].shape[0] != 0
        return _embedding_bag if is_promised else node.target
    if node.target is not torch.ops.aten.as_strided.default:
        return node.target
    # The one op that asks how a tensor lies in memory, which need not be as torch has it.
    source = node.args[0].meta["val"]
    if not source.is_contiguous() or source.storage_offset() != 0:
        raise Untranslatable("strides over a tensor that has strides of its own")
    return _as_strided


def _recurrent(*args: Any) -> tuple[Any, ...]:
    """Of tensors as it reads them, whatever their strides."""
    dense = (arg.contiguous() if isinstance(arg, torch.Tensor) else arg for arg in args)
    return tuple(torch.ops.aten.mkldnn_rnn_layer.default(*dense))


def _embedding_bag(weight: Any, places: Any, offsets: Any, *others: Any) -> tuple[Any, ...]:
    """Also the bag of each place, which torch promises, but leaves away where it needs none."""
    made = torch.ops.aten._embedding_bag.default(weight, places, offsets, *others)
    if made[1].numel() == places.numel():
        return tuple(made)
    every = torch.arange(places.numel(), dtype=offsets.dtype)
    bags = torch.searchsorted(offsets, every, right=True) - 1
    return made[0], bags.to(offsets.dtype), *made[2:]


def _as_strided(tensor: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    dense = tensor.contiguous()
    if dense.storage_offset() != 0:
        dense = dense.clone()
    return dense.as_strided(size, stride, storage_offset or 0)
