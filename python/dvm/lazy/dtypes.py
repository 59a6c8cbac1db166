"""Dtypes, which are NumPy's, and questions about them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dvm.lazy.door import Array

__all__ = [
    "__array_namespace_info__",
    "bool",
    "can_cast",
    "complex64",
    "complex128",
    "e",
    "finfo",
    "float32",
    "float64",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "nan",
    "newaxis",
    "pi",
    "result_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

bool = np.dtype("bool")
int8, int16, int32, int64 = (np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
float32, float64 = np.dtype("float32"), np.dtype("float64")
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")

e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None

# Devices, default dtypes and limits are those of the values.
__array_namespace_info__ = np.__array_namespace_info__


def _dtype_of(given: Any) -> Any:
    return given.dtype if type(given) is Array else given


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether promotion goes from the one dtype to the other."""
    return np.can_cast(_dtype_of(from_), to)


def finfo(type: Any, /) -> Any:
    """Return the limits of a floating dtype."""
    return np.finfo(_dtype_of(type))


def iinfo(type: Any, /) -> Any:
    """Return the limits of an integer dtype."""
    return np.iinfo(_dtype_of(type))


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether the dtype is of that kind."""
    return np.isdtype(np.dtype(dtype), kind)


def result_type(*arrays_and_dtypes: Any) -> Any:
    """Return the dtype that these promote to; Python's numbers go along with the others."""
    return np.result_type(*map(_dtype_of, arrays_and_dtypes))
