"""NumPy's dtypes that the Graph has, and their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm.magpy_capture.library import DTYPES

#: `dtype.name` is a property in Python, and slow.
NAMES: dict[np.dtype[Any], str] = {np.dtype(name): name for name in DTYPES}
NUMBERS = frozenset(dtype.num for dtype in NAMES)


def is_supported(dtype: np.dtype[Any]) -> bool:
    """Whether the graph has the dtype: of two C types of one size NumPy's own default."""
    return dtype in NAMES and dtype.num in NUMBERS and not dtype.metadata


def dtype_name(dtype: np.dtype[Any]) -> str:
    return NAMES.get(dtype) or str(dtype.name)


def is_told_dtype(value: Any) -> bool:
    """Whether it is a dtype of which the core tells equal ones (cpp/capture/path/literals.cpp)."""
    of_numpy = issubclass(type(value), np.dtype) and value.num <= np.dtype("f2").num  # the last one
    return of_numpy and value.kind != "V" and not value.metadata


__all__ = ["NAMES", "dtype_name", "is_supported", "is_told_dtype"]
