"""softmax(q kᵀ · scale + mask) v beside torch's scaled_dot_product_attention."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.peers.contenders import Call

import dvm

from ..bench import Bench
from ..figures import Figure, Verdict, by_case, judged, verdict
from ..programs import Array, Program, Text
from ..shapes import normal

NAME = "attention"
HEADS, DEPTH = 12, 64
SCALE = DEPTH**-0.5
LENGTHS = (1, 2, 7, 16, 37, 64, 100, 128, 197, 256, 384, 512, 777, 1024)
OPERANDS, EXTRA, MIB = "operands [MiB]", "extra [MiB]", 1 << 20
LEAST = 1.0  # MiB: what the pool has no buffers of is not seen
KINDS = ("plain", "masked", "one query")


def attention_text(masked: bool) -> str:
    text = Text()
    row, keys = "f32[b, h, s, d]", "f32[b, h, t, d]"
    scores, alone = "f32[b, h, s, t]", "f32[b, h, s, 1]"
    q, k, v = (text.node("input", kind) for kind in (row, keys, keys))
    mask = text.node("input", "f32[s, t]") if masked else ""
    turned = text.node("transpose", "f32[b, h, d, t]", k, attributes="axes = [0, 1, 3, 2]")
    s = text.node("matmul", scores, q, turned)
    s = text.node("mul", scores, s, text.number(SCALE, scores))
    if masked:
        s = text.node("add", scores, s, text.node("broadcast", scores, mask))
    largest = text.node("max", alone, s, attributes="axes = [3]")
    e = text.node("sub", scores, s, text.node("broadcast", scores, largest))
    e = text.node("exp", scores, e)
    sums = text.node("sum", alone, e, attributes="axes = [3]")
    p = text.node("div", scores, e, text.node("broadcast", scores, sums))
    return text.finished(text.node("matmul", row, p, v))


def in_numpy(q: Any, k: Any, v: Any, mask: Any = 0) -> Any:
    s = q @ k.swapaxes(-1, -2) * SCALE + mask
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def in_torch(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    import torch

    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def program_of(kind: str) -> Program:
    masked = kind == "masked"
    ranks = (4, 4, 4, 2) if masked else (4, 4, 4)
    return Program(f"attention {kind}", in_numpy, in_torch, attention_text(masked), ranks=ranks)


def temporaries(call: Call, arrays: list[Array]) -> int:
    """Return the bytes that wait in the pool once a call's result lives: 1 MiB each at least."""
    dvm.clear_cache()
    result = call(*arrays)
    waiting = dvm.stats().cached_bytes
    del result
    return waiting


def run(bench: Bench) -> None:
    rng = bench.random(8)
    for kind in KINDS:
        program = program_of(kind)
        for length in LENGTHS[:4] if bench.quick else LENGTHS:
            queries = 1 if kind == "one query" else length
            arrays = [
                normal(rng, 1, HEADS, queries, DEPTH),
                normal(rng, 1, HEADS, length, DEPTH),
                normal(rng, 1, HEADS, length, DEPTH),
            ]
            if kind == "masked":
                seen = np.tri(length, dtype=bool)
                arrays.append(np.where(seen, 0, -np.inf).astype(np.float32))
            samples = bench.samples(program, arrays, ["dvm", "torch"])
            bench.time(NAME, kind, f"s={length}", samples)
        if made := bench.made(program, "dvm"):
            bench.keep(NAME, "memory", kind, OPERANDS, sum(a.nbytes for a in arrays[:3]) / MIB)
            bench.keep(NAME, "memory", kind, EXTRA, temporaries(made[0], arrays) / MIB)


def verdicts(figures: list[Figure]) -> list[Verdict]:
    found = []
    for kind in KINDS:
        found += judged(NAME, figures, kind, f"{kind} over torch", "dvm", ["torch"], 1.2)
    for (group, threads), cases in by_case(figures).items():
        if group == "memory":
            room = {
                case: max(v[OPERANDS], LEAST) / max(v[EXTRA], LEAST) for case, v in cases.items()
            }
            found += verdict(NAME, "q, k and v over extra memory", threads, room, 0, 1.0)
    return found
