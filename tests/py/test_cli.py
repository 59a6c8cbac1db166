"""python -m dvm: output, --json, round trips of Program files, and one-line errors."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dvm
from dvm import _dvm

Run = Callable[..., subprocess.CompletedProcess[str]]

MODEL = """
import numpy as np

def scaled(x, a):
    return np.tanh(x) * a

def fails(x):
    raise KeyError("the user's own")

NUMBER = 3
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


@pytest.fixture
def listing() -> str:
    f = dvm.compile(lambda x, y: x + y, target="ascend910b3", numerics="strict")
    x = np.ones((32, 1024), np.float16)
    return f.inspect("bytecode", x, x)


def one_program(listing: str) -> str:
    start = listing.index("dvm.program")
    return listing[start : listing.index("\n}", start) + 3]


def test_env(run_module: Run) -> None:
    facts = json.loads(run_module("env", "--json").stdout)
    assert facts["dvm"] == dvm.__version__ == facts["extension"]
    assert facts["targets"] == _dvm.target_names
    assert facts["threads"] >= 1
    text = run_module("env").stdout
    for key in facts:
        assert key in text


def test_env_tells_the_simd_level_and_refuses_an_unknown_one(
    run_module: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVM_SIMD", "portable")
    assert json.loads(run_module("env", "--json").stdout)["simd"] == "portable"
    monkeypatch.setenv("DVM_SIMD", "mmx")
    done = run_module("env")
    assert done.returncode != 0
    assert "DVM_SIMD is 'mmx', which is no SIMD level; it has: " in done.stderr


def test_explain(run_module: Run, model: Path) -> None:
    command = ("explain", f"{model}:scaled", "--arg", "f32[32,64]", "--arg", "2.5")
    text = run_module(*command).stdout
    assert text.startswith("scaled: 1 of 1 line of array work run as 1 kernel")
    assert "np.tanh(x) * a" in text
    assert "this call: hit (target cpu, default)" in text
    assert "yes:" not in text
    assert "yes:" in run_module(*command, "--verbose").stdout
    report = json.loads(run_module(*command, "--json", "--target", "ascend910b3").stdout)
    assert report["outcome"] == "hit"
    assert report["target"] == "ascend910b3"
    assert report["call"]["regions"] == 1


def test_asm_and_disasm_are_inverse(run_module: Run, listing: str, tmp_path: Path) -> None:
    source, program = tmp_path / "add.dvm", tmp_path / "add.bin"
    source.write_text(one_program(listing))
    done = run_module("asm", source, "-o", program)
    assert done.returncode == 0, done.stderr
    assert f"{program.stat().st_size} bytes" in done.stdout
    assert run_module("disasm", program).stdout == source.read_text()


ERRORS = [
    (["explain", "MODEL:skaled"], "DVM-U001", "did you mean 'scaled'"),
    (["explain", "MODEL:NUMBER"], "DVM-U001", "no function in"),
    (["explain", "MODEL"], "DVM-U001", "FILE.py:FUNCTION"),
    (["explain", "missing.py:f"], "missing.py", "No such file"),
    (["explain", "MODEL:scaled", "--arg", "f33[3]"], "DVM-U001", "did you mean 'f3"),
    (["explain", "MODEL:scaled", "--target", "gpu"], "DVM-U002", "ascend910b3"),
    (["explain", "MODEL:scaled", "--numerics", "fast"], "DVM-U003", "default, strict"),
    (
        ["explain", "MODEL:scaled"],
        "scaled(x, a)",
        "missing a required argument: 'x'; give one",
    ),
    (["explain", "MODEL:scaled", "--arg", "f32[3"], "f32[3", "f32[32,1024]"),
    (["explain", "MODEL:"], "DVM-U001", "FILE.py:FUNCTION"),
    (["disasm", "missing.bin"], "missing.bin", "No such file"),
    (["disasm", "MODEL"], "DVM-F00", "Hint:"),
    (["asm", "MODEL", "-o", "out.bin"], "DVM-F001", "Hint:"),
]


@pytest.mark.parametrize(("command", "code", "text"), ERRORS)
def test_errors_are_one_line_and_exit_status_2(
    run_module: Run, model: Path, command: list[str], code: str, text: str
) -> None:
    done = run_module(*(part.replace("MODEL", str(model)) for part in command))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("dvm: ")
    assert code in done.stderr
    assert text in done.stderr


def test_an_exception_of_the_program_keeps_its_traceback(run_module: Run, model: Path) -> None:
    done = run_module("explain", f"{model}:fails", "--arg", "f32[3]")
    assert done.returncode == 1
    assert "KeyError" in done.stderr
    assert "the user's own" in done.stderr
    assert str(model) in done.stderr


def test_usage_without_a_command(run_module: Run) -> None:
    done = run_module()
    assert done.returncode == 2
    for command in ("explain", "disasm", "asm", "env", "calibrate"):
        assert f"  {command}" in done.stderr


def test_version(run_module: Run) -> None:
    assert run_module("--version").stdout == f"dvm {dvm.__version__}\n"
