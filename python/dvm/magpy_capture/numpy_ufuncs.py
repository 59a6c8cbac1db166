"""Universal functions, called with all their keywords."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from collections.abc import Sized
from typing import Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.arrays import Order, is_supported
from dvm.magpy_capture.containers import Containers
from dvm.magpy_capture.graphs import NAMES
from dvm.magpy_capture.program import describe
from dvm.magpy_capture.spec import NotCapturable
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    Sequence,
    Tensor,
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


class Ufuncs(Containers):
    """`np.add(...)` and its kin."""

    def is_literal(self, value: Abstract, wanted: Any) -> bool:
        value = self.resolve(value)
        return isinstance(value, Literal) and value.object is wanted

    def is_none(self, value: Abstract) -> bool:
        return self.is_literal(value, None)

    def dtype_name(self, value: Abstract) -> str:
        dtype = np.dtype(self.plain(value))
        if not is_supported(dtype):
            raise self.refuse(reasons.DTYPE, dtype.name)
        return NAMES[dtype]

    def as_array(self, value: Abstract, dtype: str | None = None) -> Tensor:
        """What np.asarray would make of `value`; numbers take `dtype` when it is given."""
        value = self.resolve(value)
        if isinstance(value, Tensor):
            return value
        if isinstance(value, (ListValue, Sequence)):
            self.require_few(value.elements)
            return self.stacked([self.element_of(part, dtype) for part in value.elements], dtype)
        if isinstance(value, Literal) and isinstance(value.object, (tuple, list)):
            return self.as_array(Sequence([Literal(part) for part in value.object]), dtype)
        is_float = isinstance(value, (Host, Literal)) and type(value.object) is float
        if dtype is not None and np.dtype(dtype).kind in "iu" and is_float:
            # Assigned to an integer array it goes through int(), which checks its range.
            if not isinstance(value, Literal) or not float(value.object).is_integer():
                raise self.refuse(reasons.PYTHON_FLOAT_WRITTEN_INTO_ARRAY)
            value = Literal(int(value.object))
        if dtype is None:
            kind = self.kind(value)
            dtype = (np.dtype(kind) if isinstance(kind, (np.dtype, type)) else kind).name
        return self.operand(value, dtype)

    def require_few(self, parts: Sized) -> None:
        if len(parts) > MAX_PARTS:
            raise self.refuse(reasons.ARRAY_MORE_PARTS, MAX_PARTS)

    def element_of(self, value: Abstract, dtype: str | None) -> Tensor:
        """`value` as it is stored into elements: NumPy checks a scalar's range if they are signed.

        (It goes through int(), which refuses NaN and infinity, too.)
        """
        value = self.resolve(value)
        if dtype is not None and isinstance(value, Tensor) and value.is_scalar:
            if np.dtype(dtype).kind == "i" and not np.can_cast(value.dtype, dtype):
                if value.object is None:
                    raise self.refuse(reasons.COMPUTED_SCALAR_WRITTEN_INTO_ARRAY)
                number = self._operate("int", self.register_of(value))
                self._require_range(Host(number, int(value.object)), np.iinfo(dtype))
        return self.as_array(value, dtype)

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
                return Literal(seen, made=isinstance(seen, np.generic))
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
            raise self.refuse(reasons.FUNCTION_WITH, function.__name__, ", ".join(named) or "order")
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
        outs = self._outs(out, function.nout)
        results = self.results(function, positional, self._order_into(outs, positional), **kwargs)
        if masked and None in outs:
            raise self.refuse(reasons.WHERE_WITHOUT_OUT)
        for result, to in zip(results, outs, strict=True):
            if to is not None:
                self.require_core(function, positional, result, to)
        delivered = [
            result if to is None else self.store_result(result, to, where)
            for result, to in zip(results, outs, strict=True)
        ]
        return delivered[0] if function.nout == 1 else Sequence(delivered)

    def require_core(
        self, function: np.ufunc, operands: SequenceOf[Abstract], result: Tensor, out: Tensor
    ) -> None:
        """The path is for calls whose `out` has the sizes that its function does not repeat."""

    def _order_into(
        self, outs: SequenceOf[Tensor | None], operands: SequenceOf[Abstract]
    ) -> Order | None:
        """The order of the array that the result goes into: then it does not follow from theirs."""
        out = outs[0] if len(outs) == 1 else None  # there are ufuncs without results
        if out is None:
            return None
        ranks = [each.rank for each in map(self.resolve, operands) if isinstance(each, Tensor)]
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
            return [self.ufunc(one, operands, **kwargs) for one in parts]
        if function not in PARTS:
            return [self.ufunc(function, operands, order, **kwargs)]
        loop = self.loop_of(function, operands, **kwargs)
        x = self.operand(operands[0], loop[0])
        return [
            self.cast(self.elementwise(op, [x], loop[0]), dtype)
            for op, dtype in zip(PARTS[function], loop[1:], strict=True)
        ]

    def _outs(self, out: Abstract, count: int) -> list[Tensor | None]:
        """The array that out= names for each result, if any."""
        named = out.elements if isinstance(out, Sequence) else [out]
        if self.is_none(out):
            named = [NONE] * count
        arrays: list[Tensor | None] = []
        for each in map(self.resolve, named):
            if isinstance(each, Tensor):
                arrays.append(each)
            elif self.is_none(each):
                arrays.append(None)
        if not len(arrays) == len(named) == count:
            raise self.refuse(reasons.OUT, describe(out))
        return arrays

    def store_result(self, result: Tensor, out: Tensor, where: Abstract = TRUE) -> Tensor:
        masked = not (isinstance(where, Literal) and where.object is True)
        if masked and not np.can_cast(out.dtype, result.dtype):
            # NumPy's loop runs on a converted copy of `out`, which may overflow and warn of it.
            raise self.refuse(reasons.WHERE_OUT_AROUND_LOOP, out.dtype, result.dtype)
        result = self.cast(result, out.dtype)
        if masked:
            old = self.fresh(self.value_of(out), out.dtype, out.shape, out.order)
            test = self.cast(self.as_array(where), "bool")
            result = self.elementwise("select", [test, result, old], out.dtype, out.order)
        self.write(out, result)
        return out


__all__ = ["ABSENT", "FALSE", "NONE", "TRUE", "ZERO", "Named", "Ufuncs"]
