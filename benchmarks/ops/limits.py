"""What the machine reaches at most (benchmarks/cpp/machine_limits.h), measured in this process."""

from __future__ import annotations

import ctypes
from pathlib import Path

from .programs import Array

BUILT = Path(__file__).resolve().parents[2] / "build/release/benchmarks/cpp"


class Limits:
    """Raises OSError where the library is not built."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        library = ctypes.CDLL(str(BUILT / "libmachine_limits.so"))
        self._multiply_add = library.dvm_multiply_add_seconds
        self._multiply_add.restype = ctypes.c_double
        self._multiply_add.argtypes = [ctypes.c_double, ctypes.c_int]
        self._read = library.dvm_read_seconds
        self._read.restype = ctypes.c_double
        self._read.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int]

    def multiply_add(self, operations: float) -> float:
        """Return the seconds that so many operations in f32 take with nothing to load."""
        return float(self._multiply_add(operations, self._threads))

    def read(self, array: Array) -> float:
        """Return the seconds that reading the array takes."""
        return float(self._read(array.ctypes.data, array.nbytes, self._threads))
