"""NumPy's promotion (NEP 50): operands as tensors of the dtypes that a ufunc's loop takes.

Result dtypes are not re-invented: ufuncs resolve them (`ufunc.resolve_dtypes`).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence as SequenceOf
from typing import Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.library import DTYPES
from dvm.magpy_capture.meanings.numpy.dtypes import NAMES, is_supported
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import Abstract, Host, Literal, Size, Tensor, resolve

PYTHON_NUMBERS = (bool, int, float)


class Promotion(NumpyPart):
    """Operands in the dtypes that NumPy computes with."""

    needs = "elementwise graph program sizes"

    def operand(self, operand: Abstract, dtype: str) -> Tensor:
        """`operand` as a tensor of `dtype`."""
        if dtype not in DTYPES:
            raise refuse(reasons.ARITHMETIC_OF_DTYPE, dtype)
        operand = resolve(operand)
        if isinstance(operand, Tensor):
            return self.elementwise.cast(operand, dtype)
        if isinstance(operand, Size):
            if np.dtype(dtype).kind in "iu" and dtype != "int64":
                number = Host(
                    self.program.register_of_dim(operand.dim), self.sizes.observed(operand.dim)
                )
                self.require_range(number, np.iinfo(dtype))
            return fresh(self.graph.dim_value(dtype, operand.dim), dtype, [])
        if isinstance(operand, Host) and type(operand.object) in PYTHON_NUMBERS:
            return self._number(operand, dtype)
        if isinstance(operand, Literal) and not issubclass(type(operand.object), np.ndarray):
            return fresh(self._constant(operand.object, dtype), dtype, [])
        raise refuse(reasons.ARITHMETIC_WITH, describe(operand))

    def _number(self, number: Host, dtype: str) -> Tensor:
        kind = type(number.object)
        if kind is bool:
            own = "bool"
        elif kind is float:
            own = "float64"
        else:
            own = "int64"
            if np.dtype(dtype).kind in "iu" and dtype != "int64":
                self.require_range(number, np.iinfo(dtype))
        value = self.graph.scalar_value(own, number.register)
        if own == "int64" and dtype in ("float16", "float32"):
            value = self.graph.cast_value(value, "float64")  # as NumPy converts a Python int
        return fresh(self.graph.cast_value(value, dtype), dtype, [])

    def require_range(self, number: Host, limits: Any) -> None:
        """NumPy checks a Python int against the range of a narrower loop, and raises."""
        below, above = number.object <= limits.max, number.object >= limits.min
        for name, limit, holds in (("<=", int(limits.max), below), (">=", int(limits.min), above)):
            if abs(limit) < 2**63:
                test = self.program.operate(name, number.register, self.program.constant(limit))
                self.program.guard("guard_truth", test, bool(holds))
        if not (below and above):
            raise refuse(reasons.NUMBER_ARITHMETIC, number.object, limits.dtype)

    def _constant(self, value: Any, dtype: str) -> int:
        if type(value) is int:
            kind = np.dtype(dtype)
            fits = (
                np.iinfo(kind).min <= value <= np.iinfo(kind).max
                if kind.kind in "iu"
                else abs(value) < 2**63
            )
            if not fits:
                raise refuse(reasons.NUMBER, value, dtype)
        return self.graph.constant_value(dtype, value)

    def kind(self, operand: Abstract) -> Any:
        """What NumPy's promotion sees: a dtype, or a Python number type (weak)."""
        operand = resolve(operand)
        if isinstance(operand, Tensor):
            return np.dtype(operand.dtype)
        if isinstance(operand, Size):
            return int
        if isinstance(operand, (Literal, Host)):
            if isinstance(operand.object, np.generic):
                return operand.object.dtype
            # bool is a strong dtype to NEP 50, int and float are weak.
            if isinstance(operand.object, bool):
                return np.dtype(bool)
            if type(operand.object) in PYTHON_NUMBERS:
                return type(operand.object)
        raise refuse(reasons.OPERAND, describe(operand))

    def loop_of(
        self, function: np.ufunc, operands: SequenceOf[Abstract], **kwargs: Any
    ) -> tuple[str, ...]:
        """The dtypes of the ufunc's inner loop for these operands."""
        kinds = (*map(self.kind, operands), *[None] * function.nout)
        try:
            return resolved(function, kinds, **kwargs)
        except TypeError as mismatch:
            raise refuse(reasons.UFUNC_ARGUMENTS, function.__name__, mismatch) from None


@functools.lru_cache(maxsize=1024)
def resolved(function: np.ufunc, kinds: tuple[Any, ...], **kwargs: Any) -> tuple[str, ...]:
    """The dtypes of the loop that a ufunc takes for operands of these kinds."""
    dtypes = function.resolve_dtypes(kinds, **kwargs)
    for dtype in dtypes:
        if not is_supported(dtype):
            raise refuse(reasons.DTYPE, dtype.name)
    return tuple(NAMES[dtype] for dtype in dtypes)


__all__ = ["Promotion"]
