"""NumPy as a library of arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from dvm import _dvm
from dvm.magpy_capture.meanings.numpy.dtypes import dtype_name, is_supported, is_told_dtype
from dvm.magpy_capture.meanings.numpy.functions import (
    FRESH,
    OPEN_ENDED,
    PURE_METHODS,
    WHOLE,
    WRITES,
    WRITING_METHODS,
    is_numpy_function,
)
from dvm.magpy_capture.meanings.numpy.host_objects import (
    holds_plain_objects,
    is_view_or_empty,
    like,
    python_numbers,
)
from dvm.magpy_capture.meanings.numpy.joint_memory import owner_of, place_of, share_elements
from dvm.magpy_capture.meanings.numpy.masked import (
    is_masked,
    is_masked_constant,
    is_masked_function,
    is_numpys_code,
    may_share,
)

Array = np.ndarray[Any, Any]
#: functions of module np.random that draw from the generator of the others there
OF_MODULE = (np.random.seed, np.random.ranf, np.random.sample)
MAX_RANK = 8  # of arrays in the graph


class NumPy:
    """What the lowering asks of NumPy (dvm.magpy_capture.library.Library)."""

    name = "numpy"
    rules = "numpy_rules"
    array = np.ndarray
    scalar = np.generic
    classes = (np.ndarray, np.generic)
    plain = (np.ndarray,)
    metaclasses: tuple[type, ...] = ()
    has_scalars = reshapes_copies = True
    tells_errors = True
    integer = np.integer
    inexact = np.inexact
    dtype = np.dtype
    fields = np.void
    plain_scalars = frozenset(np.dtype(code).type for code in "?bBhHiIlLqQefdFD")
    elementwise = np.ufunc
    of_lists: frozenset[Any] = frozenset(
        {np.array, np.asarray, np.concatenate}
        | {np.column_stack, np.dstack, np.hstack, np.stack, np.vstack}
        | {np.all, np.any, np.argmax, np.argmin, np.cumsum, np.diff, np.max, np.mean, np.median}
        | {np.min, np.prod, np.std, np.sum, np.var}
    )
    generators = (np.random.RandomState, np.random.Generator)
    describing = (np.dtype, type(np.zeros(0).flags))
    unchanging = (np.ufunc, np.dtype, type(np.sum), type(np.random.default_rng))

    base = "base"
    as_array = staticmethod(np.asarray)
    transpose = staticmethod(np.ndarray.transpose)
    reshape = staticmethod(np.ndarray.reshape)
    copy = staticmethod(np.array)
    set_writeable = staticmethod(np.ndarray.setflags)

    strides = staticmethod(operator.attrgetter("strides"))
    layout = staticmethod(_dvm.layout)
    repeated_axes = staticmethod(_dvm.repeated_axes)
    overlaps_itself = staticmethod(_dvm.is_overlapping)
    may_share = staticmethod(may_share)
    share_elements = staticmethod(share_elements)
    owner_of = staticmethod(owner_of)
    place_of = staticmethod(place_of)

    holds_plain = staticmethod(holds_plain_objects)
    like = staticmethod(like)
    number_classes = staticmethod(python_numbers)
    is_view_or_empty = staticmethod(is_view_or_empty)
    count_writes = None
    number_writes = None

    is_told = staticmethod(is_told_dtype)
    is_compound = staticmethod(is_masked)
    bare = (np.ndarray, np.matrix, np.recarray)

    @staticmethod
    def beside(array: Array) -> tuple[str, ...]:
        return ("_mask",) if is_masked(array) else ()

    @staticmethod
    def is_single(seen: Any) -> bool:
        return is_masked_constant(seen) or is_masked_function(seen)

    @staticmethod
    def has_equals(seen: Any) -> bool:
        return issubclass(type(seen), np.dtype) and seen.isbuiltin != 1

    @staticmethod
    def fits_graph(seen: Any) -> bool:
        plain = type(seen) is np.ndarray and is_supported(seen.dtype)
        return plain and seen.flags.aligned and seen.ndim <= MAX_RANK

    @staticmethod
    def is_empty(array: Array) -> bool:
        return array.size == 0

    @staticmethod
    def is_writeable(array: Array) -> bool:
        return bool(array.flags.writeable)

    @staticmethod
    def is_held(scalar: np.generic) -> bool:
        return is_supported(scalar.dtype)

    @staticmethod
    def dtype_of(seen: Any) -> str:
        return dtype_name(seen.dtype)

    is_function = staticmethod(is_numpy_function)

    is_code = staticmethod(is_numpys_code)
    pure_methods = PURE_METHODS
    writing_methods = WRITING_METHODS
    own_methods = frozenset(
        "filled compressed count anom ids toflex torecords get_fill_value get_imag get_real".split()
    )
    facts = (np.finfo, np.iinfo)
    function_types = (type(np.sum),)
    clocks = (np.datetime64,)

    @staticmethod
    def is_whole(function: Any) -> bool:
        return id(function) in WHOLE

    @staticmethod
    def tells_state(function: Any) -> bool:  # noqa: ARG004 - NumPy has none
        return False

    @staticmethod
    def is_called(function: Any) -> bool:
        return is_numpy_function(function) or function in WRITES or function in OPEN_ENDED

    @staticmethod
    def generator_of(function: Any) -> Any:
        if any(function is each for each in OF_MODULE):
            return np.random.mtrand._rand
        owner = getattr(function, "__self__", None)
        return owner if isinstance(owner, np.random.RandomState) else None

    @staticmethod
    def called_by(thing: Any) -> list[Any] | None:
        return [thing.pyfunc] if type(thing) is np.vectorize else None

    @staticmethod
    def error_state() -> tuple[str, str, str, str]:
        modes = np.geterr()
        return (modes["divide"], modes["over"], modes["under"], modes["invalid"])

    @staticmethod
    def quiet() -> np.errstate:
        return np.errstate(all="ignore")

    @staticmethod
    def writes(function: Any) -> bool:
        return function in WRITES

    @staticmethod
    def makes_new(function: Any) -> bool:
        ufunc = isinstance(function, np.ufunc) or isinstance(
            getattr(function, "__self__", None), np.ufunc
        )
        return ufunc or function in FRESH

    @staticmethod
    def owns(function: Any) -> bool:
        module = function.__globals__.get("__name__")
        return type(module) is str and module.partition(".")[0] == "numpy"

    @staticmethod
    def is_foreign(_seen: Any) -> bool:
        return True

    @staticmethod
    def class_of(dtype: str, is_scalar: bool) -> type:
        return np.dtype(dtype).type if is_scalar else np.ndarray

    @staticmethod
    def scalar_type(dtype: str) -> type:
        return np.dtype(dtype).type

    @staticmethod
    def number(literal: Any, dtype: str) -> Array:
        with np.errstate(all="raise", under="ignore"):
            return np.asarray(literal).astype(dtype)


NUMPY = NumPy()

__all__ = ["NUMPY", "NumPy"]
