"""Questions about dtypes. Their answers are part of what a path is for: its dtypes are guarded."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.numpy_writes import NumpyWrites
from dvm.magpy_capture.program import describe
from dvm.magpy_capture.tables import numpy_table
from dvm.magpy_capture.values import Abstract, Host, Literal, Sequence, Size, Tensor

numpy_table(
    dict.fromkeys(("result_type", "can_cast", "promote_types", "issubdtype"), "about_dtypes")
)


class NumpyQuestions(NumpyWrites):
    """The recorded answer is that of every call of the path."""

    def about_dtypes(self, *given: Abstract, **named: Abstract) -> Abstract:
        for part in map(self.resolve, (*given, *named.values())):
            if not self._has_one_dtype(part):
                raise self.refuse(reasons.QUESTION_ABOUT_DTYPE, describe(part))
        return Literal(self.seen_result)

    def _has_one_dtype(self, value: Abstract) -> bool:
        """Whether every value on this path has the dtype, or the type, of the recorded one."""
        if isinstance(value, Sequence):
            return all(self._has_one_dtype(self.resolve(part)) for part in value.elements)
        number: Any = getattr(value, "object", None)
        if isinstance(value, Host):
            return type(number) in (bool, int, float) or isinstance(number, np.generic)
        return isinstance(value, (Tensor, Size, Literal))


__all__ = ["NumpyQuestions"]
