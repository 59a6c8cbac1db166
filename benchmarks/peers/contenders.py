"""Who takes part: each a way to make a callable of a workload; what is not installed stays away."""

from __future__ import annotations

import importlib.util
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import dvm

from .expressions import expression_of
from .workloads import Workload

Call = Callable[..., Any]
# A callable over converted inputs, and the conversion.
Made = tuple[Call, Callable[[np.ndarray], Any]]


def same(array: np.ndarray) -> np.ndarray:
    return array


def over(workload: Workload, xp: Any) -> Call:
    """Return the workload as a function of its arrays alone, with code of its own.

    Compilers keep what they compiled by code object: functions that share one would share caches.
    """
    function = workload.function
    names = [f"x{i}" for i in range(workload.tensors)]
    scope: dict[str, Any] = {"function": function, "xp": xp}
    label = "".join(c if c.isalnum() else "_" for c in workload.name)
    exec(f"def {label}({', '.join(names)}): return function(xp, {', '.join(names)})", scope)
    return scope[label]


def make_dvm(workload: Workload) -> Made:
    return dvm.compile(over(workload, np)), same


def make_numpy(workload: Workload) -> Made:
    return over(workload, np), same


def make_numexpr(workload: Workload) -> Made:
    import numexpr

    text, literals = expression_of(workload.function, workload.tensors)
    names = [f"x{i}" for i in range(workload.tensors)]

    def run(*arrays: np.ndarray) -> Any:
        return numexpr.evaluate(text, local_dict=dict(zip(names, arrays, strict=True)) | literals)

    return run, same


def torch_names() -> Any:
    """Return torch with NumPy's keyword names where they differ."""
    import torch

    return types.SimpleNamespace(
        exp=torch.exp,
        tanh=torch.tanh,
        sqrt=torch.sqrt,
        maximum=lambda a, b: (
            torch.maximum(a, b) if isinstance(b, torch.Tensor) else torch.clamp(a, min=b)
        ),
        max=lambda x, axis, keepdims: torch.amax(x, dim=axis, keepdim=keepdims),
        sum=lambda x, axis, keepdims=False: torch.sum(x, dim=axis, keepdim=keepdims),
        mean=lambda x, axis, keepdims=False: torch.mean(x, dim=axis, keepdim=keepdims),
    )


def make_torch(workload: Workload) -> Made:
    import torch

    torch.set_grad_enabled(False)
    return over(workload, torch_names()), torch.from_numpy


def make_torch_compile(workload: Workload) -> Made:
    import torch

    torch.set_grad_enabled(False)
    torch._dynamo.config.recompile_limit = 256
    return torch.compile(over(workload, torch_names()), dynamic=False), torch.from_numpy


def make_jax(workload: Workload) -> Made:
    import jax
    import jax.numpy as jnp

    jitted = jax.jit(over(workload, jnp))
    return (lambda *arrays: jax.block_until_ready(jitted(*arrays))), jnp.asarray


# name -> the module it needs, how it is made
CONTENDERS: dict[str, tuple[str, Callable[[Workload], Made]]] = {
    "dvm": ("dvm", make_dvm),
    "numpy": ("numpy", make_numpy),
    "numexpr": ("numexpr", make_numexpr),
    "torch": ("torch", make_torch),
    "torch.compile": ("torch", make_torch_compile),
    "jax.jit": ("jax", make_jax),
}


def present(names: list[str]) -> list[str]:
    """Return those of `names` that are installed, and say which are not."""
    found = []
    for name in names:
        module, _ = CONTENDERS[name]
        if importlib.util.find_spec(module) is None:
            print(f"{name}: {module} is not installed, left out")
        else:
            found.append(name)
    return found
