"""Every elementwise function and operator, for all dtypes, numbers and shapes that go together."""

import operator

import numpy as np
import pytest
from hypothesis import example

import dvm.lazy as xp

from .comparing import check
from .samples import DTYPES, FLOATS, arrays, given, pairs

UNARY = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_invert",
    "ceil",
    "conj",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "floor",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "negative",
    "positive",
    "real",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
]
BINARY = [
    "add",
    "atan2",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "copysign",
    "divide",
    "equal",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "less",
    "less_equal",
    "logaddexp",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "nextafter",
    "not_equal",
    "pow",
    "remainder",
    "subtract",
]
OPERATORS = [
    "add",
    "and_",
    "floordiv",
    "lshift",
    "mod",
    "mul",
    "or_",
    "pow",
    "rshift",
    "sub",
    "truediv",
    "xor",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
]


@pytest.mark.parametrize("name", UNARY)
@given(x=arrays())
def test_unary(name, x):
    check(getattr(xp, name), getattr(np, name), x)


@given(x=arrays(FLOATS))  # what it is of the integer 0 NumPy leaves open
def test_reciprocal(x):
    check(xp.reciprocal, np.reciprocal, x)


SQUARE = (np.array([False, True]), 2)  # an operator that makes int8 of it, a function int64


@pytest.mark.parametrize("name", BINARY)
@given(operands=pairs())
@example(operands=SQUARE)
def test_binary(name, operands):
    check(getattr(xp, name), getattr(np, name), *operands)


@pytest.mark.parametrize("name", OPERATORS)
@given(operands=pairs())
@example(operands=SQUARE)
def test_operators(name, operands):
    function = getattr(operator, name)
    check(function, function, *operands)


@pytest.mark.parametrize("name", ["neg", "pos", "abs", "invert"])
@given(x=arrays())
def test_unary_operators(name, x):
    function = getattr(operator, name)
    check(function, function, x)


@given(operands=pairs(), condition=arrays(("bool",), ()))
def test_where(operands, condition):
    check(xp.where, np.where, condition, *operands)


@given(x=arrays(DTYPES[1:-2]))
def test_clip(x):
    for bounds in ((None, 2), (0, None), (1, 3), (np.asarray(1, x.dtype), None), (None, None)):
        check(xp.clip, np.clip, x, *bounds)
