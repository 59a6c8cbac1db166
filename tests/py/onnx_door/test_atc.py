"""The command `dvm-atc`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import dvm
import dvm.onnx
from dvm.onnx import atc
from onnx_door.writing import model

W = np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2)


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    path = tmp_path / "layer.onnx"
    onnx.save(
        model("float[n, 4] x", "float[n, 2] y", "h = MatMul(x, w) y = Relu(h)", {"w": W}), path
    )
    return path


def test_a_file_that_is_built_is_what_the_model_says(
    layer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = layer.with_suffix(".dvm")
    assert atc.main([str(layer), "-o", str(made)]) == 0
    said = capsys.readouterr().out
    assert "x  f32[n, 4]" in said
    assert f"{made}, {made.stat().st_size} bytes" in said
    loaded = dvm.load(made)
    for rows in (1, 5):
        x = np.arange(4 * rows, dtype=np.float32).reshape(rows, 4)
        np.testing.assert_allclose(loaded(x)[0], np.maximum(x @ W, 0), 1e-5)


def test_sizes_are_given_values(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert atc.main([str(layer), "--mode", "check", "--dim", "n=3"]) == 0
    assert "x  f32[3, 4]" in capsys.readouterr().out
    assert dvm.onnx.load(layer, sizes={"n": 3}).inputs == {"x": "f32[3, 4]"}
    assert not layer.with_suffix(".dvm").exists()


def test_a_model_is_told_of(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert atc.main([str(layer), "--mode", "info"]) == 0
    assert "MatMul 1, Relu 1" in capsys.readouterr().out


PASSES = """
from dvm.passes import Pass, PatternPass, ops

class Leaky(PatternPass):
    def pattern(self, x):
        return ops.relu(x)

    def replacement(self, x):
        return ops.maximum(x, 0.5 * x)

class Later(Leaky):
    after = "cse"

both = [Leaky, Later]
number = 3
"""


def test_a_file_has_what_passes_make(layer: Path, tmp_path: Path) -> None:
    """They are not there when it is loaded."""
    passes, made = tmp_path / "mine.py", tmp_path / "layer.dvm"
    passes.write_text(PASSES)
    assert atc.main([str(layer), "-o", str(made), "--passes", f"{passes}:Leaky"]) == 0
    x = np.arange(-4, 4, dtype=np.float32).reshape(2, 4)
    y = x @ W
    np.testing.assert_allclose(dvm.load(made)(x)[0], np.maximum(y, 0.5 * y), 1e-5)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("Leaky", ""),
        ("both", "some of which come behind passes of dvm's"),
        ("Other", "has no 'Other'; it has Pass, PatternPass, ops, Leaky, Later, both, number"),
        ("number", "a pass is an instance of a class of dvm.passes, not 3"),
        ("", "write FILE.py:NAME"),
    ],
)
def test_passes_of_a_file(
    layer: Path, tmp_path: Path, named: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    passes = tmp_path / "mine.py"
    passes.write_text(PASSES)
    arguments = [str(layer), "-o", str(tmp_path / "made.dvm"), "--passes", f"{passes}:{named}"]
    assert atc.main(arguments) == (2 if message else 0)
    assert message in capsys.readouterr().err


def test_passes_that_fail_are_told_of_in_a_line(
    layer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passes = tmp_path / "mine.py"
    arguments = [str(layer), "--mode", "check", "--passes", f"{passes}:Mine"]
    assert atc.main(arguments) == 2
    assert "there is no file" in capsys.readouterr().err
    passes.write_text("from dvm.passes import Pass\n\nclass Mine(Pass):\n    pass\n")
    assert atc.main(arguments) == 2
    said = capsys.readouterr().err
    assert "the pass Mine has no method 'run'" in said
    assert f"{passes}:3" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give -o"),
        (["--mode", "check", "--dim", "n"], "write NAME=SIZE"),
        (["--mode", "check", "--dim", "k=3"], "those that have a name are n"),
        (["--mode", "check", "--target", "gpu"], "there is no target"),
    ],
)
def test_what_makes_no_sense(
    layer: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert atc.main([str(layer), *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_files_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.onnx"
    assert atc.main([str(path), "--mode", "check"]) == 2
    path.write_bytes(b"no model")
    assert atc.main([str(path), "--mode", "check"]) == 2
    assert "is no ONNX model" in capsys.readouterr().err


def test_options_that_there_are_not(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert atc.main([str(layer), "--soc-version", "910b"]) == 2
    assert capsys.readouterr().err == "dvm-atc: unrecognized arguments: --soc-version 910b\n"
