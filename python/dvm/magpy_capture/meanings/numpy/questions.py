"""Questions about dtypes. Their answers are part of what a path is for: its dtypes are guarded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dvm import classes, reasons
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Abstract, Host, Literal, Sequence, Size, Tensor, resolve
from dvm.magpy_capture.values.kinds import is_fixed

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.numpy.layer import NumpyPart


@means(np.result_type, np.can_cast, np.promote_types, np.issubdtype)
def about_dtypes(lower: NumpyPart, *given: Abstract, seen: Any, **named: Abstract) -> Abstract:
    for part in map(resolve, (*given, *named.values())):
        if not _has_one_dtype(lower, part):
            raise refuse(reasons.QUESTION_ABOUT_DTYPE, describe(part))
    return Literal(seen)


@means(np.finfo, np.iinfo)
def limits(_: NumpyPart, dtype: Abstract, *, seen: Any) -> Abstract:
    if not is_fixed(dtype):
        raise refuse(reasons.CALL, classes.name_of(type(seen)))
    return Literal(seen)


@means(np.nditer)
def nditer(_: NumpyPart, *_given: Abstract, **_named: Abstract) -> Abstract:
    raise refuse(reasons.NDITER)


def _has_one_dtype(lower: NumpyPart, value: Abstract) -> bool:
    """Whether every value on this path has the dtype, or the type, of the recorded one."""
    if isinstance(value, Sequence):
        return all(_has_one_dtype(lower, resolve(part)) for part in value.elements)
    number: Any = getattr(value, "object", None)
    if isinstance(value, Host):
        return type(number) in (bool, int, float) or isinstance(number, np.generic)
    return isinstance(value, (Tensor, Size, Literal))
