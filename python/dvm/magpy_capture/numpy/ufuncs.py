"""Universal functions, called with all their keywords."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from collections.abc import Sized
from typing import Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.meanings import calls_of
from dvm.magpy_capture.part import Part
from dvm.magpy_capture.path.graphs import NAMES
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import NotCapturable, refuse
from dvm.magpy_capture.python.heap import is_fixed
from dvm.magpy_capture.tensors.arrays import Order, fresh, is_supported
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    Sequence,
    Tensor,
    is_none,
    resolve,
)

Named = dict[str, Abstract]
NONE = Literal(None)
ABSENT = Literal(np._NoValue)  # of an argument that was not given, where None means something
#: Of an array that the graph makes of others; it holds a value per part, and each depends on the
#: one before, so that longer lists are left to NumPy.
MAX_PARTS = 128
TRUE = Literal(True)
FALSE = Literal(False)
ZERO = Literal(0)

#: ufunc of two results -> the ops that compute them
PARTS: dict[np.ufunc, tuple[str, str]] = {
    np.frexp: ("frexp_mantissa", "frexp_exponent"),
    np.modf: ("modf_fraction", "trunc"),
}


class Ufuncs(Part):
    """`np.add(...)` and its kin."""

    needs = "arrays indexing opaque products program shapes"

    def dtype_name(self, value: Abstract) -> str:
        dtype = np.dtype(self.indexing.plain(value))
        if not is_supported(dtype):
            raise refuse(reasons.DTYPE, dtype.name)
        return NAMES[dtype]

    def as_array(self, value: Abstract, dtype: str | None = None) -> Tensor:
        """What np.asarray would make of `value`; numbers take `dtype` when it is given."""
        value = resolve(value)
        if isinstance(value, Tensor):
            return value
        if isinstance(value, (ListValue, Sequence)):
            self.require_few(value.elements)
            return self.shapes.stacked(
                [self.element_of(part, dtype) for part in value.elements], dtype
            )
        if isinstance(value, Literal) and isinstance(value.object, (tuple, list)):
            return self.as_array(Sequence([Literal(part) for part in value.object]), dtype)
        is_float = isinstance(value, (Host, Literal)) and type(value.object) is float
        if dtype is not None and np.dtype(dtype).kind in "iu" and is_float:
            # Assigned to an integer array it goes through int(), which checks its range.
            if not isinstance(value, Literal) or not float(value.object).is_integer():
                raise refuse(reasons.PYTHON_FLOAT_WRITTEN_INTO_ARRAY)
            value = Literal(int(value.object))
        if dtype is None:
            kind = self.arrays.kind(value)
            dtype = (np.dtype(kind) if isinstance(kind, (np.dtype, type)) else kind).name
        return self.arrays.operand(value, dtype)

    def require_few(self, parts: Sized) -> None:
        if len(parts) > MAX_PARTS:
            raise refuse(reasons.ARRAY_MORE_PARTS, MAX_PARTS)

    def element_of(self, value: Abstract, dtype: str | None) -> Tensor:
        """`value` as it is stored into elements: NumPy checks a scalar's range if they are signed.

        (It goes through int(), which refuses NaN and infinity, too.)
        """
        value = resolve(value)
        if dtype is not None and isinstance(value, Tensor) and value.is_scalar:
            if np.dtype(dtype).kind == "i" and not np.can_cast(value.dtype, dtype):
                if value.object is None:
                    raise refuse(reasons.COMPUTED_SCALAR_WRITTEN_INTO_ARRAY)
                number = self.program.operate("int", self.program.register_of(value))
                self.arrays.require_range(Host(number, int(value.object)), np.iinfo(dtype))
        return self.as_array(value, dtype)

    # ---- calls

    @calls_of(np.ufunc)
    def ufunc_call(
        self, function: np.ufunc, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        positional = [resolve(value) for value in positional]
        named = {name: resolve(value) for name, value in named.items()}
        written = positional, dict(named)
        if function in (np.maximum, np.minimum) and len(positional) > 2:
            return self.opaque.call(function, *written, seen)  # which warns that this is deprecated
        if len(positional) > function.nin:
            extra = positional[function.nin :]
            named = {**named, "out": extra[0] if len(extra) == 1 else Sequence(extra)}
            positional = positional[: function.nin]
        out = named.pop("out", NONE)
        if isinstance(out, Sequence) and len(out.elements) == 1:
            out = resolve(out.elements[0])
        if all(is_fixed(value) for value in [*positional, *named.values(), out]) and (
            isinstance(seen, np.generic)
        ):
            if self.is_quiet(function, positional):
                return Literal(seen, made=isinstance(seen, np.generic))
            return self.opaque.call(function, *written, seen)
        try:
            return self.computed(function, positional, dict(named), out)
        except NotCapturable:
            return self.opaque.call(function, *written, seen)

    def is_quiet(self, function: Any, positional: list[Abstract]) -> bool:
        """Whether the call on these constants raises no floating-point warning."""
        try:
            with np.errstate(all="raise"):
                function(*(self.indexing.plain(value) for value in positional))
        except FloatingPointError:
            return False
        return True

    def computed(
        self, function: np.ufunc, positional: list[Abstract], named: Named, out: Abstract
    ) -> Abstract:
        where = named.pop("where", TRUE)
        kwargs: dict[str, Any] = {}
        dtype = named.pop("dtype", NONE)
        if not is_none(dtype):
            kwargs["signature"] = (None,) * function.nin + (np.dtype(self.indexing.plain(dtype)),)
        casting = named.pop("casting", None)
        if casting is not None:
            kwargs["casting"] = self.indexing.plain(casting)
        order = named.pop("order", None)
        if named or (order is not None and self.indexing.plain(order) != "K"):
            raise refuse(reasons.FUNCTION_WITH, function.__name__, ", ".join(named) or "order")
        positional = [
            self.as_array(value) if isinstance(value, (ListValue, Sequence)) else value
            for value in positional
        ]
        masked = not (isinstance(where, Literal) and where.object is True)
        if masked:  # elsewhere NumPy computes nothing, so nothing there may raise a flag
            test = self.arrays.cast(self.as_array(where), "bool")
            loop = self.arrays.loop_of(function, positional, **kwargs)
            positional = [
                self.arrays.elementwise(
                    "select", [test, self.arrays.operand(value, dtype), one], dtype
                )
                for value, dtype in zip(positional, loop, strict=False)
                for one in [self.arrays.operand(Literal(1), dtype)]
            ]
        outs = self._outs(out, function.nout)
        results = self.results(function, positional, self._order_into(outs, positional), **kwargs)
        if masked and None in outs:
            raise refuse(reasons.WHERE_WITHOUT_OUT)
        for result, to in zip(results, outs, strict=True):
            if to is not None:
                self.products.require_core(function, positional, result, to)
        delivered = [
            result if to is None else self.store_result(result, to, where)
            for result, to in zip(results, outs, strict=True)
        ]
        return delivered[0] if function.nout == 1 else Sequence(delivered)

    def _order_into(
        self, outs: SequenceOf[Tensor | None], operands: SequenceOf[Abstract]
    ) -> Order | None:
        """The order of the array that the result goes into: then it does not follow from theirs."""
        out = outs[0] if len(outs) == 1 else None  # there are ufuncs without results
        if out is None:
            return None
        ranks = [each.rank for each in map(resolve, operands) if isinstance(each, Tensor)]
        return out.order if out.rank == max(ranks, default=-1) else None

    def results(
        self,
        function: np.ufunc,
        operands: list[Abstract],
        order: Order | None = None,
        **kwargs: Any,
    ) -> list[Tensor]:
        """What a ufunc of one result or of two computes."""
        if function is np.divmod:
            parts = (np.floor_divide, np.remainder)
            return [self.arrays.ufunc(one, operands, **kwargs) for one in parts]
        if function not in PARTS:
            return [self.arrays.ufunc(function, operands, order, **kwargs)]
        loop = self.arrays.loop_of(function, operands, **kwargs)
        x = self.arrays.operand(operands[0], loop[0])
        return [
            self.arrays.cast(self.arrays.elementwise(op, [x], loop[0]), dtype)
            for op, dtype in zip(PARTS[function], loop[1:], strict=True)
        ]

    def _outs(self, out: Abstract, count: int) -> list[Tensor | None]:
        """The array that out= names for each result, if any."""
        named = out.elements if isinstance(out, Sequence) else [out]
        if is_none(out):
            named = [NONE] * count
        arrays: list[Tensor | None] = []
        for each in map(resolve, named):
            if isinstance(each, Tensor):
                arrays.append(each)
            elif is_none(each):
                arrays.append(None)
        if not len(arrays) == len(named) == count:
            raise refuse(reasons.OUT, describe(out))
        return arrays

    def store_result(self, result: Tensor, out: Tensor, where: Abstract = TRUE) -> Tensor:
        masked = not (isinstance(where, Literal) and where.object is True)
        if masked and not np.can_cast(out.dtype, result.dtype):
            # NumPy's loop runs on a converted copy of `out`, which may overflow and warn of it.
            raise refuse(reasons.WHERE_OUT_AROUND_LOOP, out.dtype, result.dtype)
        result = self.arrays.cast(result, out.dtype)
        if masked:
            old = fresh(self.arrays.value_of(out), out.dtype, out.shape, out.order)
            test = self.arrays.cast(self.as_array(where), "bool")
            result = self.arrays.elementwise("select", [test, result, old], out.dtype, out.order)
        self.arrays.write(out, result)
        return out


__all__ = ["ABSENT", "FALSE", "NONE", "TRUE", "ZERO", "Named", "Ufuncs"]
