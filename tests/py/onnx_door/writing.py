"""Models that tests write down, in the textual form of the onnx package."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx


def model(
    inputs: str, outputs: str, body: str, weights: dict[str, Any] | None = None, opset: int = 21
) -> onnx.ModelProto:
    """Return the model `(inputs) => (outputs) { body }` with these weights."""
    text = (
        f'<ir_version: 10, opset_import: ["" : {opset}]>\n'
        f"tested ({inputs}) => ({outputs}) {{ {body} }}"
    )
    made = onnx.parser.parse_model(text)
    for name, array in (weights or {}).items():
        made.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), name))
    return made
