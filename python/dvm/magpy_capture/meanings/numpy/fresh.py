"""New tensors of NumPy."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf

from dvm import _dvm
from dvm.magpy_capture.meanings.numpy.library import NUMPY
from dvm.magpy_capture.tensors import fresh as tensors
from dvm.magpy_capture.values import Tensor


def fresh(
    value: int,
    dtype: str,
    shape: SequenceOf[_dvm.Dim],
    order: tensors.Order | None = None,
    *,
    is_scalar: bool = False,
) -> Tensor:
    """A new array of NumPy whose content is `value`."""
    return tensors.fresh(value, dtype, shape, order, library=NUMPY, is_scalar=is_scalar)


__all__ = ["fresh"]
