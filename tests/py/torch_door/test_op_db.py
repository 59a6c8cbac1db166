"""PyTorch's own database of operators through the backend, its graphs made without Dynamo.

A sample of it here; `make test-ops` takes all of its operators and prints what became of each.
"""

import itertools
from collections import Counter
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from dvm.torch.backend import Options, compile_graph, decompositions
from whole import WHOLE

op_db = pytest.importorskip("torch.testing._internal.common_methods_invocations").op_db

SAMPLES = 40 if WHOLE else 2
EVERY = 1 if WHOLE else 18
DTYPES = (torch.float32, torch.int64, torch.bool)
# Results of these are not the same twice, or hold what nobody wrote.
RANDOM = (
    "bernoulli cauchy dropout empty exponential fractional_max_pool geometric log_normal "
    "multinomial new_empty normal pca_lowrank rand rrelu svd_lowrank uniform"
)
OPS = [
    op
    for op in op_db
    if not any(word in op.name for word in RANDOM.split()) or op.name.startswith("linalg")
]
# Of the sampled operators, those that people write most: each is compiled whatever else is.
COMPILED = """
    abs contiguous cumprod double fill flatten heaviside isnan le linalg.norm logaddexp maximum mean
    nn.functional.binary_cross_entropy nn.functional.cross_entropy nn.functional.tanhshrink
    nn.functional.scaled_dot_product_attention ravel real sinh sqrt std_mean sub zeros_like
"""
became: dict[str, Counter[str]] = {}


def is_random(args: Any) -> bool:
    """Whether attention is called with dropout: twice as it is, the results differ."""
    return any(isinstance(value, float) and value == 0.5 for value in args)


def graph_of(function: Any, leaves: list[Any], spec: Any) -> tuple[Any, list[torch.Tensor]]:
    """The graph of a call for tensors of any size; raises what torch does where it has none."""
    places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def call(*tensors: torch.Tensor) -> Any:
        given = list(leaves)
        for k, tensor in zip(places, tensors, strict=True):
            given[k] = tensor
        args, kwargs = pytree.tree_unflatten(given, spec)
        return pytree.tree_leaves(function(*args, **kwargs))

    inputs = [leaves[k].clone() for k in places]
    traced = make_fx(call, decomposition_table=decompositions(), tracing_mode="symbolic")
    return traced(*inputs), inputs


def writes(module: Any) -> bool:
    targets = [str(node.target) for node in module.graph.nodes if node.op == "call_function"]
    return any(target.split(".")[1].endswith("_") for target in targets if "." in target)


def check(op: Any, sample: Any) -> str:
    """Compare one call with eager torch; return what it became, or why it was not compared."""
    leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
    try:
        args, kwargs = pytree.tree_unflatten(
            [x.clone() if isinstance(x, torch.Tensor) else x for x in leaves], spec
        )
        expected = pytree.tree_leaves(op.op(*args, **kwargs))
    except Exception:  # whatever torch says of its own arguments
        return "not for eager torch"
    try:
        module, inputs = graph_of(op.op, leaves, spec)
    except Exception:
        return "not traced"
    if writes(module):
        return "not functional"
    compiled = compile_graph(module, [], options=Options(), kind="inference")
    made = compiled(list(inputs))
    for got, wanted in zip(made, expected, strict=True):
        if isinstance(wanted, torch.Tensor):
            torch.testing.assert_close(got, wanted, equal_nan=True, rtol=1e-4, atol=1e-4)
    kinds = [kind for kind in ("fallback", "library") if compiled.record.ops[kind]]
    return kinds[0] if kinds else "compiled"


@pytest.mark.parametrize("op", OPS[::EVERY], ids=lambda op: op.full_name)
def test_op(op):
    counted = became.setdefault(op.full_name, Counter())
    for dtype in DTYPES:
        if dtype not in op.dtypes:
            continue
        torch.manual_seed(0)
        for sample in itertools.islice(op.sample_inputs("cpu", dtype), SAMPLES):
            if "attention" in op.name and is_random((*sample.args, *sample.kwargs.values())):
                continue
            counted[check(op, sample)] += 1
    assert op.full_name not in COMPILED.split() or counted["compiled"]


def test_what_they_became():
    """Last, so that it can tell of the others; alone it has nothing to tell."""
    kinds: Counter[str] = sum(became.values(), Counter())
    for name, counted in became.items():
        print(f"{name}: {', '.join(f'{n} {kind}' for kind, n in counted.items())}")
    print(dict(kinds))
    if became.keys() < {op.full_name for op in OPS[::EVERY]}:
        pytest.skip("a process among several meets a part of the operators, and tells of none")
    compared = sum(kinds[kind] for kind in ("compiled", "library", "fallback"))
    assert kinds["compiled"] > compared / 2
