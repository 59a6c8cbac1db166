"""Graphs in files: saved in one process, run in another, in Python and on the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm

Run = Callable[..., subprocess.CompletedProcess[str]]

MLP = """graph v1 {
  %0 = input f32[n, 8]
  %1 = scalar f32[]
  %2 = tensor f32[16, 8] {name = "first"}
  %3 = tensor bf16[4, 16] {name = "second"}
  %4 = transpose(%2) f32[8, 16] {axes = [1, 0]}
  %5 = matmul(%0, %4) f32[n, 16]
  %6 = tanh(%5) f32[n, 16]
  %7 = cast(%3) f32[4, 16]
  %8 = transpose(%7) f32[16, 4] {axes = [1, 0]}
  %9 = matmul(%6, %8) f32[n, 4]
  %10 = broadcast(%1) f32[n, 4]
  %11 = mul(%9, %10) f32[n, 4]
  return %11, %2
}"""

#: In a process that cannot import PyTorch: run the graph on what is saved beside it.
ELSEWHERE = """
import sys
sys.modules["torch"] = None
import dvm
import numpy as np
graph = dvm.load(sys.argv[1])
for name, result in zip(graph.results, graph(np.load(sys.argv[2]), 0.5), strict=True):
    np.save(sys.argv[3] + name, result)
"""


def mlp(**options: Any) -> dvm.CompiledGraph:
    rng = np.random.default_rng(0)
    weights = {
        "first": rng.standard_normal((8, 16), np.float32).T,  # not in C order
        "second": rng.standard_normal((4, 16), np.float32).view(np.uint32).astype(np.uint16)
        & 0xBFFF,
    }
    return dvm.CompiledGraph(MLP, constants=weights, **options)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "mlp.dvm"
    mlp().save(path, inputs=["x", "scale"], results=["y", "first"])
    return path


def test_a_fresh_process_computes_the_same_bits(saved: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(1).standard_normal((5, 8), np.float32)
    np.save(tmp_path / "x.npy", x)
    paths = [str(saved), str(tmp_path / "x.npy"), f"{tmp_path}/out-"]
    subprocess.run([sys.executable, "-c", ELSEWHERE, *paths], check=True)
    expected = mlp()(x, 0.5)
    for name, result in zip(["y", "first"], expected, strict=True):
        assert np.load(f"{tmp_path}/out-{name}.npy").tobytes() == result.tobytes()


def test_what_is_loaded_can_be_saved_again(saved: Path, tmp_path: Path) -> None:
    loaded = dvm.load(saved)
    assert loaded.arguments == {"x": "f32[n, 8]", "scale": "scalar f32"}
    assert loaded.results == {"y": "f32[n, 4]", "first": "f32[16, 8]"}
    loaded.save(tmp_path / "again.dvm")
    assert (tmp_path / "again.dvm").read_bytes() == saved.read_bytes()
    loaded.save(saved)  # over the file that it has mapped
    assert dvm.load(saved, check=True)(np.ones((1, 8), np.float32), 1.0)[0].shape == (1, 4)
    assert loaded(np.ones((1, 8), np.float32), 1.0)[0].shape == (1, 4)


def test_constants_lie_in_the_file(saved: Path) -> None:
    """They are no copies, nobody writes to them, and they stay when all else is gone."""
    _, first = dvm.load(saved)(np.ones((2, 8), np.float32), 1.0)
    assert not first.flags.writeable
    assert not first.flags.owndata
    assert str(saved) in Path("/proc/self/maps").read_text()
    assert first.tobytes() == mlp()(np.ones((2, 8), np.float32), 1.0)[1].tobytes()
    del first
    assert str(saved) not in Path("/proc/self/maps").read_text()


def test_settings_travel(tmp_path: Path) -> None:
    graph = mlp(target="ascend910b3", numerics="strict", precision="medium")
    graph.save(tmp_path / "strict.dvm")
    loaded = dvm.load(tmp_path / "strict.dvm")
    assert loaded.target == "ascend910b3"
    assert list(loaded.arguments) == ["x0", "x1"]
    loaded.save(tmp_path / "again.dvm")
    assert (tmp_path / "again.dvm").read_bytes() == (tmp_path / "strict.dvm").read_bytes()
    assert dvm.load(tmp_path / "strict.dvm", target="cpu").target == "cpu"


def test_functions_are_given_anew(tmp_path: Path) -> None:
    text = 'graph v1 { %0 = input f64[n] %1 = call(%0) f64[n] {callee = "sort"} return %1 }'
    dvm.CompiledGraph(text, functions={"sort": np.sort}).save(tmp_path / "sort.dvm")
    with pytest.raises(dvm.UnsupportedError, match="the graph calls sort"):
        dvm.load(tmp_path / "sort.dvm")
    loaded = dvm.load(tmp_path / "sort.dvm", functions={"sort": np.sort})
    assert loaded(np.array([2.0, 1.0]))[0].tolist() == [1.0, 2.0]


def test_what_cannot_be_loaded_or_saved(saved: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "gr\udcffaph.dvm"  # a name that is no UTF-8
    for end, code in ((0, "DVM-F006"), (100, "DVM-F008"), (-1, "DVM-F008")):
        damaged.write_bytes(saved.read_bytes()[:end])
        with pytest.raises(dvm.FormatError) as caught:
            dvm.load(damaged)
        assert caught.value.code == code
        assert caught.value.hint
    content = bytearray(saved.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    dvm.load(damaged)  # elements are not looked at, unless
    with pytest.raises(dvm.FormatError, match="elements at byte"):
        dvm.load(damaged, check=True)
    with pytest.raises(FileNotFoundError) as missing:
        dvm.load(tmp_path / "nothing.dvm")
    assert missing.value.filename == str(tmp_path / "nothing.dvm")
    with pytest.raises(IsADirectoryError):
        dvm.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        mlp().save(tmp_path / "no" / "folder.dvm")
    with pytest.raises(dvm.UnsupportedError, match="2 inputs, of which 1 are named"):
        mlp().save(tmp_path / "few.dvm", inputs=["x"])
    assert sorted(os.listdir(tmp_path)) == sorted([damaged.name, "mlp.dvm"])


def test_run_on_the_command_line(run_module: Run, saved: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(1).standard_normal((5, 8), np.float32)
    np.save(tmp_path / "x.npy", x)
    call = ("run", saved, "--arg", f"x={tmp_path / 'x.npy'}", "--arg", "scale=0.5")
    printed = run_module(*call).stdout
    assert printed.startswith("y float32[5, 4]\n[[")
    assert "first float32[16, 8]" in printed
    assert "y.npy: float32[5, 4]" in run_module(*call, "-o", tmp_path).stdout
    y, _ = mlp()(x, 0.5)
    assert np.load(tmp_path / "y.npy").tobytes() == y.tobytes()
    assert "y float32[2, 4]" in run_module(*call[:2], "--arg", "x=f32[2,8]", *call[4:]).stdout
    for wrong in ([], ["--arg", "x=f32[2,8]"], ["--arg", "z=1", "--arg", "x=f32[2,8]"]):
        done = run_module(*call[:2], *wrong)
        assert done.returncode == 2
        assert "one --arg for each of: x=f32[n, 8] scale=scalar f32" in done.stderr
    for wrong in ("x", "x=nothing.npy"):
        assert run_module(*call[:2], "--arg", wrong).returncode == 2


def test_show(run_module: Run, saved: Path) -> None:
    text = run_module("show", saved).stdout
    for line in ("target       cpu", "input        x  f32[n, 8]", "result       y  f32[n, 4]"):
        assert line in text
    assert "elements     512 bytes at 4096  first  float32[16, 8]" in text
    content = bytearray(saved.read_bytes())
    content[4096] ^= 1
    saved.write_bytes(content)
    done = run_module("show", saved)
    assert done.returncode == 2
    assert done.stderr.startswith(f"dvm: DVM-F008 {saved} is damaged")
