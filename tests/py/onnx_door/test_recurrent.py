"""Recurrent layers beside onnxruntime: directions together and apart, lengths, first states."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import dvm.onnx
from whole import how_many

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> None:
    onnxruntime.set_default_logger_severity(3)


def floats(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


@st.composite
def layers(draw: Any) -> dict[str, Any]:
    return {
        "kind": draw(st.sampled_from(sorted(GATES))),
        "direction": draw(st.sampled_from(["forward", "reverse", "bidirectional"])),
        "lengths": draw(st.booleans()),
        "begins": draw(st.booleans()),
        "bias": draw(st.booleans()),
        "other": draw(st.booleans()),  # peepholes, a reset behind the product, other activations
        "open": draw(st.booleans()),  # weights are inputs
        "hidden": draw(st.sampled_from([1, 3, 8, 17])),
        "inputs": draw(st.integers(1, 5)),
        "seed": draw(st.integers(0, 2**16)),
    }


def written(layer: dict[str, Any], rng: np.random.Generator) -> tuple[onnx.ModelProto, Any]:
    """The model, and the weights that are its inputs."""
    kind, hidden, gates = layer["kind"], layer["hidden"], GATES[layer["kind"]]
    ways = 2 if layer["direction"] == "bidirectional" else 1
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": layer["direction"]}
    if layer["other"] and kind == "GRU":
        attributes["linear_before_reset"] = 1
    if layer["other"] and kind == "RNN":  # directions that are no single loop
        attributes["activations"] = ["Relu", "Tanh"][:ways]
    weights = {
        "w": floats(rng, ways, gates * hidden, layer["inputs"]),
        "r": floats(rng, ways, gates * hidden, hidden) / 2,
    }
    own = {}
    if layer["bias"]:
        own["b"] = floats(rng, ways, 2 * gates * hidden)
    if layer["other"] and kind == "LSTM":
        own["p"] = floats(rng, ways, 3 * hidden)
    state: list[int | str] = [ways, "batch", hidden]
    inputs: dict[str, tuple[int, list[int | str]]] = {
        "x": (TensorProto.FLOAT, ["steps", "batch", layer["inputs"]])
    }
    if layer["open"]:
        inputs |= {n: (TensorProto.FLOAT, list(a.shape)) for n, a in weights.items()}
    else:
        own |= weights
    if layer["lengths"]:
        inputs["lengths"] = TensorProto.INT32, ["batch"]
    if layer["begins"]:
        inputs["h"] = TensorProto.FLOAT, state
        if kind == "LSTM":
            inputs["c"] = TensorProto.FLOAT, state
    names = ["x", "w", "r", "b", "lengths", "h", *(["c", "p"] if kind == "LSTM" else [])]
    operands = [name if name in inputs or name in own else "" for name in names]
    while not operands[-1]:
        operands.pop()
    results = ["y", "y_h", *(["y_c"] if kind == "LSTM" else [])]
    values = [helper.make_tensor_value_info(n, *kind_of) for n, kind_of in inputs.items()]
    graph = helper.make_graph(
        [helper.make_node(kind, operands, results, **attributes)], "layer", values,
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results],
        [numpy_helper.from_array(array, name) for name, array in own.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return model, weights if layer["open"] else {}


@settings(max_examples=how_many(40, 600), deadline=None)
@given(layers())
def test_layers_are_those_of_onnxruntime(layer: dict[str, Any]) -> None:
    rng = np.random.default_rng(layer["seed"])
    model, weights = written(layer, rng)
    loaded = dvm.onnx.load(model)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    ways = 2 if layer["direction"] == "bidirectional" else 1
    for steps, batch in ((4, 3), (1, 1), (9, 2), (2, 17), (4, 3)):
        given = {"x": floats(rng, steps, batch, layer["inputs"]), **weights}
        if layer["lengths"]:
            given["lengths"] = rng.integers(1, steps + 1, batch).astype(np.int32)
        if layer["begins"]:
            given["h"] = floats(rng, ways, batch, layer["hidden"])
            if layer["kind"] == "LSTM":
                given["c"] = floats(rng, ways, batch, layer["hidden"])
        for got, wanted in zip(loaded(**given), session.run(None, given), strict=True):
            assert got.shape == wanted.shape
            np.testing.assert_allclose(got, wanted, 2e-4, 2e-5)
    assert loaded.variants == 1


def test_a_sequence_may_have_no_steps() -> None:
    layer = {
        "kind": "LSTM", "direction": "bidirectional", "lengths": False, "begins": True,
        "bias": True, "other": False, "open": False, "hidden": 3, "inputs": 2,
    }  # fmt: skip
    rng = np.random.default_rng(0)
    loaded = dvm.onnx.load(written(layer, rng)[0])
    h, c = floats(rng, 2, 4, 3), floats(rng, 2, 4, 3)
    y, y_h, y_c = loaded(x=np.zeros((0, 4, 2), np.float32), h=h, c=c)
    assert y.shape == (0, 2, 4, 3)
    assert np.array_equal(y_h, h)
    assert np.array_equal(y_c, c)
