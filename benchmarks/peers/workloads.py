"""What is timed: functions over an array library `xp`, and the inputs they take.

`xp` is any library with NumPy's names (numpy, jax.numpy, `contenders.TorchNames`,
`expressions.Names`), so that every contender runs the same program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

ROW_ELEMENTS = 1 << 20
ROW_LENGTHS = (64, 256, 1024, 4096, 16384)
CHAIN_SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)


@dataclass(frozen=True)
class Workload:
    """One function and its inputs.

    kind: "chain" (elementwise, over `n` elements) or "rows" (along the last axis of [m, n]).
    function: takes xp and `tensors` float32 arrays.
    """

    name: str
    kind: str
    tensors: int
    function: Callable[..., Any]

    def sizes(self) -> tuple[int, ...]:
        """Return the values of n that are timed."""
        return CHAIN_SIZES if self.kind == "chain" else ROW_LENGTHS

    def inputs(self, n: int, seed: int = 0) -> list[np.ndarray]:
        """Return float32 arrays near 1, of shape [n], or [m, n] with 2**20 elements or so."""
        shape = (n,) if self.kind == "chain" else (max(1, ROW_ELEMENTS // n), n)
        rng = np.random.default_rng(seed)
        return [rng.uniform(0.9, 1.1, shape).astype(np.float32) for _ in range(self.tensors)]


def gelu(xp: Any, a: Any) -> Any:
    return 0.5 * a * (1.0 + xp.tanh(0.7978845608 * (a + 0.044715 * a * a * a)))


def cheap(k: int) -> Callable[..., Any]:
    """Add, multiply, maximum over two tensors in turns, k ops in all."""

    def chain(xp: Any, x: Any, y: Any) -> Any:
        a = x
        for i in range(k):
            if i % 3 == 0:
                a = a + y
            elif i % 3 == 1:
                a = a * x
            else:
                a = xp.maximum(a, y)
        return a

    return chain


def wide(k: int) -> Callable[..., Any]:
    """Add, multiply, maximum, subtract in turns, k ops in all, each with a tensor of its own."""

    def chain(xp: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
        for i in range(k):
            if i % 4 == 0:
                a = a + b
            elif i % 4 == 1:
                a = a * c
            elif i % 4 == 2:
                a = xp.maximum(a, d)
            else:
                a = a - e
        return a

    return chain


def mathematics(k: int) -> Callable[..., Any]:
    """A mix of cheap ops with exp, tanh and gelu; k counts gelu as one."""

    def chain(xp: Any, x: Any, y: Any) -> Any:
        a = x
        for i in range(k):
            step = i % 8
            if step == 0:
                a = a + y
            elif step == 1:
                a = a * 0.5
            elif step == 2:
                a = xp.exp(a)
            elif step == 3:
                a = a * x
            elif step == 4:
                a = xp.tanh(a)
            elif step == 5:
                a = a - y
            elif step == 6:
                a = gelu(xp, a)
            else:
                a = xp.maximum(a, -0.05)
        return a

    return chain


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def layer_norm(xp: Any, x: Any) -> Any:
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred * centred, axis=-1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5)


def rms_norm(xp: Any, x: Any) -> Any:
    return x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + 1e-5)


def variance(xp: Any, x: Any) -> Any:
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    return xp.mean(centred * centred, axis=-1)


def bias_gelu(xp: Any, x: Any, y: Any) -> Any:
    return gelu(xp, x + y)


WORKLOADS = (
    *(Workload(f"cheap k={k}", "chain", 2, cheap(k)) for k in (1, 2, 4, 8, 16)),
    *(Workload(f"wide k={k}", "chain", 5, wide(k)) for k in (8, 16)),
    *(Workload(f"math k={k}", "chain", 2, mathematics(k)) for k in (4, 8, 16)),
    Workload("bias gelu", "chain", 2, bias_gelu),
    Workload("softmax", "rows", 1, softmax),
    Workload("layer norm", "rows", 1, layer_norm),
    Workload("rms norm", "rows", 1, rms_norm),
    Workload("variance", "rows", 1, variance),
)
