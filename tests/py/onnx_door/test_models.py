"""Models that torch's exporters write, beside onnxruntime, over many shapes."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import dvm
import dvm.onnx
from onnx_door.models import CASES, exported
from whole import some

SHAPES = 20
EVERY = [(name, exporter) for name in CASES for exporter in ("dynamo", "script")]
TRIED = some(EVERY[::2] + EVERY[1::2], len(CASES))


@pytest.fixture(autouse=True)
def _quiet() -> None:
    onnxruntime.set_default_logger_severity(3)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)


@pytest.mark.parametrize(("name", "exporter"), TRIED)
def test_results_are_those_of_onnxruntime(name: str, exporter: str, tmp_path: Path) -> None:
    model, case = exported(name, exporter == "dynamo"), CASES[name]
    loaded = dvm.onnx.load(model)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [value.name for value in session.get_inputs()]
    assert list(loaded.inputs) == names
    for k in range(SHAPES):
        given = case.inputs(k)
        wanted = session.run(None, dict(zip(names, given, strict=True)))
        for one, other in zip(loaded(*given), wanted, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, case.tolerance, case.tolerance)
    assert loaded.variants == 1  # one graph for all sizes
    assert set(loaded.host_calls) <= {"non_max_suppression"}
    if not loaded.host_calls:
        loaded.save(tmp_path / "model.dvm")
        again = dvm.load(tmp_path / "model.dvm")
        assert list(again.arguments) == names
        assert all(map(np.array_equal, again(*given), loaded(*given)))


def test_a_batch_may_be_empty() -> None:
    loaded = dvm.onnx.load(exported("tagger", False))
    assert loaded(np.zeros((2, 5), np.int64))[0].shape == (2, 5, 7)
    assert loaded(np.zeros((0, 5), np.int64))[0].shape == (0, 5, 7)
