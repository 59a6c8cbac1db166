"""Resizing: along each axis elements are taken, or mixed, at places between the old ones."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dvm import _dvm
from dvm.building.builder import Builder, Size, Tensor, is_same
from dvm.onnx.context import Context
from dvm.onnx.registry import op
from dvm.onnx.values import Refused


@op("Resize", since=11, structure=["roi", "scales"], sizes=["sizes"])
def resize(
    c: Context, x: Tensor, roi: Any = None, scales: Any = None, sizes: Any = None,
    antialias: int = 0, axes: Any = None, coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75, exclude_outside: int = 0, extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Tensor:  # fmt: skip
    over = [c.axis(int(a), x.rank) for a in axes] if axes is not None else list(range(x.rank))
    if sizes is not None and len(sizes):
        wanted: list[Size] = [s if isinstance(s, _dvm.Dim) else int(s) for s in sizes]
        factors: list[Any] = [None] * len(over)
        if keep_aspect_ratio_policy != "stretch":
            ratios = [c.fixed(w) / c.fixed(x.shape[a]) for w, a in zip(wanted, over, strict=True)]
            pick = min if keep_aspect_ratio_policy == "not_larger" else max
            factors = [pick(ratios)] * len(over)
            wanted = [int(np.floor(factors[0] * c.fixed(x.shape[a]) + 0.5)) for a in over]
    else:
        factors = [float(s) for s in scales]
        wanted = [_scaled(x.shape[a], f) for a, f in zip(over, factors, strict=True)]
    form = Form(c, mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a,
                bool(exclude_outside), bool(antialias))  # fmt: skip
    outside: Tensor | None = None
    dtype, made = x.dtype, x
    if mode != "nearest":
        made = c.b.wide(x) if x.is_float else c.b.cast(x, "f32")
    for k, axis in enumerate(over):
        ends = (0.0, 1.0)
        if roi is not None and len(roi):
            ends = float(roi[k]), float(roi[k + len(over)])
        is_cropped = coordinate_transformation_mode == "tf_crop_and_resize"
        if is_same(wanted[k], x.shape[axis]) and factors[k] in (None, 1.0) and not is_cropped:
            continue
        made, places = form.along(made, axis, wanted[k], factors[k], ends)
        if is_cropped:
            beyond = c.b.logical_or(
                c.b.lt(places, c.b.constant(0, "f64", places.shape)),
                c.b.gt(places, c.b.sub(c.b.number(x.shape[axis], "f64", places.shape), 1)),
            )
            shape = [1] * x.rank
            beyond = c.b.reshape(beyond, [*shape[:axis], wanted[k], *shape[axis + 1 :]])
            both = [beyond] if outside is None else [outside, beyond]
            together = c.together(*both)
            outside = together[0] if len(both) == 1 else c.b.logical_or(*together)
    if outside is not None:
        fill = c.b.constant(extrapolation_value, made.dtype, made.shape)
        made = c.b.select(c.b.broadcast(outside, made.shape), fill, made)
    return _as(c.b, made, dtype)


def _as(b: Builder, x: Tensor, dtype: str) -> Tensor:
    if x.is_float and dtype[0] in "iu":
        from dvm.onnx.ops.quantised import saturated

        if dtype in ("i8", "u8"):
            return saturated(_Plain(b), b.trunc(x), dtype)  # type: ignore[arg-type]
    return b.cast(x, dtype)


class _Plain:
    def __init__(self, b: Builder) -> None:
        self.b = b


def _scaled(size: Size, factor: float) -> Size:
    if isinstance(size, int):
        return int(np.floor(size * np.float32(factor)))
    ratio = Fraction(factor).limit_denominator(1 << 12)
    if ratio.denominator == 1:
        return size * ratio.numerator
    return (size * ratio.numerator) // ratio.denominator


class Form:
    """How the elements between the old ones are made."""

    def __init__(
        self, c: Context, mode: str, places: str, nearest: str, a: float, excludes: bool,
        antialias: bool,
    ) -> None:  # fmt: skip
        self.c, self.b = c, c.b
        self.mode, self.places, self.nearest = mode, places, nearest
        self.a, self.excludes, self.antialias = a, excludes, antialias

    def along(
        self, x: Tensor, axis: int, wanted: Size, factor: float | None, ends: tuple[float, float]
    ) -> tuple[Tensor, Tensor]:
        """Return x resized along an axis, and where its elements lie in the old one."""
        b, size = self.b, x.shape[axis]
        places = self._origin(size, wanted, factor, ends)
        if self.mode == "nearest":
            return b.along("gather", [x, self._inside(self._nearest(places), size)], axis), places
        if self.antialias:
            made = self._smoothed(x, axis, wanted, factor)
            if made is not None:
                return made, places
        first = b.floor(places)
        share = b.sub(places, first)
        start = b.cast(first, "i64")
        if self.mode == "linear":
            taps = [(0, b.sub(1, share)), (1, share)]
        elif self.mode == "cubic":
            taps = [(k - 1, self._cubic(share, k - 1)) for k in range(4)]
        else:
            raise Refused(f"the mode {self.mode!r}")
        spots = [b.add(start, k) if k else start for k, _ in taps]
        weights = [w for _, w in taps]
        if self.excludes:
            last = b.number(size, "i64", start.shape)
            zero = b.constant(0, "i64", start.shape)
            nothing = b.constant(0, "f64", start.shape)
            weights = [
                b.select(b.logical_and(b.ge(s, zero), b.lt(s, last)), w, nothing)
                for s, w in zip(spots, weights, strict=True)
            ]
            total = weights[0]
            for w in weights[1:]:
                total = b.add(total, w)
            weights = [b.div(w, total) for w in weights]
        made = None
        for spot, weight in zip(spots, weights, strict=True):
            part = b.along("gather", [x, self._inside(spot, size)], axis)
            column = [1] * x.rank
            shape = [*column[:axis], wanted, *column[axis + 1 :]]
            line = b.reshape(b.cast(weight, x.dtype), shape)
            term = b.mul(part, b.broadcast(line, part.shape))
            made = term if made is None else b.add(made, term)
        assert made is not None
        return made, places

    def _inside(self, spot: Tensor, size: Size) -> Tensor:
        b = self.b
        last = b.sub(b.number(size, "i64", spot.shape), 1)
        return b.minimum(b.maximum(spot, b.constant(0, "i64", spot.shape)), last)

    def _origin(
        self, size: Size, wanted: Size, factor: float | None, ends: tuple[float, float]
    ) -> Tensor:
        b = self.b
        here = b.cast(b.iota("i64", [wanted]), "f64")
        shape = here.shape
        old, new = b.number(size, "f64", shape), b.number(wanted, "f64", shape)
        scale = b.div(new, old) if factor is None else b.constant(factor, "f64", shape)
        one = b.constant(1, "f64", shape)
        match self.places:
            case "half_pixel":
                return b.sub(b.div(b.add(here, 0.5), scale), 0.5)
            case "half_pixel_symmetric":
                whole = b.mul(scale, old)
                moved = b.mul(b.div(old, 2), b.sub(1, b.div(new, whole)))
                return b.add(moved, b.sub(b.div(b.add(here, 0.5), scale), 0.5))
            case "pytorch_half_pixel":
                made = b.sub(b.div(b.add(here, 0.5), scale), 0.5)
                return b.select(b.gt(new, one), made, b.constant(0, "f64", shape))
            case "asymmetric":
                return b.div(here, scale)
            case "align_corners":
                whole = b.mul(scale, old) if factor is not None else new
                apart = b.maximum(b.sub(whole, 1), b.constant(1e-30, "f64", shape))
                made = b.div(b.mul(here, b.sub(old, 1)), apart)
                return b.select(b.gt(whole, one), made, b.constant(0, "f64", shape))
            case "tf_half_pixel_for_nn":
                return b.div(b.add(here, 0.5), scale)
            case "tf_crop_and_resize":
                low, high = ends
                span = b.mul(b.sub(old, 1), high - low)
                apart = b.maximum(b.sub(new, 1), one)
                first = b.mul(b.sub(old, 1), low)
                made = b.add(first, b.mul(here, b.div(span, apart)))
                middle = b.mul(b.sub(old, 1), (low + high) / 2)
                return b.select(b.gt(new, one), made, middle)
        raise Refused(f"coordinates {self.places!r}")

    def _nearest(self, places: Tensor) -> Tensor:
        b = self.b
        match self.nearest:
            case "round_prefer_floor":
                made = b.ceil(b.sub(places, 0.5))
            case "round_prefer_ceil":
                made = b.floor(b.add(places, 0.5))
            case "floor":
                made = b.floor(places)
            case "ceil":
                made = b.ceil(places)
            case other:
                raise Refused(f"rounding {other!r}")
        return b.cast(made, "i64")

    def _cubic(self, share: Tensor, k: int) -> Tensor:
        b, a = self.b, self.a
        t = b.abs(b.sub(share, k))
        if k in (0, 1):
            inner = b.sub(b.mul(t, a + 2), a + 3)
            return b.add(b.mul(b.mul(inner, t), t), 1)
        inner = b.add(b.mul(b.sub(b.mul(t, a), 5 * a), t), 8 * a)
        return b.sub(b.mul(inner, t), 4 * a)

    def _smoothed(self, x: Tensor, axis: int, wanted: Size, factor: float | None) -> Tensor | None:
        """By a matrix of weights, whose rows reach further the smaller the result is."""
        c, b = self.c, self.b
        old, new = c.fixed(x.shape[axis]), c.fixed(wanted)
        scale = new / old if factor is None else factor
        if scale >= 1:
            return None
        here = np.arange(new)
        at = {
            "half_pixel": (here + 0.5) / scale - 0.5,
            "asymmetric": here / scale,
            "align_corners": here * (old - 1) / max(new - 1, 1),
        }.get(self.places)
        if at is None:
            raise Refused(f"coordinates {self.places!r} with antialias")
        reach = (1 if self.mode == "linear" else 2) / scale
        matrix = np.zeros((new, old))
        for row, centre in enumerate(at):
            spots = np.arange(int(np.floor(centre - reach)) + 1, int(np.ceil(centre + reach)))
            t = np.abs((spots - centre) * scale)
            weights = np.maximum(1 - t, 0) if self.mode == "linear" else _cubic_of(t, self.a)
            if self.excludes:
                weights = np.where((spots >= 0) & (spots < old), weights, 0)
            weights = weights / weights.sum()
            np.add.at(matrix[row], np.clip(spots, 0, old - 1), weights)
        from dvm.onnx.values import NUMPY, known

        order = [k for k in range(x.rank) if k != axis] + [axis]
        turned = b.transpose(x, order)
        weight = c.tensor(known(np.ascontiguousarray(matrix.T).astype(NUMPY[x.dtype])))
        from dvm.onnx.ops.products import multiplied

        made = multiplied(c, turned, weight)
        return b.transpose(made, [order.index(k) for k in range(x.rank)])


def _cubic_of(t: Any, a: float) -> Any:
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0))


@op("Upsample", "Resize", structure=["scales"])
def upsample(c: Context, x: Tensor, scales: Any, mode: str = "nearest") -> Tensor:
    kind = "linear" if mode in ("linear", "bilinear") else mode
    return resize(c, x, None, np.asarray(scales), coordinate_transformation_mode="asymmetric",
                  mode=kind, nearest_mode="floor")  # fmt: skip
