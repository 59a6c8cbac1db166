"""Every elementwise row against the NumPy ufunc of its name, at the values that trip things over.

The reference evaluator stands for all targets: the C++ tests compare each target's kernels with it
bit by bit. Integers, moves, comparisons and what IEEE 754 defines are exact; what calls the math
library may differ from NumPy's own in the last place.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dvm import _dvm

Array = np.ndarray[Any, Any]

SPELLING = dict(_dvm.dtype_table)  # NumPy name -> text
NUMPY = {text: np.dtype(name) for name, text in _dvm.dtype_table}
UFUNC = dict(_dvm.ufunc_table)

#: what the other rows mean, in terms of NumPy; and rows whose ufunc mixes dtypes
MEANING: dict[str, Any] = {
    "frexp_mantissa": lambda x: np.frexp(x)[0],
    "frexp_exponent": lambda x: np.frexp(x)[1].astype(x.dtype),
    "modf_fraction": lambda x: np.modf(x)[0],
    "ldexp": lambda a, b: np.ldexp(a, b.astype(np.int32)),
    "bitwise_count": lambda x: np.bitwise_count(x).astype(x.dtype),
    "erf": lambda x: np.array([math.erf(each) for each in x]).astype(x.dtype),
}

#: rows that call the math library, with the units in the last place they may differ by
LIBRARY = dict.fromkeys(
    [
        *("exp", "log", "log1p", "tanh", "power", "cbrt", "exp2", "expm1", "log2", "log10"),
        *("logaddexp", "logaddexp2", "sin", "cos", "tan", "arcsin", "arccos", "arctan"),
        *("arctan2", "sinh", "cosh", "arcsinh", "arccosh", "arctanh", "hypot", "erf"),
    ],
    4,
)

#: an operand plus a logarithm: where they cancel, neither NumPy nor dvm has more digits than those
CANCELLING = ("logaddexp", "logaddexp2")

#: of two zeros these take one or the other, in NumPy as its SIMD loop or its tail has it
EXTREMES = ("maximum", "minimum", "fmax", "fmin")

#: NumPy's casts of floats to these go through a wider integer and wrap
CAST_RANGE = {1: np.int32, 2: np.int32, 4: np.int32, 8: np.int64}


def values(dtype: np.dtype[Any]) -> Array:
    """Return every value an implementation could trip over, and a few others."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info, width = np.iinfo(dtype), 8 * dtype.itemsize
        ends = [info.min, info.min + 1, info.max // 2, info.max - 1, info.max]
        small = [0, 1, 2, 3, 5, 7, 100, width - 1, width, width + 1]
        negative = [-1, -2, -3, -7, -100] if dtype.kind == "i" else []
        return np.array([*small, *negative, *ends], dtype)
    limits = np.finfo(dtype)
    ends = [limits.max, limits.max / 2, limits.smallest_normal, limits.smallest_subnormal]
    ordinary = [0.0, 1, 0.5, 1.5, 2.5, 3, 0.1, 7.25, 1e-3, 10, 20.3, np.pi, 0.999, 1.0001, 1e4]
    positive = np.array([*ordinary, np.inf, *map(float, ends)], dtype)
    return np.concatenate([positive, -positive, np.array([np.nan], dtype)])


def pairs(dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Return all pairs of values."""
    one = values(dtype)
    return np.repeat(one, len(one)), np.tile(one, len(one))


def evaluate(op: str, dtype: str, result: str, *operands: Array) -> Array:
    """Run one op on the reference evaluator."""
    inputs = "".join(f"  %{i} = input {dtype}[s0]\n" for i in range(len(operands)))
    names = ", ".join(f"%{i}" for i in range(len(operands)))
    last = len(operands)
    graph = f"graph v1 {{\n{inputs}  %{last} = {op}({names}) {result}[s0]\n  return %{last}\n}}\n"
    return _dvm.reference(graph, *operands)[0]


def check(label: str, actual: Array, expected: Array, ulp: int, terms: Array | None = None) -> None:
    """Compare bits, but for the payloads of NaN and `ulp` units in the last place.

    Those are units of the result, or of the `terms` whose sum it is.
    """
    units = expected if terms is None else np.fmax(terms, np.abs(expected))
    assert actual.dtype == expected.dtype, label
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected, label)
        return
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(actual), nan, label)
    same = nan | ((actual == expected) & (np.signbit(actual) == np.signbit(expected)))
    if ulp == 0:
        assert same.all(), (label, actual[~same], expected[~same])
        return
    with np.errstate(all="ignore"):
        distance = np.abs(actual.astype(np.longdouble) - expected.astype(np.longdouble))
        close = distance <= ulp * np.abs(np.spacing(units)).astype(np.longdouble)
    assert (same | close).all(), (label, actual[~(same | close)], expected[~(same | close)])


@pytest.mark.parametrize("op", _dvm.ufunc_rules)
def test_rows_mean_what_numpy_means(op: str) -> None:
    arity, dtypes, asks = _dvm.ufunc_rules[op]
    meaning = MEANING[op] if op in MEANING else getattr(np, UFUNC[op])
    for dtype in dtypes:
        operands = list(pairs(NUMPY[dtype])[:arity])
        if op == "power" and NUMPY[dtype].kind == "i":  # NumPy refuses negative exponents
            operands = [a[operands[1] >= 0] for a in operands]
        if op == "reciprocal" and NUMPY[dtype].kind in "iu":  # of 0: flagged, and any value
            operands = [operands[0][operands[0] != 0]]
        if op == "ldexp":  # NumPy takes integers
            operands = [a[np.abs(operands[1].astype(float)) < 2**31] for a in operands]
            operands[1] = np.trunc(operands[1])
        actual = evaluate(op, dtype, "bool" if asks else dtype, *operands)
        with np.errstate(all="ignore"):
            expected = meaning(*operands)
        # From a zero to the other one of float16: NumPy 2.5 gives that, before it gave the first.
        is_any_zero = op in EXTREMES or (op, dtype) == ("nextafter", "f16")
        if is_any_zero and NUMPY[dtype].kind == "f":
            actual, expected = actual + 0, expected + 0
        terms = np.abs(np.array(operands)).max(axis=0) if op in CANCELLING else None
        check(f"{op} {dtype}", actual, expected, LIBRARY.get(op, 0), terms)


@pytest.mark.parametrize("op", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons(op: str) -> None:
    for dtype, numpy in NUMPY.items():
        a, b = pairs(numpy)
        check(f"{op} {dtype}", evaluate(op, dtype, "bool", a, b), getattr(np, UFUNC[op])(a, b), 0)


def casts(source: np.dtype[Any], target: np.dtype[Any]) -> Array:
    """Return values of `source` whose cast to `target` NumPy does without a warning."""
    own = values(source)
    if source.kind != "f" or target.kind not in "iu":
        return own
    extra = [200.0, -200, 255, 256, 300, -129, 6e4, 65535, 65536, 7e4, 4e9, -2e9, 1e18, 1.5e19]
    with np.errstate(all="ignore"):
        own = np.concatenate([own, np.array(extra).astype(source)])
    through = np.iinfo(CAST_RANGE[target.itemsize])
    high = np.iinfo(target).max if target.str[1:] in ("u4", "u8") else through.max
    wide = own.astype(np.longdouble)
    return own[(wide >= through.min) & (wide < np.longdouble(high) + 1)]


def test_casts() -> None:
    for source in NUMPY.values():
        for target in NUMPY.values():
            x = casts(source, target)
            actual = evaluate("cast", SPELLING[source.name], SPELLING[target.name], x)
            with np.errstate(all="ignore"):
                expected = x.astype(target)
            check(f"{source} -> {target}", actual, expected, 0)


def test_sums_wrap_in_their_own_dtype() -> None:
    for dtype, numpy in NUMPY.items():
        if numpy.kind not in "iu":
            continue
        x = np.tile(values(numpy), 40)
        graph = f"""graph v1 {{
  %0 = input {dtype}[s0]
  %1 = sum(%0) {dtype}[1] {{axes = [0]}}
  return %1
}}
"""
        np.testing.assert_array_equal(_dvm.reference(graph, x)[0], [x.sum(dtype=numpy)])


def test_each_ufunc_has_one_row() -> None:
    names = sorted(ufunc for _, ufunc in _dvm.ufunc_table)
    assert all(one != other for one, other in pairwise(names))
    for op, (arity, _, _) in _dvm.ufunc_rules.items():
        assert op in MEANING or getattr(np, UFUNC[op]).nin == arity
