"""The op `attention`: every target against sums in float64, and as primitives."""

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dvm

NAMES = {"f16": "f2", "f32": "f4", "f64": "f8"}
EPSILON = {"f16": 2.0**-11, "f32": 2.0**-24, "f64": 2.0**-53}
TARGETS = ["cpu", "ascend910b3"]
MASKS = ["none", "bool", "float", "keys"]
SIZES = st.one_of(st.sampled_from([1, 2, 4, 5, 15, 16, 17, 63, 64, 65, 97]), st.integers(1, 130))
FEW = st.one_of(st.sampled_from([1, 3, 16, 17, 64, 65]), st.integers(1, 40))


def text(
    dtype: str, mask: str, causal: str | None, grouped: bool, scale: float, fill: float
) -> str:
    heads = "g" if grouped else "h"
    lines = [
        f"%0 = input {dtype}[b, h, m, d]",
        f"%1 = input {dtype}[b, {heads}, n, d]",
        f"%2 = input {dtype}[b, {heads}, n, e]",
    ]
    operands = "%0, %1, %2"
    if mask != "none":
        kind = dtype if mask == "float" else "bool"
        shape = "b, 1, 1, n" if mask == "keys" else "m, n"
        lines.append(f"%3 = input {kind}[{shape}]")
        lines.append(f"%4 = broadcast(%3) {kind}[b, h, m, n]")
        operands += ", %4"
    form = [f"scale = {scale.hex()}"] if scale != 1 else []
    if fill != -math.inf:
        form.append(f"fill = {fill.hex()}")
    if causal is not None:
        form.append(f"causal = {causal}")
    attributes = f" {{{', '.join(form)}}}" if form else ""
    lines.append(f"%{len(lines)} = attention({operands}) {dtype}[b, h, m, e]{attributes}")
    return "graph v1 {\n  " + "\n  ".join(lines) + f"\n  return %{len(lines) - 1}\n}}"


def weights(scores: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
        result: np.ndarray = exps / exps.sum(axis=-1, keepdims=True)
    return result


def oracle(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    scale: float,
    mask: np.ndarray | None,
    fill: float,
    last: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """In float64, and the mean of the magnitudes of v by the same weights."""
    q, k, v = (x.astype("f8") for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    scores = q @ k.swapaxes(-1, -2) * scale
    if mask is not None:
        scores = np.where(mask, scores, fill) if mask.dtype == bool else scores + mask
    if last is not None:
        rows, keys = np.ogrid[: scores.shape[-2], : scores.shape[-1]]
        scores = np.where(keys <= rows + last, scores, -np.inf)
    w = weights(scores)
    return w @ v, w @ abs(v)


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """The same elements in another place of memory."""
    if layout == "heads inside":  # as models make them of one product
        return np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)
    if layout == "columns":
        return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    if layout == "reversed":
        return np.ascontiguousarray(x[..., ::-1, ::-1])[..., ::-1, ::-1]
    if layout == "apart":
        wide = np.zeros((*x.shape[:-2], x.shape[-2] * 2, x.shape[-1] * 3), x.dtype)
        part = wide[..., ::2, 1::3]
        part[...] = x
        return part
    return x


LAYOUTS = st.sampled_from(["rows", "rows", "heads inside", "columns", "reversed", "apart"])
COMPILED: dict[tuple[Any, ...], dvm.CompiledGraph] = {}


def compiled(target: str, *form: Any) -> dvm.CompiledGraph:
    if (target, *form) not in COMPILED:
        COMPILED[target, *form] = dvm.CompiledGraph(text(*form), target=target)
    return COMPILED[target, *form]


def check(result: np.ndarray, wide: np.ndarray, size: np.ndarray, dtype: str, bound: float) -> None:
    """Within `bound` roundings of what is computed in, and one of the result."""
    sums = "f32" if dtype == "f16" else dtype
    allowed = bound * EPSILON[sums] * size + abs(wide) * EPSILON[dtype] * 1.01
    if dtype == "f16":
        allowed += 2.0**-25
    assert result.dtype == NAMES[dtype]
    np.testing.assert_array_equal(np.isnan(result), np.isnan(wide))
    good = ~np.isnan(wide)
    assert (abs(result.astype("f8") - wide)[good] <= allowed[good]).all()


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=120, deadline=None)
@given(
    dtype=st.sampled_from(list(NAMES)),
    mask=st.sampled_from(MASKS),
    causal=st.sampled_from([None, None, "0", "n - m"]),
    sizes=st.tuples(SIZES, SIZES, FEW, FEW),
    heads=st.sampled_from([(1, 1), (2, 2), (4, 2), (3, 1)]),
    scale=st.sampled_from([1.0, 0.125, 0.3, -0.5, 0.0]),
    fill=st.sampled_from([-math.inf, -1e4]),
    layouts=st.tuples(LAYOUTS, LAYOUTS, LAYOUTS),
    seed=st.integers(0, 2**32 - 1),
)
def test_attention(target, dtype, mask, causal, sizes, heads, scale, fill, layouts, seed):
    m, n, d, e = sizes
    h, g = heads
    if mask not in ("bool", "keys"):
        fill = -math.inf
    rng = np.random.default_rng(seed)
    b = int(rng.integers(1, 3))
    shapes = [(b, h, m, d), (b, g, n, d), (b, g, n, e)]
    arrays = [rng.standard_normal(shape).astype(NAMES[dtype]) for shape in shapes]
    masks = []
    if mask == "float":
        masks = [rng.standard_normal((m, n)).astype(NAMES[dtype])]
    elif mask != "none":
        masks = [rng.random((m, n) if mask == "bool" else (b, 1, 1, n)) < 0.7]
    run = compiled(target, dtype, mask, causal, h != g, scale, fill)
    (result,) = run(*(laid_out(x, to) for x, to in zip(arrays, layouts, strict=True)), *masks)
    last = {None: None, "0": 0, "n - m": n - m}[causal]
    rounded = {"f16": np.float32, "f32": np.float32, "f64": np.float64}[dtype]
    wide, size = oracle(*arrays, float(rounded(scale)), *(masks or [None]), fill, last)
    # What scores are wrong by, weights are, and the sums add some.
    reach = abs(arrays[0]).astype("f8").max() * abs(arrays[1]).astype("f8").sum(axis=-1).max()
    check(result, wide, size, dtype, 4 * reach * abs(scale) * (d + 2) / max(d, 1) + 2 * n**0.5 + 16)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", list(NAMES))
def test_no_rows(target, dtype):
    run = compiled(target, dtype, "none", None, True, 1.0, -math.inf)
    for b, h, m, e in [(0, 2, 3, 4), (1, 0, 3, 4), (1, 2, 0, 4), (1, 2, 3, 0)]:
        q = np.zeros((b, h, m, 2), NAMES[dtype])
        k, v = np.zeros((b, 1, 3, 2), NAMES[dtype]), np.zeros((b, 1, 3, e), NAMES[dtype])
        (result,) = run(q, k, v)
        assert result.shape == (b, h, m, e)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sizes", [(0, 3, 2), (3, 0, 2), (3, 3, 5)])
def test_nothing_to_attend_to(target, sizes):
    n, d, h = sizes
    run = compiled(target, "f32", "none", None, True, 1.0, -math.inf)
    arrays = [np.zeros((1, heads, rows, d), "f4") for heads, rows in [(h, 3), (2, n), (2, n)]]
    with pytest.raises(dvm.Error):
        run(*arrays)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m", [1, 70])
def test_special_numbers(target, m):
    rng = np.random.default_rng(m)
    q = rng.standard_normal((1, 1, m, 8)).astype("f4")
    k = rng.standard_normal((1, 1, 300, 8)).astype("f4")
    v = rng.standard_normal((1, 1, 300, 8)).astype("f4")
    run = compiled(target, "f32", "float", None, False, 1.0, -math.inf)
    mask = np.zeros((m, 300), "f4")
    mask[0, :] = -np.inf  # sees nothing
    (result,) = run(q, k, v, mask)
    assert np.isnan(result[0, 0, 0]).all()
    assert not np.isnan(result[0, 0, 1:]).any()
    # Nothing in the first rows of k, whatever block they are in.
    mask[0, 299] = 0
    (result,) = run(q, k, v, mask)
    np.testing.assert_allclose(result[0, 0, 0], v[0, 0, 299], rtol=1e-6)
    # The greatest scores come last; weights of the others are 0.
    mask[0, :] = np.arange(300) * 1000
    (result,) = run(q, k, v, mask)
    np.testing.assert_allclose(result[0, 0, 0], v[0, 0, 299], rtol=1e-6)
    # An infinite score makes its row NaN, as the difference of infinities does in NumPy.
    mask[0, 5] = np.inf
    (result,) = run(q, k, v, mask)
    assert np.isnan(result[0, 0, 0]).all()
    assert not np.isnan(result[0, 0, 1:]).any()
    # A NaN of q is its row's, one of k or v everybody's.
    mask[0, 5] = 0
    q[0, 0, 0, 3] = np.nan
    (result,) = run(q, k, v, mask)
    assert np.isnan(result[0, 0, 0]).all()
    assert not np.isnan(result[0, 0, 1:]).any()
    q[0, 0, 0, 3] = 0
    k[0, 0, 200, 1] = np.nan
    (result,) = run(q, k, v, mask)
    assert np.isnan(result).all()
    k[0, 0, 200, 1] = 0
    v[0, 0, 100, 2] = np.nan
    (result,) = run(q, k, v, mask)
    assert np.isnan(result[..., 2]).all()
    assert not np.isnan(result[..., :2]).any()


BEHIND = """graph v1 {
  %0 = input f32[b, m, d]
  %1 = input f32[b, n, d]
  %2 = input f32[e]
  %3 = input f32[b, n, e]
  %4 = attention(%0, %1, %3) f32[b, m, e] {scale = 0x1p-1}
  %5 = broadcast(%2) f32[b, m, e]
  %6 = add(%4, %5) f32[b, m, e]
  %7 = tanh(%6) f32[b, m, e]
  return %7, %4
}"""


@pytest.mark.parametrize("target", TARGETS)
def test_steps_behind_an_attention(target):
    rng = np.random.default_rng(0)
    run = dvm.CompiledGraph(BEHIND, target=target)
    for m, n in [(1, 5), (20, 70), (100, 3)]:
        q, k, v = (rng.standard_normal((2, rows, 6)).astype("f4") for rows in (m, n, n))
        bias = rng.standard_normal(6).astype("f4")
        result, bare = run(q, k, bias, v)
        wide, _ = oracle(q[None], k[None], v[None], 0.5, None, 0, None)
        np.testing.assert_allclose(bare, wide[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(result, np.tanh(bare + bias), rtol=1e-5, atol=1e-6)


THREADS = """
import hashlib
import numpy as np
from test_attention import compiled
rng = np.random.default_rng(0)
found = hashlib.sha256()
for causal in (None, "0"):
    for h, g, m, n in [(12, 12, 300, 300), (2, 1, 1, 3000), (3, 1, 70, 500)]:
        run = compiled("cpu", "f32", "none", causal, h != g, 0.125, -np.inf)
        q, k, v = (rng.standard_normal((2, *x, 64)).astype("f4") for x in [(h, m), (g, n), (g, n)])
        found.update(run(q, k, v)[0].tobytes())
print(found.hexdigest())
"""


def test_bits_are_those_of_one_thread():
    def bits(threads: int) -> str:
        done = subprocess.run(
            [sys.executable, "-c", THREADS],
            env=os.environ
            | {"DVM_NUM_THREADS": str(threads), "PYTHONPATH": str(Path(__file__).parent)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert bits(1) == bits(2) == bits(3)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%3 = attention(%0, %1) f32[m, e]", "takes 3 or 4 operands, got 2"),
        ("%3 = attention(%0, %1, %0) f32[m, d]", r"shapes \[m, d\], \[n, d\] and \[m, d\] do not"),
        ("%3 = attention(%0, %1, %2, %0) f32[m, e]", r"a mask of shape \[m, d\], not \[m, n\]"),
        ("%3 = attention(%0, %1, %2) f32[m, e] {fill = 0x0p+0}", "fills nothing without a mask"),
        ("%3 = attention(%0, %1, %2) f64[m, e]", "the type is f32"),
    ],
)
def test_broken_rules(line, message):
    graph = f"""graph v1 {{
  %0 = input f32[m, d]
  %1 = input f32[n, d]
  %2 = input f32[n, e]
  {line}
  return %3
}}"""
    with pytest.raises(dvm.Error, match=message):
        dvm.CompiledGraph(graph)


def primitives(mask: str) -> str:
    """Attention as NumPy programs write it."""
    lines = [
        "%0 = input f32[b, h, m, d]",
        "%1 = input f32[b, h, n, d]",
        "%2 = input f32[b, h, n, e]",
        f"%3 = input {'bool' if mask == 'where' else 'f32'}[b, 1, 1, n]",
        "%4 = transpose(%1) f32[b, h, d, n] {axes = [0, 1, 3, 2]}",
        "%5 = matmul(%0, %4) f32[b, h, m, n]",
        "%6 = constant f32[] {value = 0x1p-3}",
        "%7 = broadcast(%6) f32[b, h, m, n]",
        "%8 = mul(%5, %7) f32[b, h, m, n]",
        f"%9 = broadcast(%3) {'bool' if mask == 'where' else 'f32'}[b, h, m, n]",
    ]
    if mask == "where":
        lines += [
            "%10 = constant f32[] {value = -0x1.dcd65p+29}",
            "%11 = broadcast(%10) f32[b, h, m, n]",
            "%12 = select(%9, %8, %11) f32[b, h, m, n]",
        ]
    elif mask == "add":
        lines += ["%10 = add(%8, %9) f32[b, h, m, n]"]
    x = len(lines) - 1 if mask != "none" else 8
    y = len(lines)
    lines += [
        f"%{y} = max(%{x}) f32[b, h, m, 1] {{axes = [3]}}",
        f"%{y + 1} = broadcast(%{y}) f32[b, h, m, n]",
        f"%{y + 2} = sub(%{x}, %{y + 1}) f32[b, h, m, n]",
        f"%{y + 3} = exp(%{y + 2}) f32[b, h, m, n]",
        f"%{y + 4} = sum(%{y + 3}) f32[b, h, m, 1] {{axes = [3]}}",
        f"%{y + 5} = broadcast(%{y + 4}) f32[b, h, m, n]",
        f"%{y + 6} = div(%{y + 3}, %{y + 5}) f32[b, h, m, n]",
        f"%{y + 7} = matmul(%{y + 6}, %2) f32[b, h, m, e]",
    ]
    return "graph v1 {\n  " + "\n  ".join(lines) + f"\n  return %{y + 7}\n}}"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mask", ["none", "where", "add"])
def test_softmax_of_products_is_an_attention(target, mask):
    run = dvm.CompiledGraph(primitives(mask), target=target)
    assert str(run.plan).count("attention(") == 1
    assert "matmul" not in str(run.plan)
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, 3, rows, 16)).astype("f4") for rows in (33, 90, 90))
    seen = rng.random((2, 1, 1, 90)) < 0.5
    seen[1] = False  # all weigh alike where nothing is seen
    given = seen if mask == "where" else np.where(seen, 0, -3).astype("f4")
    (result,) = run(q, k, v, given)
    fill = float(np.float32(-1e9))
    wide, size = oracle(q, k, v, 0.125, None if mask == "none" else given, fill, None)
    assert (abs(result - wide) <= 100 * EPSILON["f32"] * size).all()
