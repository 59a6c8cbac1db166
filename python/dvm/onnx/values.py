"""What names of a model stand for while it is imported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from onnx import TensorProto

from dvm import _dvm
from dvm.building.builder import Size, Tensor, is_same

#: dtypes of the Graph by ONNX's element types
DTYPES = {
    TensorProto.FLOAT: "f32",
    TensorProto.UINT8: "u8",
    TensorProto.INT8: "i8",
    TensorProto.UINT16: "u16",
    TensorProto.INT16: "i16",
    TensorProto.INT32: "i32",
    TensorProto.INT64: "i64",
    TensorProto.BOOL: "bool",
    TensorProto.FLOAT16: "f16",
    TensorProto.DOUBLE: "f64",
    TensorProto.UINT32: "u32",
    TensorProto.UINT64: "u64",
    TensorProto.BFLOAT16: "bf16",
}
ELEMENT_TYPES = {dtype: element for element, dtype in DTYPES.items()}
NUMPY = {
    **{spelling: np.dtype(name) for name, spelling in _dvm.dtype_table},
    "bf16": np.dtype(ml_dtypes.bfloat16),
}
SPELLINGS = {dtype: spelling for spelling, dtype in NUMPY.items()}
SIGNED = frozenset({"i8", "i16", "i32", "i64"})
UNSIGNED = frozenset({"u8", "u16", "u32", "u64"})
INTEGERS = SIGNED | UNSIGNED


def element_name(element: int) -> str:
    """Return how an element type of ONNX is called; a number that it has none for is its name."""
    if element in DTYPES:
        return DTYPES[element]
    known = TensorProto.DataType.values()
    return TensorProto.DataType.Name(element).lower() if element in known else f"type_{element}"


class Known(NamedTuple):
    """An array that is known while the model is imported; of objects where elements are sizes.

    dtype: of the Graph's, or "" for element types that it has not.
    """

    array: np.ndarray[Any, Any]
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def rank(self) -> int:
        return self.array.ndim

    @property
    def is_symbolic(self) -> bool:
        """Whether elements are sizes that are told by calls."""
        return self.array.dtype == object and self.dtype != ""


#: lists are ONNX's sequences, None an operand or an optional value that is not there
Value = Tensor | Known | list[Any] | None


class Needs(Exception):  # noqa: N818
    """What has to be known before the model can be imported; the call tells.

    values: names of inputs, of which the elements decide what is computed.
    sizes: names of inputs whose elements are sizes.
    symbols: sizes that have to be numbers.
    ranks: names of inputs of which the model tells no shape.
    """

    def __init__(
        self,
        why: str,
        *,
        values: Iterable[str] = (),
        sizes: Iterable[str] = (),
        symbols: Iterable[str] = (),
        ranks: Iterable[str] = (),
    ) -> None:
        super().__init__(why)
        self.values, self.sizes = frozenset(values), frozenset(sizes)
        self.symbols, self.ranks = frozenset(symbols), frozenset(ranks)


class Refused(Exception):  # noqa: N818
    """What an operator says that dvm has no meaning for; where it stands is added."""


def known(array: Any) -> Known:
    """Return an array as a known value; sizes that are numbers become numbers."""
    array = np.asarray(array)
    if array.dtype == object or array.dtype.kind in "US":
        return Known(array.astype(object), "")
    return Known(array, SPELLINGS.get(array.dtype, ""))


def sizes_of(sizes: Sequence[Size], shape: Sequence[int] | None = None) -> Known:
    """Return sizes as a known i64 array of rank 1, or of a shape."""
    plain: list[Any] = [_plain(size) for size in sizes]
    if all(isinstance(size, int) for size in plain):
        array = np.array(plain, np.int64)
    else:
        array = np.empty(len(plain), object)
        array[:] = plain
    return Known(array if shape is None else array.reshape(tuple(shape)), "i64")


def _plain(size: Any) -> Size:
    if isinstance(size, _dvm.Dim):
        return size if size.constant is None else size.constant
    return int(size)


def symbols_of(size: Size) -> set[str]:
    """Return the names of what a size is computed of."""
    if isinstance(size, int):
        return set()
    if (name := size.symbol) is not None:
        return {name}
    found: set[str] = set()
    if (function := size.function) is not None:
        for part in function[1:]:
            if isinstance(part, _dvm.Dim):
                found |= symbols_of(part)
        return found
    for _, factors in size.terms:
        for factor in factors:
            found |= symbols_of(factor)
    return found


def product_of(sizes: Iterable[Size]) -> Size:
    """Return the number of elements of a shape."""
    product: Size = 1
    for size in sizes:
        product = size * product
    return product


def quotient(sizes: Sequence[Size], divisors: Sequence[Size]) -> Size:
    """Return the product of sizes divided by that of others, by which it is divisible.

    What both have is left out first, so that no division remains where none is needed.
    """
    left, by = list(sizes), []
    for size in divisors:  # sizes of 0, among others, which nothing can be divided by
        match = next((k for k, other in enumerate(left) if is_same(size, other)), None)
        if match is None:
            by.append(size)
        else:
            del left[match]
    factor, atoms = _factors(left)
    divisor, others = _factors(by)
    for other in list(others):
        match = next((k for k, atom in enumerate(atoms) if is_same(atom, other)), None)
        if match is not None:
            del atoms[match]
            others.remove(other)
    if divisor and factor % divisor == 0:
        factor, divisor = factor // divisor, 1
    above, below = product_of([factor, *atoms]), product_of([divisor, *others])
    if isinstance(below, int):
        if below == 1:
            return above
        return above // below if below else 0
    if isinstance(above, int):
        return (below * 0 + above) // below
    return above // below


def _factors(sizes: Sequence[Size]) -> tuple[int, list[Any]]:
    number = 1
    atoms: list[Any] = []
    for size in sizes:
        if isinstance(size, int):
            number *= size
        elif size.is_polynomial and len(size.terms) == 1:
            (factor, parts), *_ = size.terms
            number *= factor
            atoms += parts
        else:
            atoms.append(size)
    return number, atoms
