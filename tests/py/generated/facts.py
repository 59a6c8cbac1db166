"""What the generator knows of a value beyond its example: is it reproducible to the bit, how large.

A compiled sum may add in another order than NumPy, and a compiled `exp` may differ in the last bit.
That is allowed, and must not be allowed to decide anything: a branch, an argmax or a division by
`x - x.mean()` would turn one bit into another program. So every value carries Facts, and an
operation that is discontinuous refuses operands that are not exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

#: Sizes a sum may have, over all calls: bounds grow by this factor.
MOST_ELEMENTS = 2048
#: Largest integers sums of which are exact in any order, with room to spare.
EXACT_SUMS = {"f2": 2.0**11, "f4": 2.0**23, "f8": 2.0**50}
#: Largest magnitudes of rounded values, such that the absolute error stays far below 1.
TAME = {"f2": 64.0, "f4": 1e4, "f8": 1e8}


@dataclass(frozen=True)
class Facts:
    """What holds for a value in every call.

    exact: the same bits, whatever the order of a reduction.
    integral: whole numbers only (infinities and NaN aside).
    bound: no finite magnitude is larger.
    signed_zero: the sign of a zero is defined (it is not after `maximum(0.0, -0.0)`).
    """

    exact: bool = True
    integral: bool = False
    bound: float = float("inf")
    signed_zero: bool = True

    def join(self, other: Facts) -> Facts:
        """Return what holds for both."""
        return Facts(
            self.exact and other.exact,
            self.integral and other.integral,
            max(self.bound, other.bound),
            self.signed_zero and other.signed_zero,
        )


class RefusedError(Exception):
    """The operation would let rounding decide something, or is out of the tame range."""


def of(values: Sequence[Facts]) -> Facts:
    joined = values[0]
    for value in values[1:]:
        joined = joined.join(value)
    return joined


def settle(facts: Facts, value: Any) -> Facts:
    """Return `facts` as the dtype of `value` narrows or loses them; refuse the untameable."""
    dtype = getattr(value, "dtype", None)
    kind = dtype.kind if dtype is not None else np.dtype(type(value)).kind
    if kind == "b":
        return Facts(True, True, 1.0)
    if kind in "iu":
        limit = 2.0 ** (8 * dtype.itemsize) if dtype is not None else 2.0**200
        bound = facts.bound
        if kind == "u" or bound > limit / 2:
            bound = limit
        return Facts(True, True, bound)
    if kind != "f":
        return replace(facts, signed_zero=False)
    width = f"f{dtype.itemsize}" if dtype is not None else "f8"
    if width == "f2" and not (facts.integral and facts.bound <= EXACT_SUMS["f2"]):
        # Half precision is computed in single precision within a fused kernel, by design.
        facts = replace(facts, exact=False, integral=False)
    if not facts.exact and facts.bound > TAME.get(width, 1e8):
        raise RefusedError
    return facts


def need_exact(*operands: Facts) -> None:
    if not all(operand.exact for operand in operands):
        raise RefusedError


def summed(facts: Facts, value: Any, factor: float = MOST_ELEMENTS) -> Facts:
    """Return the facts of a sum of at most `factor` such values; `value` is an example of it."""
    bound = facts.bound * factor
    dtype = np.asarray(value).dtype
    if dtype.kind in "biu":
        return Facts(True, True, bound)
    limit = EXACT_SUMS.get(dtype.str[1:], 0.0)
    if facts.exact and facts.integral and bound <= limit:
        return replace(facts, bound=bound)
    # Of the error only the elements' magnitude matters, and real data is not all at the bound.
    return Facts(False, False, bound / 16, facts.signed_zero)
