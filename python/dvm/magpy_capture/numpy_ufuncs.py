"""Universal functions: calls with all their keywords, and their methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm.magpy_capture.arrays import is_supported
from dvm.magpy_capture.containers import Containers
from dvm.magpy_capture.program import describe
from dvm.magpy_capture.spec import NotCapturable
from dvm.magpy_capture.tables import UFUNCS
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    Sequence,
    Size,
    Tensor,
)

Named = dict[str, Abstract]
NONE = Literal(None)
TRUE = Literal(True)
FALSE = Literal(False)
ZERO = Literal(0)

#: ufunc -> op of the graph that reduces with it
REDUCTIONS: dict[np.ufunc, str] = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_and: "all",
    np.logical_or: "any",
}
#: ufunc -> op that accumulates with it
SCANS: dict[np.ufunc, str] = {
    np.add: "cumsum",
    np.multiply: "cumprod",
    np.maximum: "cummax",
    np.minimum: "cummin",
}


class Ufuncs(Containers):
    """`np.add(...)` and its kin."""

    def is_none(self, value: Abstract) -> bool:
        value = self.resolve(value)
        return isinstance(value, Literal) and value.object is None

    def dtype_name(self, value: Abstract) -> str:
        dtype = np.dtype(self.plain(value))
        if not is_supported(dtype):
            raise self.refuse(f"dtype {dtype.name}")
        return str(dtype.name)

    def as_array(self, value: Abstract, dtype: str | None = None) -> Tensor:
        """What np.asarray would make of `value`; numbers take `dtype` when it is given."""
        value = self.resolve(value)
        if isinstance(value, Tensor):
            return value
        if isinstance(value, (ListValue, Sequence)):
            return self.stacked([self.as_array(part, dtype) for part in value.elements], dtype)
        if isinstance(value, Literal) and isinstance(value.object, (tuple, list)):
            return self.as_array(Sequence([Literal(part) for part in value.object]), dtype)
        is_float = isinstance(value, (Host, Literal)) and type(value.object) is float
        if dtype is not None and np.dtype(dtype).kind in "iu" and is_float:
            # Assigned to an integer array it goes through int(), which checks its range.
            if not isinstance(value, Literal) or not float(value.object).is_integer():
                raise self.refuse("a Python float written into an array of integers")
            value = Literal(int(value.object))
        if dtype is None:
            kind = self.kind(value)
            dtype = (np.dtype(kind) if isinstance(kind, (np.dtype, type)) else kind).name
        return self.operand(value, dtype)

    def stacked(self, parts: list[Tensor], dtype: str | None) -> Tensor:
        raise NotImplementedError

    # ---- calls

    def ufunc_call(
        self, function: np.ufunc, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        positional = [self.resolve(value) for value in positional]
        named = {name: self.resolve(value) for name, value in named.items()}
        written = positional, dict(named)
        if function in (np.maximum, np.minimum) and len(positional) > 2:
            return self.opaque(function, *written, seen)  # which warns that this is deprecated
        if len(positional) > function.nin:
            extra = positional[function.nin :]
            named = {**named, "out": extra[0] if len(extra) == 1 else Sequence(extra)}
            positional = positional[: function.nin]
        out = named.pop("out", NONE)
        if isinstance(out, Sequence) and len(out.elements) == 1:
            out = self.resolve(out.elements[0])
        if all(self.is_fixed(value) for value in [*positional, *named.values(), out]) and (
            isinstance(seen, np.generic)
        ):
            if self.is_quiet(function, positional):
                return Literal(seen)
            return self.opaque(function, *written, seen)
        try:
            return self._ufunc(function, positional, dict(named), out)
        except NotCapturable:
            return self.opaque(function, *written, seen)

    def is_quiet(self, function: Any, positional: list[Abstract]) -> bool:
        """Whether the call on these constants raises no floating-point warning."""
        try:
            with np.errstate(all="raise"):
                function(*(self.plain(value) for value in positional))
        except FloatingPointError:
            return False
        return True

    def _ufunc(
        self, function: np.ufunc, positional: list[Abstract], named: Named, out: Abstract
    ) -> Abstract:
        where = named.pop("where", TRUE)
        kwargs: dict[str, Any] = {}
        dtype = named.pop("dtype", NONE)
        if not self.is_none(dtype):
            kwargs["signature"] = (None,) * function.nin + (np.dtype(self.plain(dtype)),)
        casting = named.pop("casting", None)
        if casting is not None:
            kwargs["casting"] = self.plain(casting)
        order = named.pop("order", None)
        if named or (order is not None and self.plain(order) != "K"):
            raise self.refuse(f"{function.__name__} with {', '.join(named) or 'order'}")
        positional = [
            self.as_array(value) if isinstance(value, (ListValue, Sequence)) else value
            for value in positional
        ]
        masked = not (isinstance(where, Literal) and where.object is True)
        if masked:  # elsewhere NumPy computes nothing, so nothing there may raise a flag
            test = self.cast(self.as_array(where), "bool")
            loop = self.loop_of(function, positional, **kwargs)
            positional = [
                self.elementwise("select", [test, self.operand(value, dtype), one], dtype)
                for value, dtype in zip(positional, loop, strict=False)
                for one in [self.operand(Literal(1), dtype)]
            ]
        result = self.ufunc(function, positional, **kwargs)
        if self.is_none(out):
            if masked:
                raise self.refuse("where= without out=")
            return result
        if not isinstance(out, Tensor):
            raise self.refuse(f"out={describe(out)}")
        return self.store_result(result, out, where)

    def store_result(self, result: Tensor, out: Tensor, where: Abstract = TRUE) -> Tensor:
        masked = not (isinstance(where, Literal) and where.object is True)
        if masked and not np.can_cast(out.dtype, result.dtype):
            # NumPy's loop runs on a converted copy of `out`, which may overflow and warn of it.
            raise self.refuse(f"where= with out= of {out.dtype} around a loop of {result.dtype}")
        result = self.cast(result, out.dtype)
        if masked:
            old = self.fresh(self.value_of(out), out.dtype, out.shape, out.order)
            test = self.cast(self.as_array(where), "bool")
            result = self.elementwise("select", [test, result, old], out.dtype, out.order)
        self.write(out, result)
        return out

    # ---- methods

    def ufunc_method(
        self, function: np.ufunc, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        try:
            if name == "outer" and len(positional) == 2 and not named:
                return self.ufunc_outer(function, *positional)
            if name == "reduce" and positional:
                return self.ufunc_reduce(function, *positional, **named)
            if name == "accumulate" and positional:
                return self.accumulate(function, *positional, **named)
        except (NotCapturable, TypeError):
            pass
        if name not in ("outer", "reduce", "accumulate", "reduceat", "at"):
            raise self.refuse(f"{function.__name__}.{name}")
        return self.opaque(getattr(function, name), positional, named, seen)

    def ufunc_outer(self, function: np.ufunc, a: Abstract, b: Abstract) -> Tensor:
        x, y = self.as_array(a), self.as_array(b)
        one = self.size(1)
        shape = [*x.shape, *(one for _ in y.shape)]
        value = self.reshape_value(self.in_c_order(x), shape)
        return self.ufunc(function, [self.fresh(value, x.dtype, shape), y])

    def ufunc_reduce(
        self,
        function: np.ufunc,
        array: Abstract,
        axis: Abstract = ZERO,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = FALSE,
        initial: Abstract = NONE,
        where: Abstract = TRUE,
    ) -> Abstract:
        if function not in REDUCTIONS:
            raise self.refuse(f"{function.__name__}.reduce")
        return self.reduction(function, array, axis, dtype, out, keepdims, initial, where)

    def axes(self, axis: Abstract, rank: int) -> list[int]:
        given = self.plain(axis)
        if given is None:
            return list(range(rank))
        return sorted(self.axis(a, rank) for a in (given if isinstance(given, tuple) else (given,)))

    def axis(self, axis: Any, rank: int) -> int:
        if not isinstance(axis, (int, np.integer)) or not -rank <= axis < rank:
            raise self.refuse(f"axis {axis!r} of an array of rank {rank}")
        return int(axis) % rank

    def reduction(
        self,
        function: np.ufunc,
        array: Abstract,
        axis: Abstract,
        dtype: Abstract,
        out: Abstract,
        keepdims: Abstract,
        initial: Abstract,
        where: Abstract,
    ) -> Tensor:
        """`function.reduce` over any axes (NumPy: ufunc_object.c, PyUFunc_Reduce)."""
        x = self.as_array(array)
        axes = self.axes(axis, x.rank)
        x = self.cast(x, self.accumulator(function, x.dtype, dtype))
        if not self.is_none(where) and not (isinstance(where, Literal) and where.object is True):
            x = self.masked(function, x, where)
        result = self.reduce(REDUCTIONS[function], x, axes, bool(self.plain(keepdims)))
        if not self.is_none(initial):
            result = self.ufunc(function, [self.operand(initial, x.dtype), result])
        if not self.is_none(out):
            if not isinstance(out, Tensor):
                raise self.refuse(f"out={describe(out)}")
            return self.store_result(result, out)
        return result

    def accumulator(self, function: np.ufunc, dtype: str, wanted: Abstract) -> str:
        """The dtype NumPy reduces in."""
        if not self.is_none(wanted):
            return self.dtype_name(wanted)
        if function in (np.logical_and, np.logical_or):
            return "bool"
        kind = np.dtype(dtype)
        if function in (np.add, np.multiply):
            if kind.kind == "b" or (kind.kind == "i" and kind.itemsize < 8):
                return "int64"
            if kind.kind == "u" and kind.itemsize < 8:
                return "uint64"
        return dtype

    def masked(self, function: np.ufunc, x: Tensor, where: Abstract) -> Tensor:
        neutral = {"sum": 0, "prod": 1, "all": True, "any": False}.get(REDUCTIONS[function])
        if neutral is None:
            raise self.refuse(f"{function.__name__}.reduce with where=")
        test = self.cast(self.as_array(where), "bool")
        return self.elementwise(
            "select", [test, x, self.operand(Literal(neutral), x.dtype)], x.dtype
        )

    def accumulate(
        self,
        function: np.ufunc,
        array: Abstract,
        axis: Abstract = ZERO,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
    ) -> Tensor:
        """`function.accumulate` along one axis."""
        if function not in SCANS:
            raise self.refuse(f"{function.__name__}.accumulate")
        x = self.as_array(array)
        place = self.axis(self.plain(axis), x.rank)
        x = self.cast(x, self.accumulator(function, x.dtype, dtype))
        value = self.along_value(SCANS[function], [self.value_of(x)], x.order.index(place))
        result = self.fresh(value, x.dtype, x.shape, x.order)
        if self.is_none(out):
            return result
        if not isinstance(out, Tensor):
            raise self.refuse(f"out={describe(out)}")
        return self.store_result(result, out)


__all__ = ["FALSE", "NONE", "TRUE", "UFUNCS", "ZERO", "Host", "Size", "Ufuncs"]
