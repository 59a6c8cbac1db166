"""Every other function of the standard, beside NumPy's, and the names of the standard."""

import numpy as np
import pytest
from hypothesis import strategies as st

import dvm
import dvm.lazy as xp

from .comparing import assert_same, check
from .samples import FLOATS, NUMERIC, arrays, given

NAMES = [
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool",
    "broadcast_arrays",
    "broadcast_to",
    "can_cast",
    "ceil",
    "clip",
    "complex128",
    "complex64",
    "concat",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "divide",
    "e",
    "empty",
    "empty_like",
    "equal",
    "exp",
    "expand_dims",
    "expm1",
    "eye",
    "fft",
    "finfo",
    "flip",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "from_dlpack",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hypot",
    "iinfo",
    "imag",
    "inf",
    "int16",
    "int32",
    "int64",
    "int8",
    "isdtype",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "linalg",
    "linspace",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "nan",
    "negative",
    "newaxis",
    "nextafter",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "positive",
    "pow",
    "prod",
    "real",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "round",
    "searchsorted",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sort",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "tril",
    "triu",
    "trunc",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "var",
    "vecdot",
    "where",
    "zeros",
    "zeros_like",
    "__array_api_version__",
    "__array_namespace_info__",
]

MATRICES = arrays(FLOATS, (3, 4))
WELL_BEHAVED = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).normal(size=(2, 4, 4)) + 4 * np.eye(4)
)


def test_all_names_of_the_standard_are_there():
    assert [name for name in NAMES if not hasattr(xp, name)] == []
    assert set(NAMES) - {"__array_api_version__"} <= {*xp.__all__, "__array_namespace_info__"}
    assert dvm.asarray([1]).__array_namespace__() is xp
    assert dvm.asarray([1]).__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match="not 1999"):
        dvm.asarray([1]).__array_namespace__(api_version="1999")


@given(x=arrays(), axis=st.integers(-3, 3))
def test_shapes(x, axis):
    check(xp.expand_dims, np.expand_dims, x, axis=axis)
    check(xp.squeeze, np.squeeze, x, axis)
    check(xp.flip, np.flip, x)
    check(xp.roll, np.roll, x, 2)
    check(xp.reshape, np.reshape, x, (-1,))
    check(xp.repeat, np.repeat, x, 2)
    check(xp.tile, np.tile, x, (2, 1))
    check(xp.broadcast_to, np.broadcast_to, x, (2, *x.shape))
    check(xp.concat, np.concat, (x, x), axis=axis)
    check(xp.stack, np.stack, (x, x), axis=axis)
    if x.ndim > 1:
        check(xp.matrix_transpose, np.matrix_transpose, x)
        check(xp.moveaxis, np.moveaxis, x, 0, -1)
        check(xp.permute_dims, np.permute_dims, x, (*range(1, x.ndim), 0))
        check(xp.permute_dims, np.permute_dims, x, (0,) * x.ndim)
    if x.ndim:
        check(lambda a: tuple(xp.unstack(a)), np.unstack, x)


@given(x=arrays(), dtype=st.sampled_from(["bool", *NUMERIC, "complex64"]))
def test_astype(x, dtype):
    if x.dtype.kind in "fc":
        x = np.where(np.abs(x) < 100, x, 1).astype(x.dtype)  # the rest is left open
    if x.dtype.kind != "c" and not (dtype.startswith("u") and (x < 0).any()):
        check(xp.astype, np.astype, x, np.dtype(dtype))


@given(x=arrays(NUMERIC))
def test_searching_and_sorting(x):
    check(xp.argmax, np.argmax, x)
    check(xp.argmin, np.argmin, x, axis=-1, keepdims=True)
    check(xp.sort, lambda a: np.sort(a, stable=True), x)
    check(xp.argsort, lambda a: np.argsort(a, stable=True), x)
    check(xp.unique_values, lambda a: np.unique(a, equal_nan=False), x)
    check(xp.unique_all, np.unique_all, x)
    check(xp.unique_counts, np.unique_counts, x)
    check(xp.unique_inverse, np.unique_inverse, x)
    check(xp.isin, np.isin, x, x[:1] if x.ndim else x)
    check(xp.searchsorted, np.searchsorted, np.sort(x.ravel()), x)
    if x.ndim:
        check(xp.nonzero, np.nonzero, x)
        check(xp.take, np.take, x, np.zeros(2, int), axis=0)
        places = np.argsort(x, axis=0)
        check(
            lambda a, p: xp.take_along_axis(a, p, axis=0), lambda *_: np.sort(x, axis=0), x, places
        )


@given(x=arrays(("int32",), 6))
def test_descending_orders_are_stable(x):
    a = dvm.asarray(x)
    places = [int(k) for k in xp.argsort(a, descending=True)]
    assert places == sorted(range(6), key=lambda k: -int(x[k]))
    assert [int(v) for v in xp.sort(a, descending=True)] == sorted(x.tolist(), reverse=True)


@given(x=WELL_BEHAVED)
def test_linear_algebra(x):
    symmetric = x @ x.swapaxes(-1, -2)
    check(xp.matmul, np.matmul, x, symmetric)
    check(xp.matmul, np.matmul, x[0], symmetric[1])
    check(xp.matmul, np.matmul, x[0].astype(np.float32), symmetric[1].astype(np.float32))
    check(xp.matmul, np.matmul, x[0], symmetric[1, :3])
    check(xp.vecdot, np.vecdot, x, symmetric)
    check(xp.tensordot, np.tensordot, x, x, axes=1)
    for name in [
        "cholesky",
        "det",
        "inv",
        "slogdet",
        "svdvals",
        "matrix_rank",
        "pinv",
        "matrix_norm",
        "trace",
    ]:
        check(
            getattr(xp.linalg, name),
            getattr(np.linalg, name),
            symmetric,
        )
    for name in ["eigvalsh", "diagonal", "vector_norm"]:
        check(getattr(xp.linalg, name), getattr(np.linalg, name), symmetric)
    check(xp.linalg.outer, np.linalg.outer, x[0, 0], x[0, 1])
    check(xp.linalg.cross, np.linalg.cross, x[..., :3], x[..., 1:])
    check(xp.linalg.matrix_power, np.linalg.matrix_power, x, 3)
    check(xp.linalg.solve, np.linalg.solve, x, symmetric)
    assert xp.linalg.solve(dvm.asarray(x), dvm.asarray(x[0, 0])).shape == (2, 4)
    q, r = xp.linalg.qr(dvm.asarray(x))
    assert np.allclose(q @ r, x)
    values, vectors = xp.linalg.eigh(dvm.asarray(symmetric))
    assert np.allclose(vectors * values[:, None, :] @ vectors.mT, symmetric)
    u, s, vh = xp.linalg.svd(dvm.asarray(x))
    assert np.allclose(u * s[:, None, :] @ vh, x)


@given(x=MATRICES)
def test_transforms(x):
    x = np.clip(x, -9, 9)
    for name in ["fft", "ifft", "fftn", "ifftn", "rfft", "rfftn", "ihfft", "fftshift", "ifftshift"]:
        check(getattr(xp.fft, name), getattr(np.fft, name), x)
    for name in ["hfft", "irfft", "irfftn"]:
        check(getattr(xp.fft, name), getattr(np.fft, name), np.fft.rfft(x))
    check(xp.fft.fftfreq, np.fft.fftfreq, 6)
    assert xp.fft.rfftfreq(6, d=2.0, dtype=xp.float32).dtype == xp.float32


def test_creation():
    a = dvm.asarray(np.ones((2, 3), np.float32)) * 2
    assert_same(xp.zeros_like(a), np.zeros((2, 3), np.float32))
    assert_same(xp.ones_like(a, dtype=xp.int8), np.ones((2, 3), np.int8))
    assert_same(xp.full_like(a, 3), np.full((2, 3), 3, np.float32))
    assert xp.empty_like(a).shape == (2, 3)
    assert a.is_pending  # none of these needs a value
    check(xp.arange, np.arange, 2, 9, 2)
    check(xp.linspace, np.linspace, 0, 1, 5)
    check(xp.eye, np.eye, 3, 4, k=1)
    check(xp.full, np.full, (2, 2), 7)
    check(xp.zeros, np.zeros, (2, 0), dtype=np.int16)
    check(xp.tril, np.tril, np.ones((3, 3)))
    check(xp.triu, np.triu, np.ones((3, 3)), k=1)
    check(xp.meshgrid, np.meshgrid, np.arange(3), np.arange(2), indexing="ij")
    check(lambda a, b: xp.broadcast_arrays(a, b), np.broadcast_arrays, np.ones(3), np.ones((2, 1)))


def test_dtypes():
    a = dvm.asarray([1.5], dtype=xp.float32) * 2
    assert xp.finfo(a.dtype).bits == xp.finfo(a).bits == 32
    assert xp.iinfo(xp.int8).max == 127
    assert xp.isdtype(xp.int8, "signed integer")
    assert not xp.isdtype(xp.int8, ("real floating", "bool"))
    assert xp.can_cast(a, xp.float64)
    assert not xp.can_cast(xp.float64, xp.int64)
    assert xp.result_type(a, 1.0, xp.float32) == xp.float32
    assert xp.result_type(xp.int8, xp.uint8) == xp.int16
    assert a.is_pending
    info = xp.__array_namespace_info__()
    assert info.default_device() == "cpu"
    assert list(info.devices()) == ["cpu"]  # NumPy 2.5 has a tuple
    assert info.dtypes()["float32"] == xp.float32
    assert info.capabilities()["boolean indexing"]
