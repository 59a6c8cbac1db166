"""Elements of arrays at places that are given as coordinates."""

from __future__ import annotations

import itertools

from dvm.building.builder import Builder, Tensor
from dvm.onnx.context import Context
from dvm.onnx.registry import op
from dvm.onnx.values import Refused, product_of


@op("GridSample", since=16)
def grid_sample(
    c: Context, x: Tensor, grid: Tensor, align_corners: int = 0, mode: str = "linear",
    padding_mode: str = "zeros",
) -> Tensor:  # fmt: skip
    """Elements of x[n, c, ..] at places grid[n, .., axes], the last axis first, from -1 to 1."""
    b = c.b
    rank = x.rank - 2
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    sizes = x.shape[2:]
    grid = b.reshape(grid, [x.shape[0], *grid.shape[1:]])
    where = grid.shape[:-1]
    spots = []
    for k in range(rank):
        part = b.squeeze(b.narrow(grid, grid.rank - 1, rank - 1 - k, 1), [grid.rank - 1])
        size = b.number(sizes[k], part.dtype, part.shape)
        if align_corners:
            spot = b.mul(b.div(b.add(part, 1), 2), b.sub(size, 1))
        else:
            spot = b.div(b.sub(b.mul(b.add(part, 1), size), 1), 2)
        if padding_mode != "zeros" and mode != "cubic":
            spot = _brought_in(c, spot, size, padding_mode, bool(align_corners))
        spots.append(spot)
    taps = [_taps(b, spot, mode) for spot in spots]
    total: Tensor | None = None
    for choice in itertools.product(*taps):
        line = b.constant(0, "i64", where)
        lies = b.constant(True, "bool", where)
        weight: Tensor | None = None
        for k, (place, share) in enumerate(choice):
            size = b.number(sizes[k], place.dtype, place.shape)
            if padding_mode != "zeros":
                place = _brought_in(c, place, size, padding_mode, bool(align_corners))
            place = b.rint(place)
            zero = b.constant(0, place.dtype, place.shape)
            inside = b.logical_and(b.ge(place, zero), b.lt(place, size))
            lies = b.logical_and(lies, inside)
            place = b.minimum(b.maximum(place, zero), b.sub(size, 1))
            line = b.add(b.mul(line, b.number(sizes[k], "i64", where)), b.cast(place, "i64"))
            if share is not None:
                weight = share if weight is None else b.mul(weight, share)
        part = _elements(c, x, line)
        mask = b.broadcast(b.reshape(lies, [where[0], 1, *where[1:]]), part.shape)
        part = b.select(mask, part, b.constant(0, part.dtype, part.shape))
        if weight is not None:
            factor = b.reshape(b.cast(weight, part.dtype), [where[0], 1, *where[1:]])
            part = b.mul(part, b.broadcast(factor, part.shape))
        total = part if total is None else b.add(total, part)
    assert total is not None
    return total


def _elements(c: Context, x: Tensor, line: Tensor) -> Tensor:
    """Elements of x[n, c, ..] at places line[n, ..] in its last axes."""
    b = c.b
    flat = b.reshape(x, [*x.shape[:2], product_of(x.shape[2:])])
    count = product_of(line.shape[1:])
    places = b.reshape(line, [line.shape[0], 1, count])
    places = b.broadcast(places, [line.shape[0], x.shape[1], count])
    made = b.along("take_along", [flat, places], 2)
    return b.reshape(made, [*x.shape[:2], *line.shape[1:]])


def _taps(b: Builder, spot: Tensor, mode: str) -> list[tuple[Tensor, Tensor | None]]:
    if mode == "nearest":
        return [(b.rint(spot), None)]
    first = b.floor(spot)
    share = b.sub(spot, first)
    if mode == "linear":
        return [(first, b.sub(1, share)), (b.add(first, 1), share)]
    if mode != "cubic":
        raise Refused(f"the mode {mode!r}")
    made: list[tuple[Tensor, Tensor | None]] = []
    a = -0.75
    for k in range(-1, 3):
        t = b.abs(b.sub(share, k))
        if k in (0, 1):
            weight = b.add(b.mul(b.mul(b.sub(b.mul(t, a + 2), a + 3), t), t), 1)
        else:
            inner = b.add(b.mul(b.sub(b.mul(t, a), 5 * a), t), 8 * a)
            weight = b.sub(b.mul(inner, t), 4 * a)
        made.append((b.add(first, k), weight))
    return made


def _brought_in(c: Context, spot: Tensor, size: Tensor, mode: str, corners: bool) -> Tensor:
    b = c.b
    zero = b.constant(0, spot.dtype, spot.shape)
    last = b.sub(size, 1)
    if mode == "border":
        return b.minimum(b.maximum(spot, zero), last)
    low = zero if corners else b.constant(-0.5, spot.dtype, spot.shape)
    high = last if corners else b.sub(size, 0.5)
    span = b.maximum(b.sub(high, low), b.constant(1e-30, spot.dtype, spot.shape))
    apart = b.remainder(b.sub(spot, low), b.mul(span, 2))
    apart = b.minimum(apart, b.sub(b.mul(span, 2), apart))
    return b.add(low, apart)
