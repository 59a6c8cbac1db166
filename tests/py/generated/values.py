"""The tables of operations the generator draws from, each with the rule for its Facts.

A rule takes the operands' Facts and returns the result's, or refuses. Rules:
linear      continuous and cheap in error: rounded operands are welcome
discrete    a whole number decided by its operands, which must be exact
steep       magnifies errors without bound, or has a pole: exact operands
smooth      a transcendental with slope at most one: the result is rounded, the operand may be
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .facts import Facts, RefusedError, need_exact

Rule = Callable[..., Facts]


def linear(a: Facts) -> Facts:
    return a


def discrete(*operands: Facts) -> Facts:
    need_exact(*operands)
    return Facts(True, True, max(a.bound for a in operands) + 1)


def truth(*operands: Facts) -> Facts:
    need_exact(*operands)
    return Facts(True, True, 1.0)


def signed(*operands: Facts) -> Facts:
    """Return the facts of something that looks at the sign of zero."""
    if not all(a.signed_zero for a in operands):
        raise RefusedError
    return discrete(*operands)


def square_root(a: Facts) -> Facts:
    need_exact(a)
    return Facts(True, False, max(1.0, a.bound), a.signed_zero)


def logarithm(a: Facts) -> Facts:
    need_exact(a)
    return Facts(False, False, 40.0 if a.integral else 750.0)


def exponential(a: Facts) -> Facts:
    need_exact(a)
    if a.bound > 9:
        raise RefusedError
    return Facts(False, False, 2.72**a.bound)


def smooth(a: Facts) -> Facts:
    return Facts(False, False, min(a.bound, 2.0), a.signed_zero)


def reciprocal(a: Facts) -> Facts:
    return divided(Facts(True, True, 1.0), a)


def added(a: Facts, b: Facts) -> Facts:
    return replace(a.join(b), bound=a.bound + b.bound)


def multiplied(a: Facts, b: Facts) -> Facts:
    return replace(a.join(b), bound=max(a.bound * b.bound, 1.0))


def squared(a: Facts) -> Facts:
    return multiplied(a, a)


def divided(a: Facts, b: Facts) -> Facts:
    """Return the facts of a quotient: 1/0 and 1/-0 differ, and only whole divisors are not tiny."""
    need_exact(b)
    if not b.signed_zero:
        raise RefusedError
    return replace(a, integral=False, bound=a.bound if b.integral else float("inf"))


def floor_divided(a: Facts, b: Facts) -> Facts:
    divided(a, b)
    return signed(a, b)


def remainder(a: Facts, b: Facts) -> Facts:
    signed(a, b)
    return replace(a.join(b), bound=b.bound)


def larger(a: Facts, b: Facts) -> Facts:
    return a.join(b)


def either(a: Facts, b: Facts) -> Facts:
    """Return the facts of a maximum of which it is not defined which of two zeros it takes."""
    return replace(a.join(b), signed_zero=False)


def smooth_pair(a: Facts, b: Facts) -> Facts:
    signed(a, b)
    return Facts(False, False, max(4.0, a.bound + b.bound))


def bits(a: Facts, b: Facts) -> Facts:
    need_exact(a, b)
    return Facts(True, True, 2 * max(a.bound, b.bound) + 1)


def powered(a: Facts, b: Facts) -> Facts:
    need_exact(a, b)
    if not (a.integral and b.integral) or a.bound > 16 or b.bound > 4:
        raise RefusedError
    return Facts(False, False, a.bound**b.bound)


UNARY: dict[str, Rule] = {
    "-{}": linear,
    "+{}": linear,
    "np.abs({})": linear,
    "abs({})": linear,
    "np.negative({})": linear,
    "np.square({})": squared,
    "{} ** 2": squared,
    "~{}": discrete,
    "np.floor({})": discrete,
    "np.ceil({})": discrete,
    "np.trunc({})": discrete,
    "np.rint({})": discrete,
    "np.round({})": discrete,
    "np.sign({})": discrete,
    "np.isnan({})": truth,
    "np.isfinite({})": truth,
    "np.isinf({})": truth,
    "np.logical_not({})": truth,
    "np.signbit({})": signed,
    "np.sqrt({})": square_root,
    "np.reciprocal({})": reciprocal,
    "np.log({})": logarithm,
    "np.log1p({})": logarithm,
    "np.log2({})": logarithm,
    "np.exp({})": exponential,
    "np.expm1({})": exponential,
    "np.exp2({})": exponential,
    "np.tanh({})": smooth,
    "np.sin({})": smooth,
    "np.cos({})": smooth,
    "np.arctan({})": smooth,
    "np.nan_to_num({}, posinf=3.0, neginf=-3.0)": linear,
}

BINARY: dict[str, Rule] = {
    "{} + {}": added,
    "{} - {}": added,
    "{} * {}": multiplied,
    "{} / {}": divided,
    "{} // {}": floor_divided,
    "{} % {}": remainder,
    "{} ** {}": powered,
    "{} & {}": bits,
    "{} | {}": bits,
    "{} ^ {}": bits,
    "{} << {}": bits,
    "{} >> {}": bits,
    "np.add({}, {})": added,
    "np.subtract({}, {})": added,
    "np.multiply({}, {})": multiplied,
    "np.divide({}, {})": divided,
    "np.maximum({}, {})": larger,
    "np.minimum({}, {})": larger,
    "np.fmax({}, {})": either,
    "np.fmin({}, {})": either,
    "np.fmod({}, {})": remainder,
    "np.arctan2({}, {})": smooth_pair,
    "np.hypot({}, {})": smooth_pair,
    "np.copysign({}, {})": signed,
    "np.floor_divide({}, {})": floor_divided,
    "np.add({}, {}, dtype=np.float64)": added,
    "{} == {}": truth,
    "{} != {}": truth,
    "{} < {}": truth,
    "{} <= {}": truth,
    "{} > {}": truth,
    "{} >= {}": truth,
    "np.logical_and({}, {})": truth,
    "np.logical_or({}, {})": truth,
    "np.logical_xor({}, {})": truth,
    "np.isclose({}, {})": truth,
    "np.array_equal({}, {})": truth,
}

#: In-place operators and the rule of the operation.
INPLACE: dict[str, Rule] = {
    "+=": added,
    "-=": added,
    "*=": multiplied,
    "/=": divided,
    "//=": floor_divided,
    "%=": remainder,
    "&=": bits,
    "|=": bits,
    "^=": bits,
    "**=": powered,
}

#: Ufuncs used with out= and where=.
WITH_OUT: dict[str, Rule] = {
    "np.add": added,
    "np.subtract": added,
    "np.multiply": multiplied,
    "np.divide": divided,
    "np.maximum": larger,
    "np.greater": truth,
}

#: Reductions as calls ({} array, {axis}) and their kind, see Expressions.reduction.
REDUCTIONS: dict[str, str] = {
    "np.sum({}{axis})": "sum",
    "{}.sum({axis})": "sum",
    "np.add.reduce({}{axis})": "sum",
    "{}.mean({axis})": "mean",
    "np.mean({}{axis})": "mean",
    "np.max({}{axis})": "either",
    "{}.max({axis})": "either",
    "{}.min({axis})": "either",
    "np.min({}{axis})": "either",
    "np.max({}{axis}, initial=2)": "either",
    "np.sum({}{axis}, initial=1)": "sum",
    "np.min({}{axis}, initial=-1.5)": "either",
    "np.prod({}{axis}, initial=2)": "product",
    "np.sum({}{axis}, dtype='f8')": "sum",
    "np.logical_or.reduce({}{axis})": "truth",
    "np.sum({}{axis}, where={} > 0)": "masked",
    "np.ptp({}{axis})": "sum",
    "np.any({}{axis})": "truth",
    "{}.all({axis})": "truth",
    "np.all({}{axis})": "truth",
    "np.count_nonzero({}{axis})": "discrete",
    "np.argmax({}{axis})": "discrete",
    "{}.argmin({axis})": "discrete",
    "np.var({}{axis})": "variance",
    "np.std({}{axis})": "deviation",
    "{}.std({axis})": "deviation",
    "np.prod({}{axis})": "product",
    "np.cumsum({}{axis})": "sum",
    "{}.cumsum({axis})": "sum",
    "np.maximum.accumulate({}{axis})": "either",
    "np.diff({}{axis})": "sum",
    "np.median({}{axis})": "either",
    "np.sort({}{axis})": "order",
    "np.argsort({}{axis}, kind='stable')": "discrete",
    "np.flip({}{axis})": "same",
    "np.nansum({}{axis})": "sum",
}

#: One array in, the same elements out (possibly as a view).
REARRANGED: dict[str, int] = {
    "{}.T": 4,
    "np.transpose({})": 2,
    "{}.reshape(-1)": 4,
    "{}.reshape({}.shape[::-1])": 2,
    "{}.reshape({}.size, 1)": 2,
    "np.reshape({}, (1, -1))": 2,
    "{}.ravel()": 3,
    "{}.flatten()": 2,
    "{}.copy()": 3,
    "np.array({})": 2,
    "np.asarray({})": 2,
    "np.array({}, copy=True, order='F')": 1,
    "np.ascontiguousarray({})": 1,
    "np.asfortranarray({})": 1,
    "np.swapaxes({}, 0, -1)": 2,
    "np.moveaxis({}, 0, -1)": 2,
    "np.expand_dims({}, 0)": 2,
    "np.expand_dims({}, -1)": 1,
    "np.squeeze({})": 2,
    "np.atleast_2d({})": 1,
    "np.flipud({})": 1,
    "np.fliplr({})": 1,
    "np.flip({}, 0)": 2,
    "np.roll({}, 1, axis=0)": 2,
    "np.roll({}, -2)": 2,
    "np.rot90({})": 1,
    "np.tile({}, 2)": 2,
    "np.repeat({}, 2, axis=0)": 2,
    "np.repeat({}, 3)": 1,
    "np.pad({}, 1)": 2,
    "np.pad({}, 1, mode='edge')": 1,
    "np.tril({})": 1,
    "np.triu({})": 1,
    "np.broadcast_to({}, (2, *{}.shape))": 3,
    "np.take({}, [0, -1], axis=0)": 2,
    "np.diag({})": 1,
    "np.unique({})": 1,
    "np.split({}, [1])[0]": 2,
    "np.array_split({}, 2)[1]": 2,
    "np.hstack([{}, {}])": 1,
    "np.vstack([{}, {}])": 1,
    "{}.view()": 2,
    "np.zeros_like({})": 2,
    "np.ones_like({})": 2,
    "np.full_like({}, 2)": 1,
}

#: What a slice of one axis may be; the last ones drop or move elements on purpose.
AXIS_INDICES: dict[str, int] = {
    ":": 6,
    "1:": 5,
    ":-1": 5,
    "::2": 4,
    "::-1": 4,
    "1:3": 3,
    "-2:": 2,
    "::-2": 2,
    "1:-1": 3,
    "0": 4,
    "-1": 4,
    "None": 3,
    "...": 3,
    "[0, -1]": 1,
}
