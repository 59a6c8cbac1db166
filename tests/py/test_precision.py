"""precision=: what products of float32 may be rounded to, and that nothing else is."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dvm
from dvm import _dvm

Array = np.ndarray[Any, Any]
EPSILON = float(np.finfo(np.float32).eps)


def product(x: Array, y: Array) -> Array:
    return x @ y


def compiled(precision: str) -> Any:
    return dvm.compile(product, precision=precision)


def rounded(x: Array) -> Array:
    """To bfloat16, ties to even; of finite numbers."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return bits.astype(np.uint32).view(np.float32)


@st.composite
def factors(draw: Any) -> tuple[Array, Array]:
    """Draw x of m by k and y of k by n, as it lies or turned, frozen or not."""
    m = draw(st.sampled_from([1, 8, 9, 24, 25, 48, 130, 300]))
    k, n = draw(st.integers(1, 700)), draw(st.integers(1, 300))
    turned, frozen = draw(st.booleans()), draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    x = rng.standard_normal((m, k)).astype(np.float32)
    y = rng.standard_normal((n, k) if turned else (k, n)).astype(np.float32)
    y = dvm.freeze(y) if frozen else y
    return x, y.T if turned else y


@settings(max_examples=60, deadline=None)
@given(factors())
def test_medium_is_exact_or_rounds_factors(drawn: tuple[Array, Array]) -> None:
    (x, y), k = drawn, drawn[0].shape[1]
    f = compiled("medium")
    with dvm.stance("force_capture"):
        f(x, y)  # the call that is captured is NumPy's
        got = f(x, y).astype(np.float64)
    x64, y64 = x.astype(np.float64), y.astype(np.float64)
    size = np.abs(x64) @ np.abs(y64)
    assert (np.abs(got - x64 @ y64) <= 2**-7 * size).all()
    summed = (k + 2) * EPSILON * size * (1 + 2**-7)
    exact = (np.abs(got - x64 @ y64) <= summed).all()
    rounds = (np.abs(got - rounded(x).astype(np.float64) @ rounded(y)) <= summed).all()
    assert exact or rounds


def test_what_is_no_product_of_float32_stays_as_it_is() -> None:
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float16, np.int32):
        x = (rng.standard_normal((64, 64)) * 9).astype(dtype)
        results = []
        for precision in ("highest", "medium"):
            f = compiled(precision)
            with dvm.stance("force_capture"):
                results.append([f(x, x), f(x, x)][1].tobytes())
        assert results[0] == results[1]


@settings(max_examples=60, deadline=None)
@given(factors())
def test_high_is_within_its_bound(drawn: tuple[Array, Array]) -> None:
    (x, y), k = drawn, drawn[0].shape[1]
    f, exact = compiled("high"), compiled("highest")
    with dvm.stance("force_capture"):
        got = [f(x, y), f(x, y)][1]
        plain = [exact(x, y), exact(x, y)][1]
    x64, y64 = x.astype(np.float64), y.astype(np.float64)
    size = np.abs(x64) @ np.abs(y64)
    lost = 3 * 2**-16 + 3 * (k + 2) * EPSILON
    assert (np.abs(got - x64 @ y64) <= lost * size).all()
    if _dvm.simd_level() != "amx":
        assert got.tobytes() == plain.tobytes()


@pytest.mark.skipif(_dvm.simd_level() != "amx", reason="no tiles of matrices (AMX) to leave unused")
def test_a_lower_simd_level_rounds_nothing_to_two_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVM_SIMD", "avx512")
    program = textwrap.dedent(
        """
        import numpy as np, dvm
        x = np.random.default_rng(0).standard_normal((200, 200)).astype(np.float32)
        results = []
        for precision in ("highest", "high"):
            f = dvm.compile(lambda a, b: a @ b, precision=precision)
            with dvm.stance("force_capture"):
                results.append([f(x, x), f(x, x)][1].tobytes())
        assert results[0] == results[1]
        """
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_option_is_seen_and_kept() -> None:
    f = compiled("medium")
    x = np.ones((64, 64), np.float32)
    with dvm.stance("force_capture"):
        f(x, x)
    assert "precision =" not in f.inspect("graph")
    assert "rounds(bf16)" in f.inspect("bytecode")
    g = compiled("high")
    with dvm.stance("force_capture"):
        g(x, x)
    assert "rounds(bf16x2)" in g.inspect("bytecode")
    assert pickle.loads(pickle.dumps(f)).options == f.options
    text = "graph v1 {\n  %0 = input f32[m, k]\n  %1 = input f32[k, n]\n"
    text += "  %2 = matmul(%0, %1) f32[m, n]\n  return %2\n}\n"
    assert "precision = medium" in dvm.CompiledGraph(text, precision="medium").plan
    assert "precision" not in dvm.CompiledGraph(text).plan


def test_there_are_three() -> None:
    with pytest.raises(dvm.UnsupportedError, match="highest, high, medium"):
        dvm.compile(product, precision="low")
    with pytest.raises(dvm.UnsupportedError, match="valid are highest, high, medium"):
        dvm.CompiledGraph("graph v1 {\n  return\n}", precision="low")
