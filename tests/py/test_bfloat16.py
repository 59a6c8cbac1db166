"""bf16 in graphs, on arrays of its bits: held to PyTorch's, for all values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dvm

torch = pytest.importorskip("torch")

ALL = np.arange(65536, dtype=np.uint16)
SIZES = (0, 1, 2, 7, 63, 64, 65, 511, 512, 513, 4097)


def tensor(bits: np.ndarray[Any, Any]) -> Any:
    return torch.from_numpy(bits.copy()).view(torch.bfloat16)


def array(values: Any) -> np.ndarray[Any, Any]:
    if values.dtype == torch.bfloat16:
        values = values.contiguous().view(torch.uint16)
    return values.numpy()


def assert_same(got: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> None:
    """Equal bits, but that one NaN is as good as another."""
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    nan = (wanted & 0x7FFF) > 0x7F80 if wanted.dtype == np.uint16 else wanted != wanted
    got_nan = (got & 0x7FFF) > 0x7F80 if wanted.dtype == np.uint16 else got != got
    np.testing.assert_array_equal(got_nan, nan)
    np.testing.assert_array_equal(got[~nan], wanted[~nan])


def graph(body: str, **options: Any) -> dvm.CompiledGraph:
    return dvm.CompiledGraph("graph v1 {\n" + body + "\n}", **options)


@pytest.fixture(params=[("cpu", "default"), ("cpu", "strict"), ("ascend910b1", "default")])
def how(request: Any) -> dict[str, str]:
    return dict(zip(("target", "numerics"), request.param, strict=True))


@pytest.mark.parametrize("op", ["neg", "abs", "sqrt", "floor", "ceil", "trunc", "rint", "square"])
def test_every_value(op: str, how: dict[str, str]) -> None:
    names = {"rint": torch.round, "neg": torch.neg, "square": torch.square}
    wanted = names.get(op, getattr(torch, op, None))(tensor(ALL))
    f = graph(f"%0 = input bf16[n] %1 = {op}(%0) bf16[n] return %1", **how)
    assert_same(f(ALL)[0], array(wanted))
    assert_same(f(ALL[::-3])[0], array(wanted)[::-3])


@pytest.mark.parametrize("to", ["f64", "f32", "f16", "bool"])
def test_casts_from_every_value(to: str, how: dict[str, str]) -> None:
    f = graph(f"%0 = input bf16[n] %1 = cast(%0) {to}[n] return %1", **how)
    dtypes = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bool": torch.bool}
    assert_same(f(ALL)[0], array(tensor(ALL).to(dtypes[to])))


def test_casts_of_floats(how: dict[str, str]) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 1 << 32, 200_000, np.uint32)
    ties = (ALL.astype(np.uint32) << 16)[:, None] + np.array([0, 0x7FFF, 0x8000, 0x8001], "u4")
    x = np.concatenate([x, ties.ravel()]).view(np.float32)
    f = graph("%0 = input f32[n] %1 = cast(%0) bf16[n] return %1", **how)
    assert_same(f(x)[0], array(torch.from_numpy(x).to(torch.bfloat16)))


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "maximum", "minimum"])
def test_arithmetic_rounds_once(op: str, how: dict[str, str]) -> None:
    f = graph(f"%0 = input bf16[n] %1 = input bf16[n] %2 = {op}(%0, %1) bf16[n] return %2", **how)
    rng = np.random.default_rng(1)
    for size in SIZES:
        a, b = rng.integers(0, 1 << 16, (2, size, 3), np.uint16)[..., 1]
        assert_same(f(a, b)[0], array(getattr(torch, op)(tensor(a), tensor(b))))


def test_sums_accumulate_in_floats(how: dict[str, str]) -> None:
    f = graph("%0 = input bf16[m, n] %1 = sum(%0) bf16[m, 1] {axes = [1]} return %1", **how)
    for size in SIZES:
        x = tensor((np.arange(3 * size, dtype=np.uint16) % 97 + 0x3F00).reshape(3, size))
        exact = x.double().sum(1, keepdim=True)
        got = tensor(f(array(x))[0]).double()
        assert ((got - exact).abs() <= exact * 2**-8).all()


def test_chains_round_where_they_leave_the_kernel() -> None:
    body = """%0 = input bf16[n]
      %1 = exp(%0) bf16[n]
      %2 = mul(%1, %0) bf16[n]
      %3 = add(%2, %0) bf16[n]
      return %3"""
    x = tensor(np.random.default_rng(2).integers(0x3C00, 0x4100, 5000, np.uint16))
    wide = x.float()
    wanted = (wide.exp() * wide + wide).to(torch.bfloat16)
    got = tensor(graph(body)(array(x))[0])
    off = (got.view(torch.int16) - wanted.view(torch.int16)).abs()
    assert off.max() <= 1  # exp of another library
    assert (off == 0).float().mean() > 0.99
    steps = ((x.exp() * x) + x).view(torch.int16)  # PyTorch rounds each of them
    strict = tensor(graph(body, numerics="strict")(array(x))[0]).view(torch.int16)
    assert (strict == steps).float().mean() > 0.99


def test_scalars_and_wrong_arrays() -> None:
    f = graph(
        "%0 = input bf16[n] %1 = scalar bf16[] %2 = broadcast(%1) bf16[n] "
        "%3 = mul(%0, %2) bf16[n] return %3"
    )
    x = tensor(np.array([0x3F80, 0x4049, 0xC2C8], np.uint16))
    assert_same(f(array(x), 1.1)[0], array(x * torch.tensor(1.1, dtype=torch.bfloat16)))
    with pytest.raises(dvm.ShapeError, match=r"argument 0 is float32 array.*takes bf16 of rank 1"):
        f(np.ones(3, "f4"), 1.1)
    with pytest.raises(dvm.GraphError, match="operands are bf16 and f16"):
        graph("%0 = input bf16[n] %1 = input f16[n] %2 = add(%0, %1) bf16[n] return %2")
