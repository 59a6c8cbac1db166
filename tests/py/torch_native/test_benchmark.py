"""benchmarks/torch_native.py runs, and what it measures is captured."""

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
