"""Sizes: computed ones, those that inputs tell, and what is compiled for each value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dvm
import dvm.onnx
from onnx_door.small import MODELS
from onnx_door.writing import model

F = np.float32


def test_sizes_are_computed_and_not_the_hosts() -> None:
    body = """
        s = Shape(x) n = Gather(s, zero) m = Gather(s, one)
        h = Div(m, two) n1 = Unsqueeze(n, axes) h1 = Unsqueeze(h, axes)
        t = Concat<axis = 0>(n1, pair, h1) y = Reshape(x, t)
    """
    weights = {
        "zero": np.array(0), "one": np.array(1), "two": np.array(2), "axes": np.array([0]),
        "pair": np.array([2]),
    }  # fmt: skip
    loaded = dvm.onnx.load(model("float[n, m] x", "float[a, 2, c] y", body, weights))
    for n, m in ((1, 2), (3, 8), (5, 4)):
        x = np.random.default_rng(0).random((n, m), F)
        assert np.array_equal(loaded(x)[0], x.reshape(n, 2, m // 2))
    assert loaded.variants == 1


def test_sizes_that_an_input_tells_are_one_variant() -> None:
    loaded = dvm.onnx.load(
        model("float[n, 1] x, int64[2] to", "float[a, b] y", "y = Expand(x, to)")
    )
    for n, m in ((2, 3), (4, 1), (1, 9)):
        x = np.random.default_rng(0).random((n, 1), F)
        assert np.array_equal(loaded(x, np.array([n, m]))[0], np.broadcast_to(x, (n, m)))
    assert loaded.variants == 1
    assert loaded.by_value == {}


def test_structure_that_an_input_tells_is_a_variant_for_each_value() -> None:
    loaded = dvm.onnx.load(
        model("float[n, m] x, int64[1] axes", "float[a, b] y", "y = ReduceSum(x, axes)")
    )
    with pytest.raises(dvm.UnsupportedError, match="values of axes decide"):
        loaded.save("never")
    x = np.ones((2, 3), F)
    for axis in (0, 1, 0, -1, 1):
        assert np.array_equal(loaded(x, np.array([axis]))[0], x.sum(axis, keepdims=True))
    assert loaded.variants == 3
    assert loaded.by_value == {"axes": "value"}


def test_a_size_that_is_none_is_a_variant() -> None:
    loaded = dvm.onnx.load(model("float[n, m] x", "float[n, 1] y", "y = ReduceSum(x, axes)",
                                 {"axes": np.array([1])}))  # fmt: skip
    assert loaded(np.ones((2, 3), F))[0].tolist() == [[3], [3]]
    assert loaded(np.ones((2, 0), F))[0].tolist() == [[0], [0]]
    assert loaded(np.ones((0, 3), F))[0].shape == (0, 1)
    assert loaded(np.ones((2, 3), F))[0].tolist() == [[3], [3]]


ENDS = st.integers(-9, 9)


@given(st.integers(1, 6), ENDS, ENDS, st.sampled_from([-3, -2, -1, 1, 2, 3]))
def test_slices_of_any_size_are_those_of_numpy(n: int, start: int, end: int, step: int) -> None:
    weights = {name: np.array([v]) for name, v in
               (("s", start), ("e", end), ("a", 0), ("t", step))}  # fmt: skip
    loaded = dvm.onnx.load(
        model("float[n, 2] x", "float[k, 2] y", "y = Slice(x, s, e, a, t)", weights)
    )
    x = np.arange(2 * n, dtype=F).reshape(n, 2)
    assert np.array_equal(loaded(x)[0], x[start:end:step])


@given(st.integers(-20, 20), st.integers(-20, 20).filter(bool))
def test_integers_are_divided_towards_zero(x: int, y: int) -> None:
    loaded = dvm.onnx.load(model("int64[n] x, int64[n] y", "int64[n] z", "z = Div(x, y)"))
    assert loaded(np.array([x]), np.array([y]))[0].tolist() == [int(x / y)]


def test_loops_of_any_number_of_turns() -> None:
    text = """
        <ir_version: 10, opset_import: ["" : 21]>
        tested (int64 turns, float[n] x) => (float[n] y, float[t, n] all) {
            go = Constant<value_int = 1>()
            on = Cast<to = 9>(go)
            y, all = Loop(turns, on, x) <body = body (int64 i, bool c, float[n] state)
                => (bool d, float[n] next, float[n] row) {
                    d = Identity(c)
                    f = CastLike(i, state)
                    next = Add(state, f)
                    row = Mul(next, next)
                }>
        }
    """
    import onnx

    loaded = dvm.onnx.load(onnx.parser.parse_model(text))
    x = np.array([1.0, 2.0], F)
    for turns in (3, 1, 5, 0):
        rows, state = [], x
        for k in range(turns):
            state = state + F(k)
            rows.append(state * state)
        made = loaded(np.array(turns), x)
        assert np.array_equal(made["y"], state)
        assert np.array_equal(made["all"], np.array(rows, F).reshape(turns, 2))
    assert loaded.variants == 1


OPEN = [name for name in MODELS if name not in ("loop", "branch")]


@pytest.mark.parametrize("name", OPEN)
def test_a_file_takes_sizes_of_0(name: str, tmp_path: Path) -> None:
    """Each size in turn: what the model gives where it says that it is 0."""
    loaded = dvm.onnx.load(MODELS[name])
    loaded.save(tmp_path / "model.dvm")
    saved = dvm.load(tmp_path / "model.dvm")
    names = {d.dim_param for v in MODELS[name].graph.input for d in v.type.tensor_type.shape.dim}
    for empty in sorted(names - {""}):
        sizes = {size: 0 if size == empty else 2 for size in names - {""}}
        arrays = [
            np.ones([sizes.get(d.dim_param, d.dim_value) for d in v.type.tensor_type.shape.dim], F)
            for v in MODELS[name].graph.input
        ]
        (wanted,) = dvm.onnx.load(MODELS[name], sizes=sizes)(*arrays)
        for made in (saved(*arrays)[0], loaded(*arrays)[0]):
            assert made.dtype == wanted.dtype
            np.testing.assert_array_equal(made, wanted)
    assert loaded.variants == 1


def test_a_size_that_may_not_be_0_is_named(tmp_path: Path) -> None:
    """What is computed depends on it: a file has no second variant."""
    body = """
        s = Shape(x) n = Gather(s, zero) k = Sub(n, one) h = Div(k, two)
        h1 = Unsqueeze(h, axes) y = ConstantOfShape(h1)
    """
    weights = {"zero": np.array(0), "one": np.array(1), "two": np.array(2), "axes": np.array([0])}
    loaded = dvm.onnx.load(model("float[n] x", "float[k] y", body, weights))
    assert [loaded(np.ones(n, F))[0].size for n in (5, 1, 0)] == [2, 0, 0]
    loaded.save(tmp_path / "model.dvm")
    saved = dvm.load(tmp_path / "model.dvm")
    assert saved(np.ones(5, F))[0].size == 2
    with pytest.raises(dvm.ShapeError, match=r"axis 0 of argument 0 \('x'\) is 0, and .* n >= 1"):
        saved(np.ones(0, F))
