"""Operators that move elements: shapes, slices, joins, pads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dvm import _dvm
from dvm.building.builder import Size, Tensor, is_same
from dvm.onnx.context import Context
from dvm.onnx.registry import op
from dvm.onnx.values import Known, Refused, Value, known, product_of, quotient, sizes_of


@op("Shape", raw=["x"])
def shape_of(c: Context, x: Any, start: int = 0, end: int | None = None) -> Known:
    return sizes_of(x.shape[slice(start, end)])


@op("Size", raw=["x"])
def size_of(c: Context, x: Any) -> Known:
    return sizes_of([product_of(x.shape)], [])


@op("Reshape", sizes=["shape"])
def reshape(
    c: Context, x: Tensor, shape: Any = None, allowzero: int = 0, consumed_inputs: Any = None
) -> Tensor:
    sizes: list[Any] = []
    for k, size in enumerate(shape):
        if isinstance(size, _dvm.Dim) and not size.is_natural:
            size = c.fixed(size)  # it may be -1
        sizes.append(size if isinstance(size, _dvm.Dim) else int(size))
        if sizes[k] == 0 and not isinstance(sizes[k], _dvm.Dim) and not allowzero:
            sizes[k] = x.shape[k]
    unknown = [k for k, s in enumerate(sizes) if not isinstance(s, _dvm.Dim) and s == -1]
    if len(unknown) > 1:
        raise Refused("two sizes of -1")
    for k in unknown:
        others = sizes[:k] + sizes[k + 1 :]
        sizes[k] = quotient(x.shape, others)
    return c.b.reshape(x, sizes)


@op("Flatten")
def flatten(c: Context, x: Tensor, axis: int = 1) -> Tensor:
    axis = axis + x.rank if axis < 0 else axis
    return c.b.reshape(x, [product_of(x.shape[:axis]), product_of(x.shape[axis:])])


@op("Squeeze", structure=["axes"])
def squeeze(c: Context, x: Tensor, axes: Any = None) -> Tensor:
    if axes is None:
        over = [k for k, size in enumerate(x.shape) if c.fixed(size) == 1]
    else:
        over = c.axes(axes, x.rank)
    return c.b.squeeze(x, over)


@op("Unsqueeze", structure=["axes"])
def unsqueeze(c: Context, x: Tensor, axes: Any) -> Tensor:
    rank = x.rank + np.size(axes)
    added = c.axes(axes, rank)
    sizes = iter(x.shape)
    return c.b.reshape(x, [1 if k in added else next(sizes) for k in range(rank)])


@op("Transpose")
def transpose(c: Context, x: Tensor, perm: Sequence[int] | None = None) -> Tensor:
    axes = list(range(x.rank))[::-1] if perm is None else [c.axis(a, x.rank) for a in perm]
    return c.b.transpose(x, axes)


@op("Expand", sizes=["shape"])
def expand(c: Context, x: Tensor, shape: Any) -> Tensor:
    return c.b.broadcast(x, c.broadcast_shape(x.shape, [_plain(s) for s in shape]))


def _plain(size: Any) -> Size:
    return size if isinstance(size, _dvm.Dim) else int(size)


def _count_of(c: Context, size: Any) -> Size:
    """An element of sizes; of one that may be below 0, what the call has."""
    return c.fixed(size) if isinstance(size, _dvm.Dim) and not size.is_natural else _plain(size)


@op("Tile", sizes=["repeats"])
def tile(c: Context, x: Tensor, repeats: Any) -> Tensor:
    return tiled(c, x, [_plain(times) for times in repeats])


def tiled(c: Context, x: Tensor, repeats: Sequence[Size]) -> Tensor:
    """Each axis that repeats becomes two, of which the outer one is repeated."""
    made = x
    for axis, times in enumerate(repeats):  # one at a time: the Graph has few axes
        if isinstance(times, int) and times == 1:
            continue
        shape = list(made.shape)
        apart = c.b.reshape(made, [*shape[:axis], 1, *shape[axis:]])
        wide = c.b.broadcast(apart, [*shape[:axis], times, *shape[axis:]])
        made = c.b.reshape(wide, [*shape[:axis], times * shape[axis], *shape[axis + 1 :]])
    return made


@op("Concat")
def concat(c: Context, *tensors: Tensor, axis: int = 1) -> Tensor:
    return joined(c, tensors, c.axis(axis, tensors[0].rank))


def joined(c: Context, tensors: Sequence[Tensor], axis: int) -> Tensor:
    if len(tensors) == 1:
        return tensors[0]
    first = tensors[0]
    # A size that one tells as a number all have.
    shape: list[Any] = [
        next((t.shape[k] for t in tensors if isinstance(t.shape[k], int)), first.shape[k])
        for k in range(first.rank)
    ]
    total: Size = 0
    for t in tensors:
        total = t.shape[axis] + total
    shape[axis] = total
    made = c.b.wrap(c.b.graph.empty(first.dtype, shape))
    start: Size = 0
    for t in tensors:
        starts: list[Size] = [0] * first.rank
        starts[axis] = start
        fitted = c.b.reshape(t, [*shape[:axis], t.shape[axis], *shape[axis + 1 :]])
        made = c.b.update(made, fitted, starts)
        start = t.shape[axis] + start
    return made


@op("Split", sizes=["split"])
def split(
    c: Context, x: Tensor, split: Any = None, axis: int = 0, num_outputs: int | None = None
) -> tuple[Tensor, ...]:
    axis = c.axis(axis, x.rank)
    size = x.shape[axis]
    if split is None:
        parts = num_outputs or len(c.node.output)
        each = (size + parts - 1) // parts
        extents = [each] * (parts - 1)
        extents.append(size - each * (parts - 1))
    else:
        extents = [_plain(s) for s in split]
    return tuple(pieces(c, x, axis, extents))


def pieces(c: Context, x: Tensor, axis: int, extents: Sequence[Size]) -> list[Tensor]:
    made = []
    start: Size = 0
    for extent in extents:
        made.append(c.b.narrow(x, axis, start, extent))
        start = extent + start
    return made


@op("Slice", since=1, sizes=["starts", "ends"], structure=["axes", "steps"])
def slice_(
    c: Context, x: Tensor, starts: Any, ends: Any, axes: Any = None, steps: Any = None
) -> Tensor:
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    begin: list[Size] = [0] * x.rank
    stride = [1] * x.rank
    shape = list(x.shape)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        axis = c.axis(int(axis), x.rank)
        begin[axis], shape[axis] = _range(c, x.shape[axis], _plain(start), _plain(end), int(step))
        stride[axis] = int(step)
    if all(map(is_same, shape, x.shape)) and all(s == 1 for s in stride):
        return x
    return c.b.slice(x, begin, shape, stride)


def _range(c: Context, size: Size, start: Size, end: Size, step: int) -> tuple[Size, Size]:
    """Where a slice of an axis begins, and how many elements it has."""
    last: Size = size if step > 0 else size - 1
    first: Size = 0 if step > 0 else -1
    ends: list[Size] = []
    for place, is_end in ((start, False), (end, True)):
        if isinstance(place, _dvm.Dim) and not place.is_natural:
            is_below = (0 - place).is_natural
            place = size + place if is_below else c.fixed(place)
        elif isinstance(place, int) and place < 0:
            place = first if place < -(2**40) else size + place
        lowest: Size = 0 if step > 0 or not is_end else -1
        if is_same(place, size) or is_same(place, last):
            ends.append(last)
        elif isinstance(place, int) and place == first:
            ends.append(place)
        else:
            ends.append(c.most(c.least(_bounded(place), last), first if step < 0 else lowest))
    begin, finish = ends
    span = finish - begin if step > 0 else begin - finish
    count = span if abs(step) == 1 else (span + abs(step) - 1) // abs(step)
    if isinstance(count, int):
        count = max(count, 0)
    elif not count.is_natural:
        count = count.max(0)
    if isinstance(count, int) and count == 0:
        return 0, 0
    return begin, count


def _bounded(place: Size) -> Size:
    return max(min(place, 2**40), -(2**40)) if isinstance(place, int) else place


@op("Pad", sizes=["pads"], structure=["axes"])
def pad(
    c: Context, x: Tensor, pads: Any = None, constant_value: Tensor | None = None,
    axes: Any = None, mode: str = "constant", value: float = 0.0, paddings: Any = None,
) -> Tensor:  # fmt: skip
    pads = pads if pads is not None else np.asarray(paddings)
    over = [c.axis(int(a), x.rank) for a in axes] if axes is not None else list(range(x.rank))
    before: list[Size] = [0] * x.rank
    after: list[Size] = [0] * x.rank
    for k, axis in enumerate(over):
        before[axis], after[axis] = _count_of(c, pads[k]), _count_of(c, pads[k + len(over)])
    if mode == "constant":
        fill = constant_value if constant_value is not None else c.b.constant(value, x.dtype)
        return padded(c, x, before, after, c.b.reshape(fill, []))
    for axis in range(x.rank):
        if not (is_same(before[axis], 0) and is_same(after[axis], 0)):
            x = _padded_from_within(c, x, axis, before[axis], after[axis], mode)
    return x


def padded(
    c: Context, x: Tensor, before: Sequence[Size], after: Sequence[Size], fill: Tensor
) -> Tensor:
    """With so many elements more, or fewer where negative, at both ends of axes."""
    b = c.b
    starts, first, kept, shape = [], [], [], []
    for size, low, high in zip(x.shape, before, after, strict=True):
        cut_low = max(-low, 0) if isinstance(low, int) else 0
        cut_high = max(-high, 0) if isinstance(high, int) else 0
        starts.append(max(low, 0) if isinstance(low, int) else low)
        first.append(cut_low)
        kept.append(size - (cut_low + cut_high) if cut_low + cut_high else size)
        shape.append(low + high + size)
    if all(map(is_same, shape, x.shape)):
        return x
    if not all(map(is_same, kept, x.shape)):
        x = b.slice(x, first, kept)
    return b.update(b.broadcast(fill, shape), x, starts)


def _padded_from_within(
    c: Context, x: Tensor, axis: int, before: Size, after: Size, mode: str
) -> Tensor:
    b = c.b
    size = x.shape[axis]
    total = before + size + after
    place = b.sub(b.iota("i64", [total]), b.number(before, "i64", [total]))
    low, end = b.constant(0, "i64", [total]), b.number(size, "i64", [total])
    last = b.sub(end, 1)
    if mode == "edge":
        place = b.minimum(b.maximum(place, low), last)
    elif mode == "wrap":
        place = b.remainder(place, end)
    elif mode == "reflect":
        # A walk to and fro has this period; of one element it has none.
        period = b.maximum(b.mul(last, 2), 1)
        place = b.remainder(place, period)
        place = b.minimum(place, b.sub(period, place))
        place = b.minimum(b.maximum(place, low), last)
    else:
        raise Refused(f"padding {mode!r}")
    return b.along("gather", [x, place], axis)


@op("ConstantOfShape", sizes=["shape"])
def constant_of_shape(c: Context, shape: Any, value: Any = None) -> Any:
    sizes = [_plain(s) for s in shape]
    given = value if value is not None else known(np.zeros(1, np.float32))
    if all(isinstance(s, int) for s in sizes) and product_of(sizes) <= 1024:  # type: ignore[operator]
        return Known(np.full(sizes, given.array.reshape(-1)[0], given.array.dtype), given.dtype)
    return c.b.broadcast(c.b.reshape(c.tensor(given), []), sizes)


@op("Range", raw=["start", "limit", "delta"])
def range_(c: Context, start: Value, limit: Value, delta: Value) -> Any:
    b = c.b
    dtype = next(v.dtype for v in (start, limit, delta) if isinstance(v, Tensor | Known))
    ends: list[Any] = [_plain(c.sizes(v).reshape(-1)[0]) if dtype in ("i64", "i32") else
            c.structure(v).reshape(-1)[0] for v in (start, limit, delta)]  # fmt: skip
    first, end, step = ends
    if all(not isinstance(e, _dvm.Dim) for e in ends):
        array = np.arange(first, end, step)
        return known(array.astype({"i64": np.int64, "i32": np.int32}.get(dtype, array.dtype)))
    step = c.fixed(step)
    span = end - first if step > 0 else first - end
    count = span if abs(step) == 1 else (span + abs(step) - 1) // abs(step)
    if isinstance(count, _dvm.Dim) and not count.is_natural:
        count = count.max(0)
    counted = b.iota(dtype, [count])
    made = b.mul(counted, step) if step != 1 else counted
    return made if is_same(first, 0) else b.add(made, b.number(first, dtype, made.shape))


@op("EyeLike", raw=["x"])
def eye_like(c: Context, x: Any, dtype: int | None = None, k: int = 0) -> Tensor:
    from dvm.onnx.values import DTYPES

    shape = [_plain(s) for s in x.shape]
    b = c.b
    rows, columns = b.iota("i64", shape, 0), b.iota("i64", shape, 1)
    return b.cast(b.eq(b.add(rows, k), columns), DTYPES[dtype] if dtype else x.dtype)


@op("Trilu", structure=["k"])
def trilu(c: Context, x: Tensor, k: Any = None, upper: int = 1) -> Tensor:
    b = c.b
    shape = x.shape
    shift = 0 if k is None else max(min(int(k.reshape(-1)[0]), 2**40), -(2**40))
    rows, columns = b.iota("i64", shape, x.rank - 2), b.iota("i64", shape, x.rank - 1)
    name = "ge" if upper else "le"
    stays = b.elementwise(name, columns, b.add(rows, shift))
    return b.select(stays, x, b.constant(0, x.dtype, shape))


@op("DepthToSpace")
def depth_to_space(c: Context, x: Tensor, blocksize: int, mode: str = "DCR") -> Tensor:
    n, depth, h, w = x.shape
    s = blocksize
    less = depth // (s * s)
    if mode == "DCR":
        apart = c.b.transpose(c.b.reshape(x, [n, s, s, less, h, w]), [0, 3, 4, 1, 5, 2])
    else:
        apart = c.b.transpose(c.b.reshape(x, [n, less, s, s, h, w]), [0, 1, 4, 2, 5, 3])
    return c.b.reshape(apart, [n, less, h * s, w * s])


@op("SpaceToDepth")
def space_to_depth(c: Context, x: Tensor, blocksize: int, mode: str = "DCR") -> Tensor:
    n, depth, h, w = x.shape
    s = blocksize
    apart = c.b.reshape(x, [n, depth, h // s, s, w // s, s])
    order = [0, 3, 5, 1, 2, 4] if mode == "DCR" else [0, 1, 3, 5, 2, 4]
    return c.b.reshape(c.b.transpose(apart, order), [n, depth * s * s, h // s, w // s])


@op("ReverseSequence")
def reverse_sequence(
    c: Context, x: Tensor, lengths: Tensor, batch_axis: int = 1, time_axis: int = 0
) -> Tensor:
    b = c.b
    batch, time = x.shape[batch_axis], x.shape[time_axis]
    shape: list[Size] = [1] * x.rank
    shape[batch_axis] = batch
    both = list(shape)
    both[time_axis] = time
    count = b.broadcast(b.reshape(lengths, shape), both)
    step = b.iota("i64", both, time_axis)
    place = b.select(b.lt(step, count), b.sub(b.sub(count, step), 1), step)
    return b.along("take_along", [x, b.broadcast(place, x.shape)], time_axis)


@op("CenterCropPad", sizes=["shape"])
def center_crop_pad(c: Context, x: Tensor, shape: Any, axes: Any = None) -> Tensor:
    over = range(x.rank) if axes is None else [c.axis(a, x.rank) for a in axes]
    before: list[Size] = [0] * x.rank
    after: list[Size] = [0] * x.rank
    for axis, wanted in zip(over, shape, strict=True):
        apart = c.fixed(wanted) - c.fixed(x.shape[axis])
        low = apart // 2 if apart >= 0 else -((-apart) // 2)
        before[axis], after[axis] = low, apart - low
    return padded(c, x, before, after, c.b.constant(0, x.dtype))
