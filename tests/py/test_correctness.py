"""The correctness matrix: functions x targets x dtypes x sizes x memory layouts.

Every compiled call is compared twice: with the reference evaluator on the captured graph (same bits
but for the last ones of exp, log and tanh on targets that have their own), and with NumPy (same
bits where NumPy's operations are exact; a few units in the last place elsewhere).
"""

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm
from whole import WHOLE

Array = np.ndarray[Any, Any]

DTYPES = [np.dtype(name) for name, _ in _dvm.dtype_table]
# Around the tile of 1024 elements of the cpu, and around 40 cores x 32 elements of the simulators.
SIZES = (0, 1, 3, 1023, 1024, 1025, 1281)


def chain(x: Array, y: Array) -> Array:
    a = x + y
    a = a * x
    a = a - y
    a = a + x
    a = a * y
    a = a + x
    a = a - y
    a = np.maximum(a, x)
    a = np.minimum(a, y)
    return a + a


def polynomial(x: Array, y: Array) -> Array:
    return 0.5 * x * x - 3.0 * y + 0.25


def hypotenuse(x: Array, y: Array) -> Array:
    return np.sqrt(x * x + y * y)


def relu_mask(x: Array, y: Array) -> tuple[Array, Array]:
    positive = x > y
    return np.where(positive, x, 0), positive


def compare_all(x: Array, y: Array) -> tuple[Array, ...]:
    return x == y, x != y, x < y, x <= y, x > y, x >= y


def casts(x: Array, y: Array) -> tuple[Array, Array]:
    return x.astype(np.float64) + 1, y.astype(np.float32)


def minus_abs(x: Array, y: Array) -> Array:
    return -np.abs(x) + np.abs(y)


def divide(x: Array, y: Array) -> Array:
    return x / y


def integer_scalars(x: Array, y: Array) -> Array:
    return (x + 3) * 2 - y


def exp_log(x: Array, y: Array) -> Array:
    return np.log1p(np.abs(x)) - np.log(np.abs(y) + 1) + np.exp(np.minimum(y, 5))


def gelu(x: Array, y: Array) -> Array:
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))


def sum_last(x: Array, y: Array) -> Array:
    return np.sum(x + y, axis=-1)


def sum_first(x: Array, y: Array) -> Array:
    return np.sum(x * y, axis=0)


def sum_all(x: Array, y: Array) -> Array:
    return (x + y).sum()


def max_last(x: Array, y: Array) -> Array:
    return np.max(x - y, axis=-1, keepdims=True) + x


def max_first(x: Array, y: Array) -> Array:
    return x.max(axis=0) + y.max(axis=0)


def mean_last(x: Array, y: Array) -> Array:
    return x - np.mean(y, axis=-1, keepdims=True)


def softmax(x: Array, y: Array) -> Array:
    z = x + y
    e = np.exp(z - np.max(z, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def slices(x: Array, y: Array) -> tuple[Array, Array]:
    return x[..., 1:] - x[..., :-1], y + x[..., -2:].max()


def reshapes(x: Array, y: Array) -> tuple[Array, Array]:
    z = x + y
    return z.reshape(-1) * 2, np.expand_dims(z, 0) - z


def sizes(x: Array, y: Array) -> Array:
    return x * len(x) + y * x.size - (y.shape[0] + 1)


@dataclass
class Function:
    """A function of the matrix, and how far from NumPy it may be."""

    call: Callable[..., Any]
    ulp: int = 0  # units in the last place of the larger of result and 1; 0: exactly equal
    specials: bool = True  # whether NaN and infinities take part
    # Sums over many elements may differ by that share of the sum of magnitudes, in ulp.
    sums: bool = False


FUNCTIONS = [
    *(Function(f) for f in (chain, polynomial, hypotenuse, relu_mask, compare_all, casts)),
    *(Function(f) for f in (minus_abs, divide, integer_scalars, max_last, max_first)),
    *(Function(f) for f in (slices, reshapes, sizes)),
    *(Function(f, ulp=4) for f in (exp_log, gelu)),
    *(Function(f, ulp=8, sums=True) for f in (sum_last, sum_first, sum_all, mean_last)),
    Function(softmax, ulp=16, specials=False),
]


def sample(random: np.random.Generator, dtype: np.dtype[Any], shape: Any, specials: bool) -> Array:
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return random.integers(-50, 50, shape).astype(dtype)
    values = random.uniform(-4, 4, shape).astype(dtype)
    if specials and values.size > 8:
        flat = values.reshape(-1)
        places = random.choice(flat.size, 5, replace=False)
        flat[places] = [np.nan, np.inf, -np.inf, -0.0, 0.0]
    return values


def layouts(
    random: np.random.Generator, dtype: np.dtype[Any], n: int, specials: bool
) -> Iterator[tuple[str, Array, Array]]:
    """Pairs of arguments of about n elements in the last dimension."""

    def make(*shape: int) -> Array:
        return sample(random, dtype, shape, specials)

    yield "1d", make(n), make(n)
    yield "2d", make(3, n), make(3, n)
    yield "tall", make(n, 3), make(n, 3)
    yield "row against matrix", make(3, n), make(n)
    yield "column against matrix", make(3, 1), make(3, n)
    yield "outer", make(3, 1), make(1, n)
    yield "every third", make(3, 3 * n)[:, ::3], make(3, n)
    yield "backwards", make(3, n)[:, ::-1], make(3, n)[::-1]
    yield "3d", make(2, 3, n)[:, 1:], make(2, 1, n)


def call(function: Callable[..., Any], *args: Array) -> tuple[Any, type | None]:
    """Result as a tuple, or the type of the exception."""
    try:
        # NumPy's warnings (an empty mean, an overflow) are not part of the result.
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            result = function(*args)
    except Exception as error:
        return None, type(error)
    return result if isinstance(result, tuple) else (result,), None


def assert_close(actual: Any, expected: Any, function: Function, magnitude: float) -> None:
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if function.ulp == 0 or expected.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected)
        return
    unit = float(np.finfo(expected.dtype).eps)
    tolerance = function.ulp * unit
    with np.errstate(all="ignore"):  # float16 reaches infinity
        np.testing.assert_allclose(
            actual.astype(np.float64),
            expected.astype(np.float64),
            rtol=tolerance,
            atol=tolerance * magnitude,
        )


def reference_inputs(steps: str, args: tuple[Array, ...]) -> list[Array] | None:
    """The arguments in the order in which the graph takes them; None if it takes other arrays.

    None as well where NumPy goes on with what the graph gives: results are not the graph's then.
    """
    places = dict(re.findall(r"(r\d+) = argument (\d+)", steps))
    runs = re.findall(r"run segment \d+, \[(.*?)\], \[(.*?)\] -> (.*?)  #", steps)
    if len(runs) != 1:
        return None
    tensors, scalars, given = runs[0]
    operands = re.findall(r"= operator (.*?)  #", steps)
    if set(re.findall(r"r\d+", given)) & set(re.findall(r"r\d+", " ".join(operands))):
        return None
    assert not scalars, "the functions here take arrays only"
    registers = tensors.split(", ")
    if not all(register in places for register in registers):
        return None  # an array in another memory order is transposed first
    return [args[int(places[register])] for register in registers]


def has_both_zeros(array: Any) -> bool:
    """Whether there are zeros of either sign in it."""
    signs = np.signbit(array[array == 0]) if array.dtype.kind == "f" else np.zeros(0, bool)
    return bool(signs.any() and not signs.all())


class Paths:
    """The texts of a function's paths, which stay what they are until there is another one."""

    def __init__(self, f: dvm.Compiled[..., Any]) -> None:
        self.f = f
        self.captures, self.known = 0, _dvm.paths(f)

    def now(self) -> list[Any]:
        captures = self.f.stats.captures
        if captures != self.captures:
            self.captures, self.known = captures, _dvm.paths(self.f)
        return self.known


def check(
    f: dvm.Compiled[..., Any], paths: Paths, function: Function, label: str, args: Any
) -> None:
    """Two calls of `f`; a call on which NumPy raises may be dropped, no other."""
    expected, error = call(function.call, *args)
    f_before = f.stats
    for _ in range(2):  # a capture may serve the first call, a replay serves the second
        actual, actual_error = call(f, *args)
        assert actual_error == error, label
        if error:
            continue
        # An average of nothing warns, which the original does; which zero an extreme of both has is
        # NumPy's to say.
        if all(a.size for a in args) and not any(map(has_both_zeros, args)):
            assert f.stats.drops == f_before.drops, label
        magnitude = 1.0
        if function.sums:
            finite = [np.abs(a[np.isfinite(a)]).sum(dtype=np.float64) for a in args if a.size]
            magnitude = max([1.0, *map(float, finite)])
        for one, other in zip(actual, expected, strict=True):
            try:
                assert_close(one, other, function, magnitude)
            except AssertionError as difference:
                raise AssertionError(f"{label}, against NumPy: {difference}") from None
    if error or f.stats.fallbacks > f_before.fallbacks:
        return
    for path in paths.now():
        if path["reason"]:
            continue
        graph = path["graph"]
        kinds = re.findall(r"= input (\w+)\[(.*?)\]", graph)
        inputs = reference_inputs(path["steps"], args)
        if inputs is None:
            continue
        spelling = dict(_dvm.dtype_table)
        if [(spelling[a.dtype.name], a.ndim) for a in inputs] != [
            (dtype, len([d for d in dims.split(", ") if d])) for dtype, dims in kinds
        ]:
            continue
        for one, other in zip(actual, _dvm.reference(graph, *inputs), strict=False):
            try:
                assert_close(np.asarray(one), other, function, 1.0)
            except AssertionError as difference:
                raise AssertionError(f"{label}, against the reference: {difference}") from None


# The simulated targets are one code and differ in the number of their cores: each gets some of the
# functions, each function one of them.
CPU, *SIMULATED = _dvm.target_names
MATRIX = [
    *((function, CPU) for function in FUNCTIONS),
    *(
        (function, target)
        for k, function in enumerate(FUNCTIONS)
        for target in (SIMULATED if WHOLE else [SIMULATED[k % len(SIMULATED)]])
    ),
]


def sizes_of(k: int) -> list[int]:
    """Of a sample every other size, by turns: each with every function and with every dtype."""
    return list(SIZES if WHOLE else SIZES[k % 2 :: 2])


@pytest.mark.parametrize(
    ("function", "target"),
    MATRIX,
    ids=[f"{function.call.__name__}-{target}" for function, target in MATRIX],
)
def test_matrix(function: Function, target: str) -> None:
    random = np.random.default_rng(7)
    for k, dtype in enumerate(DTYPES):
        f = dvm.compile(function.call, target=target, numerics="strict")
        paths = Paths(f)
        for n in sizes_of(k + FUNCTIONS.index(function)):
            for layout, x, y in layouts(random, dtype, n, function.specials):
                check(f, paths, function, f"{dtype} n={n} {layout}", (x, y))
        if dtype.kind != "b":  # arithmetic on bools is another operation; some of it falls back
            assert f.stats.captures > 0
            assert f.fallback_reasons == []


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.call.__name__)
def test_float16_in_default_numerics_is_at_least_as_good_as_numpy(function: Function) -> None:
    """Computed in float32 within a kernel: compared with float64 it must not be worse."""
    random = np.random.default_rng(8)
    f = dvm.compile(function.call)
    for shape in ((7,), (1025,), (3, 1000)):
        x, y = (sample(random, np.dtype(np.float16), shape, False) for _ in range(2))
        for _ in range(2):
            actual, error = call(f, x, y)
            exact, _ = call(function.call, x.astype(np.float64), y.astype(np.float64))
            eager, _ = call(function.call, x, y)
            assert error is None
            for one, other, numpys in zip(actual, exact, eager, strict=True):
                assert one.dtype == numpys.dtype
                if one.dtype != np.float16:
                    continue
                scale = np.maximum(np.abs(other), 1)
                worst = float((np.abs(one - other) / scale).max())
                assert worst <= max(float((np.abs(numpys - other) / scale).max()), 2e-3)


def test_results_do_not_depend_on_the_number_of_calls_or_on_the_path() -> None:
    x = np.random.default_rng(3).random((300, 4097), np.float32)
    f = dvm.compile(sum_last)
    first = f(x, x)
    again = [f(x, x) for _ in range(5)]
    for result in again:
        np.testing.assert_array_equal(result.view(np.uint32), again[0].view(np.uint32))
    np.testing.assert_allclose(first, again[0], rtol=1e-5)


@pytest.mark.parametrize("target", _dvm.target_names)
def test_targets_agree_with_each_other_on_sums(target: str) -> None:
    x = np.random.default_rng(4).random((5, 3001), np.float32)
    f, g = dvm.compile(sum_last), dvm.compile(sum_last, target=target)
    f(x, x), g(x, x)
    np.testing.assert_array_equal(f(x, x).view(np.uint32), g(x, x).view(np.uint32))
