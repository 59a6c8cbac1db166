"""The extension `linalg` of the standard, and what the main namespace has of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm import _dvm
from dvm.lazy.door import through_numpy
from dvm.lazy.shapes import matrix_transpose

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

matmul = _dvm.lazy_functions["matmul"]
tensordot = through_numpy(np.tensordot)
vecdot = through_numpy(np.vecdot)

cholesky = through_numpy(np.linalg.cholesky)
cross = through_numpy(np.linalg.cross)
det = through_numpy(np.linalg.det)
diagonal = through_numpy(np.linalg.diagonal)
eigh = through_numpy(np.linalg.eigh)
eigvalsh = through_numpy(np.linalg.eigvalsh)
inv = through_numpy(np.linalg.inv)
matrix_norm = through_numpy(np.linalg.matrix_norm)
matrix_power = through_numpy(np.linalg.matrix_power)
outer = through_numpy(np.linalg.outer)
qr = through_numpy(np.linalg.qr)
slogdet = through_numpy(np.linalg.slogdet)
svd = through_numpy(np.linalg.svd)
svdvals = through_numpy(np.linalg.svdvals)
trace = through_numpy(np.linalg.trace)
vector_norm = through_numpy(np.linalg.vector_norm)

_matrix_rank = through_numpy(np.linalg.matrix_rank)
_pinv = through_numpy(np.linalg.pinv)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """How many singular values are larger than rtol times the largest."""
    return _matrix_rank(x, rtol=rtol)


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """The pseudo-inverse by singular values, without those below rtol times the largest."""
    return _pinv(x) if rtol is None else _pinv(x, rtol=rtol)


@through_numpy
def solve(x1: Any, x2: Any, /) -> Any:
    """Return x of x1 @ x = x2. x2 is a vector only where its rank is 1."""
    if x2.ndim == 1:
        return np.linalg.solve(x1, x2[:, None])[..., 0]
    return np.linalg.solve(x1, x2)
