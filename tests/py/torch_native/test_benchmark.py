"""benchmarks/torch_native.py and torch_control_flow.py run, and what they measure is captured."""

from __future__ import annotations

import pytest
import torch
from benchmarks.torch_native import CALL, FIRST, a_call, first_result

import dvm


@pytest.mark.parametrize("name", [name for name in FIRST if name != "resnet 18"])
def test_first_results_are_captured(name: str) -> None:
    with torch.no_grad(), dvm.stance("force_capture"):
        row = first_result(name, 1, with_backend=False)
    assert not row["fallbacks"]
    assert row["eager"] > 0


@pytest.mark.parametrize("name", CALL)
def test_calls_are_captured(name: str) -> None:
    with torch.no_grad(), dvm.stance("force_capture"):
        row = a_call(name, 1, with_backend=False)
    assert not row["fallbacks"]
    assert 0 < row["native"] < 50 * row["eager"]


@pytest.mark.parametrize("name", ["while on a value", "early exit", "scan", "Mamba"])
def test_control_flow_is_captured(name: str) -> None:
    pytest.importorskip("transformers")
    from benchmarks.torch_control_flow import PROGRAMS, run

    whole = next(each for each in PROGRAMS if each.startswith(name))
    with torch.no_grad(), dvm.stance("force_capture"):
        assert run(whole, PROGRAMS[whole])
