"""What dvm adds to a call of torch.compile, beside a backend that computes nothing.

    python -m benchmarks.torch_calls [--rounds 200]

Microseconds per call at sizes that take no time, medians of turns: eager torch, a backend whose
graphs hand back tensors made before, and dvm, whose results are new tensors.
"""

from __future__ import annotations

import argparse
import statistics
import time
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch.fx import GraphModule

import dvm.torch  # noqa: F401


def size_hints(shape: Sequence[Any]) -> list[int]:
    return [size if isinstance(size, int) else size.node.hint for size in shape]


def nothing(module: GraphModule, _: Sequence[Any]) -> Callable[[list[Any]], list[Any]]:
    """The graph of a call whose results are there already.

    Sizes are asked for their hints: `int` of one makes the graph static, which has fewer guards.
    """
    (output,) = module.graph.find_nodes(op="output")
    made = [torch.zeros(size_hints(node.meta["val"].shape)) for node in output.args[0]]

    def run(args: list[Any]) -> list[Any]:
        args.clear()
        return list(made)

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


class Layers(torch.nn.Module):
    """24 parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(12)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


X = torch.rand(4, 4)
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "x + 1": (lambda x: x + 1, (X,)),
    "x * y + x": (lambda x, y: x * y + x, (X, X.clone())),
    "two results": (lambda x, y: (x + y, x * y), (X, X.clone())),
    "a row's softmax": (lambda x: x.softmax(-1), (X,)),
    "24 parameters": (Layers(), (X,)),
}


def with_its_own_code(function: Callable[..., Any]) -> Callable[..., Any]:
    """Dynamo keeps what it compiled by code object: backends that share one undo each other's."""

    def call(*args: Any) -> Any:
        return function(*args)

    return types.FunctionType(call.__code__.replace(), globals(), "call", None, call.__closure__)


def microseconds(call: Callable[..., Any], args: tuple[Any, ...], calls: int = 200) -> float:
    begin = time.perf_counter()
    for _ in range(calls):
        call(*args)
    return 1e6 * (time.perf_counter() - begin) / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    backends: dict[str, Any] = {"nothing": aot_autograd(fw_compiler=nothing), "dvm": "dvm"}
    print(f"{'':18}{'eager':>8}{'nothing':>9}{'dvm':>8}{'more':>8}")
    for name, (function, args) in CALLS.items():
        calls: dict[str, Callable[..., Any]] = {"eager": function}
        torch._dynamo.reset()
        for backend, compiler in backends.items():
            calls[backend] = torch.compile(
                with_its_own_code(function), backend=compiler, dynamic=True
            )
        found: dict[str, list[float]] = {contender: [] for contender in calls}
        with torch.no_grad():
            for _ in range(rounds):
                for contender, call in calls.items():
                    found[contender].append(microseconds(call, args))
        eager, none, ours = (statistics.median(times) for times in found.values())
        more = statistics.median(a - b for a, b in zip(found["dvm"], found["nothing"], strict=True))
        print(f"{name:18}{eager:8.2f}{none:9.2f}{ours:8.2f}{more:8.2f}", flush=True)


if __name__ == "__main__":
    main()
