"""The op `convolve` against sums in f64, on all targets, over windows of every form."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.py.whole import how_many

import dvm

TOLERANCE = {"f64": 1e-13, "f32": 2e-6, "f16": 2e-3}
NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16}


def expected(
    w: np.ndarray, x: np.ndarray, window: Any, steps: Any, dilations: Any, padding: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The sums, and how large what is added up is."""
    axes = len(window)
    batch, channels = x.shape[: -axes - 1], x.shape[-axes - 1]
    weights = w.astype(np.float64).reshape(*batch, w.shape[-2], channels, *window)
    zeros = list(zip(padding[:axes], padding[axes:], strict=True))
    x = np.pad(x.astype(np.float64), [(0, 0)] * (len(batch) + 1) + zeros)
    sizes = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, s, d in zip(x.shape[-axes:], window, steps, dilations, strict=True)
    ]
    total = np.zeros((*batch, w.shape[-2], *sizes))
    size = np.zeros_like(total)
    for at in itertools.product(*map(range, window)):
        cut = tuple(
            slice(i * d, i * d + (n - 1) * s + 1, s)
            for i, d, n, s in zip(at, dilations, sizes, steps, strict=True)
        )
        part = x[(..., *cut)].reshape(*batch, channels, -1)
        of_part = weights[(..., *at)]
        total += (of_part @ part).reshape(total.shape)
        size += (abs(of_part) @ abs(part)).reshape(total.shape)
    return total, size


def graph(
    dtype: str, rank: int, window: Any, steps: Any, dilations: Any, padding: Any, target: str
) -> dvm.CompiledGraph:
    """A convolution with a bias for each row and a maximum behind it."""
    axes = len(window)
    batch = [f"b{d}" for d in range(rank - axes - 1)]
    positions = [
        f"floordiv(s{d} + {p + q - (k - 1) * e - 1}, {s}) + 1".replace("+ -", "- ")
        for d, (k, s, e, p, q) in enumerate(
            zip(window, steps, dilations, padding[:axes], padding[axes:], strict=True)
        )
    ]
    elements = math.prod(window)
    out = ", ".join([*batch, "m", *positions])
    shape = ", ".join([*batch, "c", *(f"s{d}" for d in range(axes))])
    matrix = ", ".join([*batch, "m", f"{elements}*c" if elements != 1 else "c"])
    ones = ", ".join(["m", *["1"] * axes])
    numbers = "window = {}, steps = {}, dilations = {}, padding = {}".format(
        *(list(each) for each in (window, steps, dilations, padding))
    )
    return dvm.CompiledGraph(
        f"""graph v1 {{
  %0 = input {dtype}[{matrix}]
  %1 = input {dtype}[{shape}]
  %2 = input {dtype}[{ones}]
  %3 = convolve(%0, %1) {dtype}[{out}] {{{numbers}}}
  %4 = broadcast(%2) {dtype}[{out}]
  %5 = add(%3, %4) {dtype}[{out}]
  return %5
}}""",
        target=target,
    )


@st.composite
def forms(draw: Any) -> dict[str, Any]:
    axes = draw(st.integers(1, 3))
    few = st.lists(st.integers(1, 3), min_size=axes, max_size=axes)
    form: dict[str, Any] = {
        "window": draw(few),
        "steps": draw(few),
        "dilations": draw(few),
        "batch": draw(st.lists(st.integers(1, 3), max_size=1 if axes == 3 else 2)),
        "channels": draw(st.integers(1, 9)),
        "rows": draw(st.sampled_from([1, 2, 6, 7, 9, 13, 33])),
        "dtype": draw(st.sampled_from(sorted(NUMPY))),
        "seed": draw(st.integers(0, 2**16)),
        "order": draw(st.permutations(range(axes + 1))),
    }
    form["padding"] = draw(
        st.lists(st.integers(0, 3), min_size=2 * axes, max_size=2 * axes)
        | st.just([0] * (2 * axes))
    )
    most = draw(st.sampled_from([0, {1: 200, 2: 24, 3: 7}[axes]]))
    form["sizes"] = [
        max((k - 1) * d + 1 - p - q, 1) + draw(st.integers(0, most))
        for k, d, p, q in zip(
            form["window"],
            form["dilations"],
            form["padding"][:axes],
            form["padding"][axes:],
            strict=True,
        )
    ]
    return form


def check(form: dict[str, Any], target: str) -> None:
    rng = np.random.default_rng(form["seed"])
    numbers = [form[k] for k in ("window", "steps", "dilations", "padding")]
    window = form["window"]
    batch, channels, rows, sizes = (form[k] for k in ("batch", "channels", "rows", "sizes"))
    dtype = NUMPY[form["dtype"]]
    w = rng.standard_normal((*batch, rows, channels * math.prod(window))).astype(dtype)
    own = (channels, *sizes)
    order = form["order"]
    x = rng.standard_normal((*batch, *(own[k] for k in order))).astype(dtype)
    back = [len(batch) + order.index(k) for k in range(len(order))]
    x = x.transpose(*range(len(batch)), *back)
    bias = rng.standard_normal((rows, *[1] * len(window))).astype(dtype)
    total, size = expected(w, x, *numbers)
    compiled = graph(form["dtype"], x.ndim, *numbers, target)
    (got,) = compiled(w, x, bias)
    assert got.shape == total.shape
    slack = TOLERANCE[form["dtype"]] * (size + abs(bias.astype(np.float64)) + abs(total)) * 2
    assert (abs(got - (total + bias)) <= slack).all()


@st.composite
def lone_channels(draw: Any) -> dict[str, Any]:
    """Each channel by itself: windows that are read where they lie, and some that are too wide."""
    axes = draw(st.integers(1, 3))
    size = {1: 70, 2: 24, 3: 7}[axes]
    window = draw(st.lists(st.integers(1, 8 if axes < 3 else 3), min_size=axes, max_size=axes))
    steps = draw(st.lists(st.integers(1, 3), min_size=axes, max_size=axes))
    padding = draw(st.lists(st.integers(0, 4), min_size=2 * axes, max_size=2 * axes))
    return {
        "window": window,
        "steps": steps,
        "dilations": [draw(st.sampled_from([1, 1, 1, 2])) for _ in window],
        "batch": draw(st.lists(st.integers(1, 4), min_size=1, max_size=1 if axes == 3 else 2)),
        "channels": 1,
        "rows": 1,
        "dtype": draw(st.sampled_from(["f32", "f64"])),
        "seed": draw(st.integers(0, 2**16)),
        "order": list(range(axes + 1)),
        "padding": padding,
        "sizes": [2 * k + draw(st.integers(0, size)) for k in window],
    }


@settings(max_examples=how_many(80, 1500), deadline=None)
@given(lone_channels())
def test_channels_by_themselves(form: dict[str, Any]) -> None:
    check(form, "cpu")


@settings(max_examples=how_many(40, 600), deadline=None)
@given(
    st.lists(st.integers(1, 5), min_size=2, max_size=2),
    st.sampled_from([1, 40, 300]),
    st.sampled_from([5, 17, 64]),
    st.sampled_from(["f32", "f64"]),
    st.integers(1, 2),
    st.integers(0, 2**16),
)
def test_few_windows_of_many_channels(
    sizes: list[int], channels: int, rows: int, dtype: str, step: int, seed: int
) -> None:
    form = {
        "window": [3, 3], "steps": [step, step], "dilations": [1, 1], "padding": [1, 1, 1, 1],
        "batch": [2], "channels": channels, "rows": rows, "dtype": dtype, "seed": seed,
        "order": [0, 1, 2], "sizes": sizes,
    }  # fmt: skip
    check(form, "cpu")


@settings(max_examples=how_many(150, 3000), deadline=None)
@given(forms())
def test_any_windows_on_the_cpu(form: dict[str, Any]) -> None:
    check(form, "cpu")


@settings(max_examples=how_many(25, 500), deadline=None)
@given(forms(), st.sampled_from(["ascend910b1", "ascend910_9391"]))
def test_any_windows_on_simulated_cores(form: dict[str, Any], target: str) -> None:
    check(form, target)


@pytest.mark.parametrize(
    ("channels", "rows", "size", "window", "step"),
    [(3, 64, 70, 7, 2), (64, 64, 57, 3, 1), (96, 200, 14, 3, 1), (130, 40, 7, 1, 1)],
)
def test_the_sizes_of_networks(channels: int, rows: int, size: int, window: int, step: int) -> None:
    form = {
        "window": [window] * 2,
        "steps": [step] * 2,
        "dilations": [1, 1],
        "padding": [window // 2] * 4,
        "batch": [2],
        "channels": channels,
        "rows": rows,
        "dtype": "f32",
        "seed": 1,
        "order": [0, 1, 2],
        "sizes": [size, size + 1],
    }
    check(form, "cpu")


def test_nothing_at_all() -> None:
    compiled = graph("f32", 4, [3, 3], [1, 1], [1, 1], [0] * 4, "cpu")
    bias = np.ones((5, 1, 1), np.float32)
    none = compiled(np.zeros((0, 5, 18), np.float32), np.zeros((0, 2, 8, 8), np.float32), bias)
    assert none[0].shape == (0, 5, 6, 6)
    around = graph("f32", 4, [1, 1], [1, 1], [1, 1], [1] * 4, "cpu")
    zeros = around(np.ones((1, 5, 2), np.float32), np.zeros((1, 2, 0, 3), np.float32), bias)
    assert zeros[0].shape == (1, 5, 2, 5)
    assert (zeros[0] == 1).all()
    without = compiled(np.zeros((1, 5, 0), np.float32), np.zeros((1, 0, 8, 8), np.float32), bias)
    assert (without[0] == 1).all()


def test_a_window_that_does_not_fit() -> None:
    compiled = graph("f32", 4, [3, 3], [1, 1], [1, 1], [0] * 4, "cpu")
    with pytest.raises(dvm.Error, match="-"):
        compiled(
            np.zeros((1, 5, 18), np.float32),
            np.zeros((1, 2, 1, 8), np.float32),
            np.zeros((5, 1, 1), np.float32),
        )


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("far", [1_000, 1_000_000])
def test_windows_whose_elements_lie_far_apart(axes: int, far: int) -> None:
    """Of two elements along each axis the last one alone is ever in the array."""
    sizes = [3, 4, 5][:axes]
    shape = ", ".join(map(str, sizes))
    padding = [far] * axes + [0] * axes
    numbers = f"window = {[2] * axes}, steps = {[1] * axes}, dilations = {[far] * axes}"
    f = dvm.CompiledGraph(f"""graph v1 {{
  %0 = input f32[m, {3 * 2**axes}]
  %1 = input f32[3, {shape}]
  %2 = convolve(%0, %1) f32[m, {shape}] {{{numbers}, padding = {padding}}}
  return %2
}}""")
    rng = np.random.default_rng(0)
    weights = rng.integers(-9, 9, (4, 3, 2**axes)).astype(np.float32)
    x = rng.integers(-9, 9, (3, *sizes)).astype(np.float32)
    (got,) = f(weights.reshape(4, -1), x)
    np.testing.assert_array_equal(got, np.tensordot(weights[:, :, -1], x, 1))


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ("[3]", "along 1 to 3 axes"),
        ("[0, 3]", "at least 1"),
        ("[2, 3]", "no convolution of weights"),
    ],
)
def test_what_is_no_convolution(window: str, message: str) -> None:
    numbers = f"window = {window}, steps = [1, 1], dilations = [1, 1], padding = [0, 0, 0, 0]"
    with pytest.raises(dvm.Error, match=message):
        dvm.CompiledGraph(
            f"""graph v1 {{
  %0 = input f32[b, m, 9*c]
  %1 = input f32[b, c, h, w]
  %2 = convolve(%0, %1) f32[b, m, h - 2, w - 2] {{{numbers}}}
  return %2
}}"""
        )
