"""benchmarks/torch_native.py and torch_control_flow.py run, and what they measure is captured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from benchmarks.torch_native import CALL, FIRST, a_call, first_result

import dvm

ROOT = Path(__file__).parents[3]


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
    """In a process without Dynamo, which replaces how modules are made once it is there."""
    pytest.importorskip("transformers")
    command = [sys.executable, "-m", "benchmarks.torch_control_flow", "--only", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert name in done.stdout
