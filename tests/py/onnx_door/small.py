"""Small models with an operator of most kinds, for what is tried with many of them."""

from __future__ import annotations

import numpy as np
import onnx

from onnx_door.writing import model

F = np.float32

LOOP = """
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
BRANCH = """
    <ir_version: 10, opset_import: ["" : 21]>
    tested (float[n] x, bool c) => (float[n] y) {
        y = If(c) <then_branch = a () => (float[n] p) { p = Relu(x) },
                   else_branch = b () => (float[n] q) { q = Neg(x) }>
    }
"""

MODELS: dict[str, onnx.ModelProto] = {
    "product": model(
        "float[n, 4] x", "float[n, 2] y", "h = MatMul(x, w) y = Relu(h)", {"w": np.ones((4, 2), F)}
    ),
    "computed sizes": model(
        "float[n, 4] x",
        "float[a, 2, 2] y",
        "s = Shape(x) n = Gather(s, zero) n1 = Unsqueeze(n, axes) t = Concat<axis = 0>(n1, pair) "
        "y = Reshape(x, t)",
        {"zero": np.array(0), "axes": np.array([0]), "pair": np.array([2, 2])},
    ),
    "slice": model(
        "float[n, 2] x",
        "float[k, 2] y",
        "y = Slice(x, s, e, a, t)",
        {"s": np.array([1]), "e": np.array([9]), "a": np.array([0]), "t": np.array([2])},
    ),
    "windows": model(
        "float[n, 1, 8, 8] x",
        "float[n, 8] y",
        "h = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]>(x, w) "
        "p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(h) y = Flatten(p)",
        {"w": np.ones((2, 1, 3, 3), F)},
    ),
    "rows": model(
        "float[n, 4] x, float[4] b",
        "float[a, c] y",
        "s = Softmax<axis = -1>(x) m = ReduceMean<keepdims = 1>(s, ax) "
        "l = LayerNormalization<axis = -1>(s, b) c = Concat<axis = 1>(l, m) "
        "t = Transpose<perm = [1, 0]>(c) z = Cast<to = 11>(t) y = Tile(z, rep)",
        {"ax": np.array([1]), "rep": np.array([1, 2])},
    ),
    "columns": model(
        "float[n, m] x",
        "float[1, m] y",
        "s = ReduceSum(x, ax) q = Mul(x, s) y = ReduceSum(q, ax)",
        {"ax": np.array([0])},
    ),
    "recurrent": model(
        "float[s, n, 4] x",
        "float[s, 1, n, 3] y",
        "y, h, c = LSTM<hidden_size = 3>(x, w, r)",
        {"w": np.ones((1, 12, 4), F), "r": np.ones((1, 12, 3), F)},
    ),
    "quantised": model(
        "float[n, 4] x",
        "float[n, 4] y",
        "q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z)",
        {"s": F(0.1), "z": np.uint8(3)},
    ),
    "loop": onnx.parser.parse_model(LOOP),
    "branch": onnx.parser.parse_model(BRANCH),
}
