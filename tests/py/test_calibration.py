"""`python -m dvm calibrate` and the file it leaves: found at start, refused with a warning."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dvm import _dvm, calibration, errors

SHOW = ("-m", "dvm", "calibrate", "--show")


def run(*arguments: str, file: Path | str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"DVM_CALIBRATION": str(file)}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, check=False, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("cache") / "deep" / "costs.txt"
    done = run("-m", "dvm", "calibrate", file=file)
    assert done.returncode == 0, done.stderr
    assert f"stored in {file}" in done.stdout
    return file


def test_the_table_names_every_constant(measured: Path) -> None:
    lines = run(*SHOW, file=measured).stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [row[0] for row in _dvm.cost_table()]


def test_the_file_is_found_at_start(measured: Path) -> None:
    with_file, without = run(*SHOW, file=measured), run(*SHOW, file="off")
    assert with_file.stderr == without.stderr == ""
    assert with_file.stdout != without.stdout


def test_every_constant_is_measured(measured: Path) -> None:
    values = dict(line.split() for line in measured.read_text().splitlines()[2:])
    assert set(values) <= {row[0] for row in _dvm.cost_table()}
    # How large they are depends on what else the machine does.
    for name in ("instruction_ns", "arithmetic.f32", "function.f32", "fork_spinning_ns"):
        assert 0 < float(values[name]) < math.inf


@pytest.mark.parametrize(
    "content",
    [
        "",
        "not a calibration",
        "dvm calibration v9\nmachine x\n",
        "dvm calibration v1\nmachine elsewhere\ntile_ns 4\n",
        "dvm calibration v1\nmachine x\ntile_ns nan\n",
        "dvm calibration v1\nmachine x\ntile_ns -1\n",
        "dvm calibration v1\nmachine x\nno_such 1\n",
        "dvm calibration v1\nmachine x\ntile_ns 4\ntile_ns 4\n",
        "\udcff",
    ],
)
def test_what_cannot_be_used_is_a_warning(tmp_path: Path, content: str) -> None:
    file = tmp_path / "costs.txt"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    refused, without = run(*SHOW, file=file), run(*SHOW, file="off")
    assert refused.returncode == 0
    assert refused.stdout == without.stdout
    assert f"{file} is not used" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_named_file_that_is_missing_is_a_warning(tmp_path: Path) -> None:
    assert "is not used" in run(*SHOW, file=tmp_path / "none.txt").stderr


def test_errors_name_the_line() -> None:
    with pytest.raises(errors.FormatError, match=r"line 3: tile_ns is not in \[0.1, 1000\]"):
        _dvm.use_calibration("dvm calibration v1\nmachine x\ntile_ns 5000\n")


def test_the_default_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DVM_CALIBRATION", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert calibration.path() == str(tmp_path / "dvm" / "calibration.txt")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert calibration.path() == str(tmp_path / ".cache/dvm/calibration.txt")
    monkeypatch.setenv("DVM_CALIBRATION", "off")
    assert calibration.path() is None
