"""What a model is called with, what it says of itself, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import dvm
import dvm.onnx
from onnx_door.writing import model

X = np.arange(12, dtype=np.float32).reshape(3, 4)
LAYER = "h = MatMul(x, w) s = Add(h, b) y = Relu(s)"
WEIGHTS = {
    "w": np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2),
    "b": np.array([0.5, -0.5], np.float32),
}


def layer() -> onnx.ModelProto:
    return model("float[n, 4] x", "float[n, 2] y", LAYER, WEIGHTS)


def test_inputs_by_position_and_by_name() -> None:
    loaded = dvm.onnx.load(layer())
    wanted = np.maximum(X @ WEIGHTS["w"] + WEIGHTS["b"], 0)
    for made in (loaded(X), loaded(x=X), loaded.run({"x": X})):
        (first,) = made
        np.testing.assert_allclose(first, wanted, 1e-5)
        assert made["y"] is first
        assert made.as_dict() == {"y": first}


def test_a_model_says_what_it_is() -> None:
    loaded = dvm.onnx.load(layer())
    assert loaded.inputs == {"x": "f32[n, 4]"}
    assert loaded.outputs == {"y": "f32[n, 2]"}
    assert repr(loaded) == "<dvm.onnx.Model (x: f32[n, 4]) -> (y: f32[n, 2]) target=cpu>"
    assert loaded.graph.startswith("graph v1 {")
    assert "matmul" in loaded.graph
    assert (loaded.variants, loaded.by_value, loaded.host_calls) == (1, {}, {})


def test_it_runs_on_simulated_cores() -> None:
    wanted, made = dvm.onnx.load(layer())(X)[0], dvm.onnx.load(layer(), "ascend910b3")(X)[0]
    np.testing.assert_allclose(made, wanted, 1e-5)


def test_a_model_is_saved(tmp_path: Path) -> None:
    loaded = dvm.onnx.load(layer())
    loaded.save(tmp_path / "layer.dvm")
    again = dvm.load(tmp_path / "layer.dvm")
    assert list(again.arguments) == ["x"]
    assert np.array_equal(again(X)[0], loaded(X)[0])


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (((X, X), {}), dvm.ShapeError, "2 inputs for 1"),
        (((), {}), dvm.ShapeError, "no input 'x'"),
        (((), {"X": X}), dvm.UnsupportedError, "no input 'X'; valid are x"),
        (((X,), {"x": X}), dvm.ShapeError, "given twice"),
        (((X.astype(np.float64),), {}), dvm.DtypeError, "'x' is of float32, not float64"),
        (((X[0],), {}), dvm.ShapeError, "'x' has rank 2, not 1"),
        (((X[:, :3],), {}), dvm.ShapeError, "axis 1 of the input 'x' is 3, not 4"),
    ],
)
def test_wrong_inputs_are_named(given: Any, error: type[dvm.Error], text: str) -> None:
    loaded = dvm.onnx.load(layer())
    arrays, named = given
    with pytest.raises(error, match=text):
        loaded(*arrays, **named)


def test_two_inputs_have_one_size() -> None:
    loaded = dvm.onnx.load(model("float[n] x, float[n] y", "float[n] z", "z = Add(x, y)"))
    with pytest.raises(dvm.ShapeError, match="axis 0 of the input 'y' is 1, not n = 2 of x"):
        loaded(np.ones(2, np.float32), np.ones(1, np.float32))


def test_all_operators_without_a_meaning_are_named_at_once() -> None:
    body = """a = Foo(x) b = Foo(a) c = my.domain.Bar(b) y = Relu(c)"""
    text = (
        '<ir_version: 10, opset_import: ["" : 21, "my.domain" : 1]>\n'
        f"tested (float[n] x) => (float[n] y) {{ {body} }}"
    )
    with pytest.raises(dvm.UnsupportedError) as caught:
        dvm.onnx.load(onnx.parser.parse_model(text))
    assert "Foo (2), my.domain::Bar" in str(caught.value)
    assert caught.value.code == "DVM-U001"


def test_what_is_refused_is_named_with_its_node() -> None:
    with pytest.raises(dvm.UnsupportedError, match="RandomUniformLike 'y': random numbers"):
        dvm.onnx.load(model("float[n] x", "float[n] y", "y = RandomUniformLike(x)"))


def test_files_that_are_no_models(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for content in (b"", b"no model at all", layer().SerializeToString()[:40]):
        path.write_bytes(content)
        with pytest.raises(dvm.FormatError, match="is no ONNX model"):
            dvm.onnx.load(path)
    with pytest.raises(OSError, match="No such file"):
        dvm.onnx.load(tmp_path / "none.onnx")


def test_a_model_that_uses_what_nothing_makes() -> None:
    made = layer()
    made.graph.node[0].input[0] = "lost"
    with pytest.raises(dvm.FormatError, match="nothing in the model makes 'lost'"):
        dvm.onnx.load(made)


# Elements in files


def with_data(folder: Path, location: str, length: int = 32, offset: int = 0) -> Path:
    """Write a model whose weight lies in a file; the file has 64 bytes."""
    folder.mkdir(exist_ok=True)
    made = layer()
    for tensor in made.graph.initializer:
        if tensor.name == "w":
            data = tensor.raw_data
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            for key, value in (("location", location), ("offset", offset), ("length", length)):
                tensor.external_data.add(key=key, value=str(value))
    (folder / "w.bin").write_bytes(data + bytes(32))
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def test_weights_in_a_file_are_mapped(tmp_path: Path) -> None:
    made = dvm.onnx.load(with_data(tmp_path / "model", "w.bin"))(X)[0]
    assert np.array_equal(made, dvm.onnx.load(layer())(X)[0])


@pytest.mark.parametrize(
    ("location", "length", "offset"),
    [
        ("../w.bin", 32, 0),
        ("/etc/passwd", 32, 0),
        ("inner/../../w.bin", 32, 0),
        ("link.bin", 32, 0),
        ("folder/w.bin", 32, 0),
        ("hard.bin", 32, 0),
        ("none.bin", 32, 0),
        ("", 32, 0),
        ("w.bin", 32, 48),
        ("w.bin", 32, -8),
        ("w.bin", 16, 0),
        ("w.bin", 32, 2**63),
    ],
)
def test_weights_lie_in_the_models_folder(
    tmp_path: Path, location: str, length: int, offset: int
) -> None:
    folder, beside = tmp_path / "model", tmp_path / "beside"
    path = with_data(folder, location, length, offset)
    beside.mkdir()
    for file in (tmp_path / "w.bin", beside / "w.bin", beside / "hard.bin"):
        file.write_bytes(bytes(64))
    (folder / "link.bin").symlink_to(beside / "w.bin")
    (folder / "folder").symlink_to(beside)
    os.link(beside / "hard.bin", folder / "hard.bin")
    with pytest.raises(dvm.FormatError, match="weight 'w'"):
        dvm.onnx.load(path)


def test_a_model_without_a_folder_has_no_files(tmp_path: Path) -> None:
    made = onnx.ModelProto()
    made.ParseFromString(with_data(tmp_path, "w.bin").read_bytes())
    with pytest.raises(dvm.FormatError, match="the model came from none"):
        dvm.onnx.load(made)


def test_weights_are_shared_and_not_copied(tmp_path: Path) -> None:
    wide = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    made = model("float[n, 64] x", "float[n, 64] y", "y = MatMul(x, w)", {"w": wide})
    onnx.save(made, tmp_path / "m.onnx", save_as_external_data=True, size_threshold=0, location="d")
    loaded = dvm.onnx.load(tmp_path / "m.onnx")
    x = np.ones((2, 64), np.float32)
    np.testing.assert_allclose(loaded(x)[0], x @ wide, 1e-5)
    assert "{name = " in loaded.graph


def test_the_door_needs_no_torch(run_python: Any) -> None:
    assert run_python("import dvm.onnx, sys; print('torch' in sys.modules)") == "False\n"


def test_dvm_needs_no_onnx(run_python: Any) -> None:
    assert run_python("import dvm, sys; print('onnx' in sys.modules)") == "False\n"


def test_results_are_the_callers() -> None:
    """They share no memory with what a model is given, nor with each other."""
    body = "y = Identity(x) z = Transpose(x) w = Flatten(x)"
    loaded = dvm.onnx.load(
        model("float[n, 4] x", "float[n, 4] y, float[4, n] z, float[n, 4] w", body)
    )
    x = X.copy()
    results = loaded(x)
    for result in results:
        result += 1
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(results["y"], X + 1)
    np.testing.assert_array_equal(results["z"], X.T + 1)


@pytest.mark.parametrize("order", [np.asfortranarray, lambda x: np.repeat(x, 2, 0)[::2], np.flipud])
def test_inputs_in_any_layout(order: Any) -> None:
    loaded = dvm.onnx.load(
        model("float[n, m] x", "float[k] y", "s = Constant<value_ints=[-1]>() y = Reshape(x, s)")
    )
    x = order(X)
    np.testing.assert_array_equal(loaded(x)[0], x.reshape(-1))


def test_places_from_the_end_and_no_further() -> None:
    loaded = dvm.onnx.load(model("float[n, 4] x, int64[k] i", "float[k, 4] y", "y = Gather(x, i)"))
    np.testing.assert_array_equal(loaded(X, np.array([-1, 0, -3]))[0], X[[-1, 0, -3]])
    for place in (-4, -6, 3, 2**41):
        with pytest.raises(dvm.Error):
            loaded(X, np.array([place]))


def test_a_slice_to_before_the_first_element() -> None:
    text = "y = Slice(x, a, e, z, a)"
    weights = {"a": np.array([-1]), "e": np.array([-(2**63)]), "z": np.array([0])}
    loaded = dvm.onnx.load(model("float[n, 4] x", "float[n, 4] y", text, weights))
    np.testing.assert_array_equal(loaded(X)[0], X[::-1])


def test_means_of_integers_are_cut_towards_zero() -> None:
    loaded = dvm.onnx.load(
        model("int32[n, 4] x", "int32[n, 1] y", "y = ReduceMean(x, a)", {"a": np.array([1])}, 18)
    )
    np.testing.assert_array_equal(loaded(np.array([[-1, -2, -3, -5]], np.int32))[0], [[-2]])


def test_convolutions_of_volumes_in_groups() -> None:
    import onnxruntime

    weights = {"w": np.random.default_rng(0).standard_normal((6, 2, 2, 2, 2), np.float32)}
    made = model(
        "float[n, 6, a, b, c] x", "float[n, 6, d, e, f] y", "y = Conv<group=3>(x, w)", weights
    )
    x = np.random.default_rng(1).standard_normal((2, 6, 3, 4, 5), np.float32)
    session = onnxruntime.InferenceSession(made.SerializeToString())
    np.testing.assert_allclose(
        dvm.onnx.load(made)(x)[0], session.run(None, {"x": x})[0], 1e-4, 1e-4
    )


def test_what_the_host_computes_is_in_no_file(tmp_path: Path) -> None:
    loaded = dvm.onnx.load(model("float[n] x", "int64[1, k] y", "y = NonZero(x)"))
    with pytest.raises(dvm.UnsupportedError, match="NumPy computes"):
        loaded.save(tmp_path / "none.dvm")
