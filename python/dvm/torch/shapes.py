"""Lowerings of ops that move elements: views, joins, and arrays written in part.

Sizes of the results come from torch, whose expressions are in one canonical form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dvm.torch.builder import Builder, NotCompiled, Tensor
from dvm.torch.sizes import Size


def axis_of(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


def axes_of(axes: Any, rank: int) -> list[int]:
    """Axes as torch's ops name them: one, several, or none for all. A number has none to name."""
    if axes is None or axes == [] or rank == 0:
        return list(range(rank))
    return [axis_of(axis, rank) for axis in ([axes] if isinstance(axes, int) else axes)]


def reshape(b: Builder, x: Tensor, *_args: Any, **_kwargs: Any) -> Tensor:
    """Of any layout: a view and what copies where there is none."""
    return b.reshape(x, b.out.shape)


def expand(b: Builder, x: Tensor, *_args: Any, **_kwargs: Any) -> Tensor:
    return b.broadcast(x, b.out.shape)


def permute(b: Builder, x: Tensor, axes: Sequence[int]) -> Tensor:
    return b.transpose(x, axes_of(axes, x.rank))


def transpose(b: Builder, x: Tensor, first: int = 0, second: int = 1) -> Tensor:
    axes = list(range(x.rank))
    if axes:
        first, second = axis_of(first, x.rank), axis_of(second, x.rank)
        axes[first], axes[second] = second, first
    return b.transpose(x, axes[: x.rank])


def t(b: Builder, x: Tensor) -> Tensor:
    return b.transpose(x, list(range(x.rank))[::-1])


def start_of(start: Size | None, size: Size) -> Size:
    """Where a slice begins, for a start of known sign."""
    if start is None:
        return 0
    if not isinstance(start, int):
        raise NotCompiled("a start of unknown sign")
    if start >= 0:
        if start == 0 or (isinstance(size, int) and start <= size):
            return start
        return size if isinstance(size, int) else size.min(start)
    begin = size + start
    return max(begin, 0) if isinstance(begin, int) else begin.max(0)


def slice_along(
    b: Builder, x: Tensor, axis: int = 0, start: Any = None, _end: Any = None, step: int = 1
) -> Tensor:
    axis = axis_of(axis, x.rank)
    starts: list[Size] = [0] * x.rank
    steps = [1] * x.rank
    starts[axis], steps[axis] = start_of(start, x.shape[axis]), step
    if isinstance(starts[axis], int) and starts[axis] == 0 and str(x.shape) == str(b.out.shape):
        return x
    return b.slice(x, starts, b.out.shape, steps)


def index_of(index: Size, size: Size) -> Size:
    if not isinstance(index, int):
        raise NotCompiled("an index of unknown sign")
    return index if index >= 0 else size + index


def select(b: Builder, x: Tensor, axis: int, index: Any) -> Tensor:
    axis = axis_of(axis, x.rank)
    part = b.narrow(x, axis, index_of(index, x.shape[axis]), 1)
    return b.squeeze(part, [axis])


def split(b: Builder, x: Tensor, _sizes: Any, axis: int = 0) -> list[Tensor]:
    axis = axis_of(axis, x.rank)
    parts: list[Tensor] = []
    start: Size = 0
    for expected in b.expected:
        extent = expected.shape[axis]
        parts.append(b.narrow(x, axis, start, extent))
        start = start + extent
    return parts


def unbind(b: Builder, x: Tensor, axis: int = 0) -> list[Tensor]:
    axis = axis_of(axis, x.rank)
    return [b.squeeze(b.narrow(x, axis, index, 1), [axis]) for index in range(len(b.expected))]


def cat(b: Builder, tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    out = b.out
    # torch leaves out empty tensors of rank 1, whatever the rank of the others
    tensors = [x for x in tensors if not (x.rank == 1 and out.rank != 1)]
    return _joined(b, tensors, axis_of(axis, out.rank), out.shape)


def _joined(b: Builder, tensors: Sequence[Tensor], axis: int, shape: Sequence[Size]) -> Tensor:
    dtype = b.out.dtype
    if len(tensors) == 1:
        return b.cast(tensors[0], dtype)
    made = b.wrap(b.graph.empty(dtype, list(shape)))
    start: Size = 0
    for x in tensors:
        starts: list[Size] = [0] * len(shape)
        starts[axis] = start
        fitted = b.reshape(x, [*shape[:axis], x.shape[axis], *shape[axis + 1 :]])
        made = b.update(made, b.cast(fitted, dtype), starts)
        start = start + x.shape[axis]
    return made


def stack(b: Builder, tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    axis, shape = axis_of(axis, b.out.rank), b.out.shape
    if axis == b.out.rank - 1:
        return _joined(b, [b.unsqueeze(x, axis) for x in tensors], axis, shape)
    # Joined along the axis behind, so that parts are written in the shape they are computed in.
    joined = [*shape[:axis], len(tensors) * shape[axis + 1], *shape[axis + 2 :]]
    return b.reshape(_joined(b, tensors, axis, joined), shape)


def slice_scatter(
    b: Builder,
    x: Tensor,
    part: Tensor,
    axis: int = 0,
    start: Any = None,
    _end: Any = None,
    step: int = 1,
) -> Tensor:
    axis = axis_of(axis, x.rank)
    starts: list[Size] = [0] * x.rank
    steps = [1] * x.rank
    starts[axis], steps[axis] = start_of(start, x.shape[axis]), step
    return b.update(x, b.cast(part, x.dtype), starts, steps)


def select_scatter(b: Builder, x: Tensor, part: Tensor, axis: int, index: Any) -> Tensor:
    axis = axis_of(axis, x.rank)
    starts: list[Size] = [0] * x.rank
    starts[axis] = index_of(index, x.shape[axis])
    return b.update(x, b.cast(b.unsqueeze(part, axis), x.dtype), starts)


def flip(b: Builder, x: Tensor, axes: Sequence[int]) -> Tensor:
    starts: list[Size] = [0] * x.rank
    steps = [1] * x.rank
    for axis in axes_of(axes, x.rank) if axes else []:
        if x.shape[axis] == 0:
            return x
        starts[axis], steps[axis] = x.shape[axis] - 1, -1
    return b.slice(x, starts, x.shape, steps)


def repeat(b: Builder, x: Tensor, repeats: Sequence[Size]) -> Tensor:
    """Each axis becomes two, of which the outer one is repeated."""
    shape: tuple[Size, ...] = (1,) * (len(repeats) - x.rank) + x.shape
    apart: list[Size] = []
    wide: list[Size] = []
    for times, size in zip(repeats, shape, strict=True):
        apart += [1, size]
        wide += [times, size]
    if len(wide) > 8:
        raise NotCompiled("more axes than a tensor of the Graph has")
    return b.reshape(b.broadcast(b.reshape(x, apart), wide), b.out.shape)


def constant_pad(b: Builder, x: Tensor, padding: Sequence[Any], value: Any = 0) -> Tensor:
    if not all(isinstance(p, int) for p in padding):
        raise NotCompiled("padding of unknown sign")
    out = b.out
    starts: list[Size] = [0] * x.rank
    first: list[Size] = [0] * x.rank
    shape = list(x.shape)
    for k in range(len(padding) // 2):
        axis = x.rank - 1 - k
        before, after = padding[2 * k], padding[2 * k + 1]
        starts[axis] = max(before, 0)
        first[axis] = max(-before, 0)
        cut = max(-before, 0) + max(-after, 0)
        shape[axis] = shape[axis] - cut if cut else shape[axis]
    kept = (
        x
        if not any(isinstance(f, int) and f for f in first) and shape == list(x.shape)
        else b.slice(x, first, shape)
    )
    return b.update(b.number(value, out.dtype, out.shape), kept, starts)
