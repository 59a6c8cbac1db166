"""Every function that means something, over the samples of torch's own database of operators.

One compiled program serves all samples of a function and a dtype, so that later ones find the paths
of earlier ones. All that can be seen of a call is compared with eager torch, and dtypes and shapes
with those that torch's fake tensors have, whose strides are not always eager torch's. A part of the
samples here; DVM_TEST_WHOLE=1 takes 30 of each function and dtype, of the
many more by which torch compares itself with NumPy.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils import _pytree as pytree

import dvm
from torch_native.observing import WRITE_THEIR_RESULT, layout_of, observe, tensors_in
from torch_native.samples import rows
from whole import WHOLE

op_db = pytest.importorskip("torch.testing._internal.common_methods_invocations").op_db

SAMPLES = 30 if WHOLE else 1
INPUTS = ("reference" if WHOLE else "sample") + "_inputs_func"
DTYPES = (torch.float32, torch.int64, torch.float64, torch.bool)[: 2 if SAMPLES == 1 else 4]
MEANT = {function for _, function, _ in rows()}
#: their results are not the same twice: drawn, or what memory happens to hold
RANDOM = (
    "nn.functional.dropout",
    *("empty", "empty_like", "new_empty", "empty_permuted", "empty_strided"),
)
became: dict[str, Counter[str]] = {}


def variants(op: Any) -> dict[str, Callable[..., Any]]:
    found = {"": op.op, ".method": op.method_variant, ".in_place": op.inplace_variant}
    return {kind: function for kind, function in found.items() if function in MEANT}


CASES = {
    f"{op.full_name}{kind}": (op, function)
    for op in op_db
    if op.name not in RANDOM
    for kind, function in variants(op).items()
}


def samples_of(op: Any, dtype: torch.dtype) -> list[Any]:
    """Arguments by position and by name; behind them those that are errors."""
    torch.manual_seed(0)
    cpu = torch.device("cpu")
    make = getattr(op, INPUTS) or op.sample_inputs_func
    samples = [*make(op, cpu, dtype, False)]
    step = max(1, len(samples) // SAMPLES)
    samples = samples[::step]
    if op.error_inputs_func is not None:
        samples += [each.sample_input for each in op.error_inputs_func(op, "cpu")]
    made = [([sample.input, *sample.args], sample.kwargs) for sample in samples]
    return [(args, named) for args, named in made if "out" not in named]  # nobody fills these


def fake_layouts(function: Callable[..., Any], args: list[Any], kwargs: Any) -> Any:
    """Of the results for fakes of these; None where fakes have none."""
    with FakeTensorMode() as mode:
        given = pytree.tree_map_only(torch.Tensor, mode.from_tensor, (args, kwargs))
        try:
            made = function(*given[0], **given[1])
        except Exception:  # whose values decide, or whatever else fakes do not do
            return None
    return [layout_of(t)[1:4] for t in tensors_in(made) if isinstance(t, FakeTensor)]


@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_what_eager_torch_gives(name: str) -> None:
    op, function = CASES[name]
    counted = became.setdefault(name, Counter())
    for dtype in DTYPES:
        if dtype not in op.dtypes:
            continue
        samples = samples_of(op, dtype)

        def plain(args: Any, kwargs: Any) -> Any:
            return function(*args, **kwargs)

        compiled = dvm.compile(lambda args, kwargs: function(*args, **kwargs))
        with torch.no_grad(), dvm.stance("force_capture"):
            for turn in range(2):
                for place, sample in enumerate(samples):
                    ours, theirs = copy.deepcopy(sample), copy.deepcopy(sample)
                    if turn == 0:  # some of torch's warnings come once in a process
                        observe(plain, [*copy.deepcopy(sample)])
                    wanted = observe(plain, [*theirs])
                    found = observe(compiled, [*ours])
                    about = f"{dtype}, sample {place}, turn {turn}"
                    counts = name.partition(".")[0] not in WRITE_THEIR_RESULT
                    text = found.difference(wanted, counts=counts)
                    assert not text, f"{about}: {text}"
                    told = None if wanted.error or turn else fake_layouts(function, *sample)
                    given = [*tensors_in([*ours])]
                    made = found.layouts[len(given) : len(found.layouts) - len(given)]
                    if told is not None and len(told) == len(made):
                        assert [layout[1:4] for layout in made] == told, about
                        counted["as fakes"] += 1
        counted["hits"] += compiled.stats.hits
        counted["fallbacks"] += compiled.stats.fallbacks
        counted["calls"] += compiled.stats.calls


def test_most_samples_are_compiled() -> None:
    """Last, so that it can tell of the others; alone it has nothing to tell."""
    if became.keys() != CASES.keys():
        pytest.skip("a process among several meets a part of the functions, and tells of none")
    total: Counter[str] = sum(became.values(), Counter())
    for name, counted in became.items():
        print(name, dict(counted))
    print(f"{len(became)} functions,", dict(total))
    assert total["hits"] > total["calls"] / 5
