"""What torch makes of its ops before dvm sees them, and how their results lie."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._decomp import core_aten_decompositions
from torch._prims_common import suggest_memory_format
from torch.fx.experimental.proxy_tensor import decompose as decomposing_by
from torch.utils import _pytree as pytree

from dvm.torch import aten, layouts

#: the axes of an op's results, the outermost in memory first; None: as they come
Order = Callable[..., "list[int] | None"]


@functools.cache
def decompositions() -> dict[Any, Any]:
    """Core ATen's, but for attention, and for what the table of ops has a row of its own for."""
    table: dict[Any, Any] = dict(core_aten_decompositions())
    for op in list(table):
        name = str(op)
        if name in aten.ROWS or name.startswith("aten.scaled_dot_product_attention"):
            del table[op]
    for op, order in IN_ANOTHER_ORDER.items():
        table[op] = _in_order(table.get(op, op), order)
    return table


def _in_order(make: Callable[..., Any], order: Order) -> Callable[..., Any]:
    """Return a decomposition that lays the results of another one, or of the op itself, so."""
    is_op = isinstance(make, torch._ops.OpOverload)

    def made(*args: Any, **kwargs: Any) -> Any:
        if is_op:
            with decomposing_by({}):  # no second time by this one
                results = make(*args, **kwargs)
        else:
            results = make(*args, **kwargs)
        axes = order(*args, **kwargs)
        return results if axes is None else pytree.tree_map(lambda t: _laid(t, axes), results)

    return made


def _laid(tensor: torch.Tensor, axes: list[int]) -> torch.Tensor:
    if tensor.dim() != len(axes) or tensor.permute(axes).is_contiguous():
        return tensor
    back = [axes.index(axis) for axis in range(len(axes))]
    return tensor.permute(axes).contiguous().permute(back)


def _c_order(x: torch.Tensor, *_: Any) -> list[int]:
    return list(range(x.dim()))


def _suggested(x: torch.Tensor, *_: Any, **_named: Any) -> list[int]:
    """Channels last where the tensor's are."""
    if suggest_memory_format(x) == torch.contiguous_format:
        return list(range(x.dim()))
    return [0, *range(2, x.dim()), 1]


def _if_along_axes(x: torch.Tensor, _shifts: Any, axes: Sequence[int] = ()) -> list[int] | None:
    """Without axes an op sees no more than a row of elements."""
    return _suggested(x) if axes else None


def _of_a_sum(x: Any, y: Any, **_: Any) -> list[int]:
    """As eager lays what it computes element by element."""
    return layouts.axes_from_outermost(torch.add(x, y))


_aten = torch.ops.aten
#: of what torch's inference, or a decomposition, lays otherwise than the op does
IN_ANOTHER_ORDER: dict[Any, Order] = {
    _aten.copysign.Tensor: _of_a_sum,
    _aten.div.Tensor_mode: _of_a_sum,
    _aten.floor_divide.default: _of_a_sum,
    _aten.heaviside.default: _of_a_sum,
    _aten.log_sigmoid_forward.default: _c_order,
    _aten.logaddexp.default: _of_a_sum,
    _aten.max_unpool2d.default: _suggested,
    _aten._native_batch_norm_legit.no_stats: _suggested,
    _aten._native_batch_norm_legit_functional.default: _suggested,
    _aten.roll.default: _if_along_axes,
    _aten.special_xlog1py.default: _of_a_sum,
    _aten.xlogy.Tensor: _of_a_sum,
}
