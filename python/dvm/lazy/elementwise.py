"""Elementwise functions. Those of the native core are its own, whatever they are called on."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm import _dvm
from dvm.lazy.door import Array, through_numpy

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "where",
]

_CORE = _dvm.lazy_functions

abs = _CORE["abs"]
acos = _CORE["arccos"]
acosh = _CORE["arccosh"]
add = _CORE["add"]
asin = _CORE["arcsin"]
asinh = _CORE["arcsinh"]
atan = _CORE["arctan"]
atan2 = _CORE["arctan2"]
atanh = _CORE["arctanh"]
bitwise_and = _CORE["bitwise_and"]
bitwise_invert = _CORE["invert"]
bitwise_left_shift = _CORE["left_shift"]
bitwise_or = _CORE["bitwise_or"]
bitwise_right_shift = _CORE["right_shift"]
bitwise_xor = _CORE["bitwise_xor"]
ceil = _CORE["ceil"]
copysign = _CORE["copysign"]
cos = _CORE["cos"]
cosh = _CORE["cosh"]
divide = _CORE["div"]
equal = _CORE["eq"]
exp = _CORE["exp"]
expm1 = _CORE["expm1"]
floor = _CORE["floor"]
floor_divide = _CORE["floor_divide"]
greater = _CORE["gt"]
greater_equal = _CORE["ge"]
hypot = _CORE["hypot"]
isfinite = _CORE["isfinite"]
isinf = _CORE["isinf"]
isnan = _CORE["isnan"]
less = _CORE["lt"]
less_equal = _CORE["le"]
log = _CORE["log"]
log10 = _CORE["log10"]
log1p = _CORE["log1p"]
log2 = _CORE["log2"]
logaddexp = _CORE["logaddexp"]
logical_and = _CORE["logical_and"]
logical_not = _CORE["logical_not"]
logical_or = _CORE["logical_or"]
logical_xor = _CORE["logical_xor"]
maximum = _CORE["maximum"]
minimum = _CORE["minimum"]
multiply = _CORE["mul"]
negative = _CORE["neg"]
nextafter = _CORE["nextafter"]
not_equal = _CORE["ne"]
positive = _CORE["positive"]
pow = _CORE["power"]
reciprocal = _CORE["reciprocal"]
remainder = _CORE["remainder"]
sign = _CORE["sign"]
signbit = _CORE["signbit"]
sin = _CORE["sin"]
sinh = _CORE["sinh"]
sqrt = _CORE["sqrt"]
square = _CORE["square"]
subtract = _CORE["sub"]
tan = _CORE["tan"]
tanh = _CORE["tanh"]
trunc = _CORE["trunc"]
where = _CORE["select"]
conj = through_numpy(np.conj)
imag = through_numpy(np.imag)
real = through_numpy(np.real)

_clip = through_numpy(np.clip)
_round = through_numpy(np.round)


def round(x: Any, /) -> Any:
    """Return the nearest whole numbers, ties to even."""
    return _CORE["rint"](x) if _is_real(x) else _round(x)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Return the elements, and the bounds where they are beyond."""
    bounds = [bound for bound in (min, max) if bound is not None]
    if not bounds or not _is_real(x) or not all(_is_bound(bound, x.dtype) for bound in bounds):
        return _clip(x, min, max)
    if min is not None:
        x = maximum(x, min)
    return x if max is None else minimum(x, max)


def _is_real(x: Any) -> bool:
    return type(x) is Array and x.dtype.kind == "f"


def _is_bound(bound: Any, dtype: np.dtype[Any]) -> bool:
    return type(bound) in (int, float) or (type(bound) is Array and bound.dtype == dtype)
