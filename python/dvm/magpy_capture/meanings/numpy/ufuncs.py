"""Universal functions, called with all their keywords."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Sequence as SequenceOf
from typing import Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.meanings.numpy.dtypes import NAMES, is_supported
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.meanings.numpy.tables import UFUNCS, VECTORS
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import NotCapturable, refuse
from dvm.magpy_capture.registry import Meaning, calls_of
from dvm.magpy_capture.tensors.fresh import Order
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    Named,
    Sequence,
    Size,
    Tensor,
    is_none,
    resolve,
)
from dvm.magpy_capture.values.kinds import is_fixed

NONE = Literal(None)
ABSENT = Literal(np._NoValue)  # of an argument that was not given, where None means something
#: Of an array that the graph makes of others; it holds a value per part, and each depends on the
#: one before, so that longer lists are left to NumPy.

TRUE = Literal(True)
FALSE = Literal(False)
ZERO = Literal(0)
#: values that NumPy makes arrays of
LISTS = frozenset({ListValue, Sequence})

#: ufunc of two results -> the ops that compute them
PARTS: dict[np.ufunc, tuple[str, str]] = {
    np.frexp: ("frexp_mantissa", "frexp_exponent"),
    np.modf: ("modf_fraction", "trunc"),
}

#: function that is not elementwise -> what applying it means: (function, operands, **kwargs)
OTHERWISE: dict[Any, Meaning] = {}


def applied_otherwise(*functions: np.ufunc) -> Callable[[Meaning], Meaning]:
    """Register what applying these universal functions means."""

    def register(meaning: Meaning) -> Meaning:
        OTHERWISE.update(dict.fromkeys(functions, meaning))
        return meaning

    return register


class Ufuncs(NumpyPart):
    """`np.add(...)` and its kin."""

    needs = (
        "arrays elementwise identity indexing joining meanings opaque program promotion rules "
        "writes"
    )

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
            self.joining.require_few(value.elements)
            return self.joining.stacked(
                [self.element_of(part, dtype) for part in value.elements], dtype
            )
        if isinstance(value, Literal) and isinstance(value.object, (tuple, list)):
            return self.as_array(Sequence([Literal(part) for part in value.object]), dtype)
        is_float = isinstance(value, (Host, Literal)) and type(value.object) is float
        if dtype is not None and np.dtype(dtype).kind in "iu" and is_float:
            # Assigned to an integer array it goes through int().
            if not math.isfinite(value.object):
                raise refuse(reasons.PYTHON_FLOAT_WRITTEN_INTO_ARRAY)
            whole = int(value.object)
            if isinstance(value, Host):
                value = Host(self.program.operate("int", value.register), whole)
            else:
                value = Literal(whole)
        if dtype is None:
            kind = self.promotion.kind(value)
            dtype = (np.dtype(kind) if isinstance(kind, (np.dtype, type)) else kind).name
        return self.promotion.operand(value, dtype)

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
                self.promotion.require_range(Host(number, int(value.object)), np.iinfo(dtype))
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
        if isinstance(seen, np.generic) and all(
            is_fixed(value) for value in [*positional, *named.values(), out]
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
        has_lists = not LISTS.isdisjoint(map(type, positional))
        if not named and out is NONE and function.nout == 1 and not has_lists:
            return self.results(function, positional)[0]
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
        if has_lists:
            positional = [
                self.as_array(value) if type(value) in LISTS else value for value in positional
            ]
        masked = not (isinstance(where, Literal) and where.object is True)
        if masked:  # elsewhere NumPy computes nothing, so nothing there may raise a flag
            test = self.elementwise.cast(self.as_array(where), "bool")
            loop = self.promotion.loop_of(function, positional, **kwargs)
            positional = [
                self.elementwise.apply(
                    "select", [test, self.promotion.operand(value, dtype), one], dtype
                )
                for value, dtype in zip(positional, loop, strict=False)
                for one in [self.promotion.operand(Literal(1), dtype)]
            ]
        outs = self._outs(out, function.nout)
        results = self.results(function, positional, self._order_into(outs, positional), **kwargs)
        if masked and None in outs:
            raise refuse(reasons.WHERE_WITHOUT_OUT)
        for result, to in zip(results, outs, strict=True):
            if to is not None:
                self._require_core(function, positional, result, to)
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
            return [self.apply(one, operands, **kwargs) for one in parts]
        if function not in PARTS:
            return [self.apply(function, operands, order, **kwargs)]
        loop = self.promotion.loop_of(function, operands, **kwargs)
        x = self.promotion.operand(operands[0], loop[0])
        return [
            self.elementwise.cast(self.elementwise.apply(op, [x], loop[0]), dtype)
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
        result = self.elementwise.cast(result, out.dtype)
        if masked:
            old = fresh(self.arrays.value_of(out), out.dtype, out.shape, out.order)
            test = self.elementwise.cast(self.as_array(where), "bool")
            result = self.elementwise.apply("select", [test, result, old], out.dtype, out.order)
        self.writes.write(out, result)
        return out

    def _require_core(
        self, function: np.ufunc, operands: SequenceOf[Abstract], result: Tensor, out: Tensor
    ) -> None:
        """Rows and columns of a product are not repeated into `out`, as a batch is."""
        if function is not np.matmul and function not in VECTORS:
            return
        a, b = (self.as_array(each) for each in operands)
        row, column = VECTORS.get(function, (a.rank == 1, b.rank == 1))
        core = (not row) + (not column)
        if out.rank < core:
            raise refuse(reasons.OUT_ANOTHER_RANK_RESULT)
        if core:
            self.program.require_all_equal(out.shape[-core:], result.shape[-core:])

    def apply(
        self,
        function: np.ufunc,
        operands: SequenceOf[Abstract],
        order: Order | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """`function(*operands)`, at least one of them an array.

        order: in which the result is wanted, where NumPy's is not what it will have.
        """
        if (meaning := OTHERWISE.get(function)) is not None:
            made: Tensor = meaning(self.meanings.holder(meaning), function, operands, **kwargs)
            return made
        if function is np.square:
            loop = self.promotion.loop_of(function, operands, **kwargs)
            x = self.promotion.operand(operands[0], loop[0])
            return self.elementwise.apply("mul", [x, x], loop[-1], order)
        op = UFUNCS.get(function)
        if op is None or len(operands) != function.nin:
            raise refuse(reasons.UFUNC, function.__name__)
        loop = self.promotion.loop_of(function, operands, **kwargs)
        if op == "power" and (factors := self.factors_of_power(operands, loop[0])):
            return self.elementwise.apply("mul", factors, loop[-1], order)
        typed = [self.promotion.operand(a, dtype) for a, dtype in zip(operands, loop, strict=False)]
        if op in ("maximum", "minimum"):
            return self.extreme(op, typed, loop[-1], order)
        if function is np.ldexp:
            typed[1] = self.exponent(typed[1], loop[0])
        if function is np.bitwise_count:
            return self.elementwise.cast(
                self.elementwise.apply(op, typed, loop[0], order), loop[-1]
            )
        return self.elementwise.apply(op, typed, loop[-1], order)

    def factors_of_power(self, operands: SequenceOf[Abstract], dtype: str) -> list[Tensor]:
        """Two factors of a float to a small literal power; none where that is no product.

        NumPy's own loop computes squares so; a cube has at most 1.3 ulp, and no flags of its own.
        """
        power = resolve(operands[1])
        if dtype not in ("float32", "float64") or not isinstance(power, Literal):
            return []
        if type(power.object) not in (int, float) or power.object not in (2, 3):
            return []
        x = self.promotion.operand(operands[0], dtype)
        return [x if power.object == 2 else self.elementwise.apply("mul", [x, x], dtype), x]

    def exponent(self, power: Tensor, dtype: str) -> Tensor:
        """An exponent of two as a float: of halves within what any can have, else it may round."""
        if dtype != "float16":
            return self.elementwise.cast(power, dtype)
        for op, limit in (("maximum", -10_000), ("minimum", 10_000)):
            bound = self.promotion.operand(Literal(limit), power.dtype)
            power = self.elementwise.apply(op, [power, bound], power.dtype, power.order)
        return self.elementwise.cast(power, dtype)

    def extreme(
        self, op: str, pair: SequenceOf[Tensor], dtype: str, order: Order | None = None
    ) -> Tensor:
        """Maximum or minimum: of two zeros the second, of halves the first, as NumPy's loops."""
        if order is None:
            order = self.rules.result_order(pair, max(t.rank for t in pair))
        return self.elementwise.apply(op, pair[::-1] if dtype == "float16" else pair, dtype, order)

    def power_shortcut(self, a: Abstract, b: Abstract) -> np.ufunc | None:
        """What ndarray.__pow__ computes small exponents with (NumPy: number.c)."""
        if not isinstance(a, Tensor) or a.is_scalar or not isinstance(b, Literal):
            return None
        if type(b.object) not in (int, float):
            return None
        is_float = np.dtype(a.dtype).kind == "f"
        if b.object == 2 and (is_float or type(b.object) is int):
            return np.square
        if not is_float:
            return None
        return {0.5: np.sqrt, 1.0: np.positive, -1.0: np.reciprocal}.get(float(b.object))

    def is_integer_scalar(self, *values: Abstract) -> bool:
        """Whether all are integer scalars (bools too), at least one of them NumPy's own."""
        has_scalar = False
        for value in values:
            if isinstance(value, Tensor) and value.is_scalar:
                has_scalar = True
            elif not isinstance(value, (Literal, Host, Size)):
                return False
        if not has_scalar:
            return False
        kinds = [self.identity.class_of(value) for value in values]
        whole = all(issubclass(kind, (int, np.integer, np.bool_)) for kind in kinds)
        return whole and any(issubclass(kind, np.integer) for kind in kinds)


__all__ = ["ABSENT", "FALSE", "NONE", "TRUE", "ZERO", "Ufuncs"]
