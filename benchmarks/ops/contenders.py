"""Who takes part: each a way to make a callable of a Program; what cannot take part is named."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.peers.contenders import Made, same

import dvm

from .programs import Array, Program


def make_dvm(program: Program) -> Made:
    if not program.graph:
        return dvm.compile(program.numpy), same
    compiled = dvm.CompiledGraph(program.graph)
    return (lambda *arrays: compiled(*arrays)[0]), same


def make_numpy(program: Program) -> Made:
    return program.numpy, same


def to_tensor(program: Program) -> Callable[[Array], Any]:
    import torch

    if program.dtype == "bf16":
        return lambda array: torch.from_numpy(array).view(torch.bfloat16)
    return torch.from_numpy


def make_torch(program: Program) -> Made:
    assert program.torch is not None
    return program.torch, to_tensor(program)


def make_compiled(program: Program, dynamic: bool) -> Made:
    """A function of its own for each: torch keeps what it compiled by code object."""
    import torch

    assert program.torch is not None
    torch._dynamo.config.recompile_limit = 256
    names = ", ".join(f"x{i}" for i in range(len(program.ranks)))
    scope: dict[str, Any] = {"function": program.torch}
    exec(f"def compiled({names}): return function({names})", scope)
    return torch.compile(scope["compiled"], dynamic=dynamic), to_tensor(program)


def make_onnxruntime(program: Program, constants: Sequence[Array] = ()) -> Made:
    """Make a session of a model that takes any sizes.

    constants: the last operands, which the model holds rather than takes.
    """
    import onnxruntime

    from .models import model_of

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(dvm._dvm.thread_count())
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model_of(program, constants), options, providers=["CPUExecutionProvider"]
    )
    names = [given.name for given in session.get_inputs()]

    def run(*arrays: Array) -> Any:
        return session.run(None, dict(zip(names, arrays, strict=False)))[0]

    return run, same


@dataclass(frozen=True)
class Contender:
    """module: that it needs. accepts: whether it can make the Program."""

    module: str
    make: Callable[[Program], Made]
    accepts: Callable[[Program], bool]


def in_torch(program: Program) -> bool:
    return program.torch is not None


CONTENDERS = {
    "dvm": Contender("dvm", make_dvm, lambda _: True),
    "numpy": Contender("numpy", make_numpy, lambda program: program.dtype != "bf16"),
    "torch": Contender("torch", make_torch, in_torch),
    "torch.compile": Contender("torch", lambda p: make_compiled(p, False), in_torch),
    "torch.compile dynamic": Contender("torch", lambda p: make_compiled(p, True), in_torch),
    "onnxruntime": Contender("onnxruntime", make_onnxruntime, lambda program: bool(program.model)),
}


COMPILED = ("torch.compile", "torch.compile dynamic")


def missing() -> dict[str, str]:
    """Return the contenders that cannot take part, and why."""
    return {
        name: f"{contender.module} is not installed"
        for name, contender in CONTENDERS.items()
        if importlib.util.find_spec(contender.module) is None
    }


def as_double(program: Program, array: Array) -> Array:
    if program.dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64)


def as_array(program: Program, result: Any) -> Array:
    """Return a contender's result in double precision."""
    if program.dtype == "bf16" and not isinstance(result, np.ndarray):
        return np.asarray(result.float(), np.float64)
    return as_double(program, np.asarray(result))
