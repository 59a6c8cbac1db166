"""python -m dvm: output, --json, round trips of Program files, and one-line errors."""

import functools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dvm
from dvm import _dvm

Run = Callable[..., subprocess.CompletedProcess[str]]

MODEL = """
import numpy as np

import beside
import dvm

def scaled(x, a):
    return np.tanh(x) * a

@dvm.compile(target="ascend910b3", numerics="strict")
def decorated(x):
    return np.tanh(x) * beside.FACTOR

class Model:
    def __call__(self, x):
        return x

def fails(x):
    raise KeyError("the user's own")

NUMBER = 3
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    (tmp_path / "beside.py").write_text("FACTOR = 2\n")
    (tmp_path / "broken.py").write_text("def f(x):\n    return x +\n")
    (tmp_path / "importing.py").write_text("\nimport nosuchmodule\n")
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


@pytest.mark.captures
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


@pytest.mark.captures
def test_explain_captures_at_once(run_module: Run, tmp_path: Path) -> None:
    """As `profile` does: who asks once has no time to wait until a capture would pay."""
    path = tmp_path / "short.py"
    lines = "\n".join(f"    x = x * {1 + i / 1000} + {i}" for i in range(60))
    path.write_text(f"def steps(x):\n{lines}\n    return x\n")
    for _ in range(3):
        text = run_module("explain", f"{path}:steps", "--arg", "f32[8]").stdout
        assert "this call: hit" in text
        assert "small part of what its calls take" not in text


@pytest.mark.captures
def test_what_a_decorator_asks_for_holds_until_the_command_says_else(
    run_module: Run, model: Path
) -> None:
    def report(command: str, *more: str) -> dict[str, object]:
        call = (command, f"{model}:decorated", "--arg", "f16[4,8]", "--json", *more)
        found: dict[str, object] = json.loads(run_module(*call).stdout)
        return found

    own = report("explain")
    assert (own["target"], own["numerics"]) == ("ascend910b3", "strict")
    other = report("explain", "--target", "ascend910b1")
    assert (other["target"], other["numerics"]) == ("ascend910b1", "strict")
    assert report("explain", "--target", "cpu", "--numerics", "default")["numerics"] == "default"
    assert report("profile")["target"] == "ascend910b3"
    assert report("profile", "--target", "cpu")["target"] == "cpu"
    for command in ("explain", "profile", "report"):
        done = run_module(command, f"{model}:decorated", "--arg", "f32[3]", "--target", "gpu")
        assert done.returncode == 2
        assert done.stderr.startswith("dvm: DVM-U002 there is no target 'gpu'")


def test_asm_reads_what_inspect_prints(run_module: Run, tmp_path: Path) -> None:
    """Graphs and Regions under headings, each with several Programs."""
    f = dvm.compile(lambda x: np.sort((x @ x).sum(axis=1) + 1) * 2, target="ascend910b3")
    text = f.inspect("bytecode", np.ones((64, 64), np.float32))
    count = text.count("dvm.program")
    assert "# graph 1" in text
    assert count > 2
    source = tmp_path / "all.txt"
    source.write_text(text)
    done = run_module("asm", source, "-o", tmp_path / "all.bin")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == count
    again = [_dvm.disassemble((tmp_path / f"all.{k}.bin").read_bytes()) for k in range(count)]
    at = -1
    for program in again:
        at = text.index(program.strip(), at + 1)
    # An error names the line of the listing, not of the Program within it.
    lines = text.splitlines()
    wrong = next(k for k, line in enumerate(lines) if "Mul.fp32" in line)
    lines[wrong] = lines[wrong].replace("Mul.", "Mull.")
    source.write_text("\n".join(lines))
    done = run_module("asm", source, "-o", tmp_path / "all.bin")
    assert done.returncode == 2
    assert f"line {wrong + 1}: unknown instruction 'Mull'; did you mean 'Mul'?" in done.stderr


@pytest.mark.captures
def test_a_reader_that_goes_away_is_no_traceback(model: Path) -> None:
    """`| head`."""
    call = [sys.executable, "-I", "-m", "dvm", "explain", f"{model}:scaled", "--json"]
    call += ["--arg", "f32[32,64]", "--arg", "2.5"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(60) == 141


def test_asm_and_disasm_are_inverse(run_module: Run, listing: str, tmp_path: Path) -> None:
    source, program = tmp_path / "add.dvm", tmp_path / "add.bin"
    source.write_text(one_program(listing))
    done = run_module("asm", source, "-o", program)
    assert done.returncode == 0, done.stderr
    assert f"{program.stat().st_size} bytes" in done.stdout
    assert run_module("disasm", program).stdout == source.read_text()


ERRORS = [
    (["explain", "MODEL:skaled"], "DVM-U001", "did you mean 'scaled'"),
    (["explain", "MODEL:NUMBER"], "NUMBER in", "is no function: it is of type int"),
    (["explain", "MODEL:Model", "--arg", "f32[3]"], "not the class Model", "compile its methods"),
    (["profile", "MODEL:Model", "--arg", "f32[3]"], "not the class Model", "compile its methods"),
    (["explain", "BESIDE/broken.py:f"], "broken.py, line 2: SyntaxError", "invalid syntax"),
    (["profile", "BESIDE/importing.py:f"], "importing.py, line 2", "named 'nosuchmodule'"),
    (["explain", "MODEL:scaled", "--arg", "f32[1000000,1000000]"], "takes 4,000 GB", "has "),
    (["explain", "MODEL:scaled", "--arg", "i8[9000000000,9000000000]"], "GB; this", "machine"),
    (["explain", "MODEL:scaled", "--arg", "f32[0,99999999999999999999]"], "cannot be made", ""),
    (["explain", "MODEL"], "DVM-U001", "FILE.py:FUNCTION"),
    (["explain", "missing.py:f"], "missing.py", "No such file"),
    (["explain", "MODEL:scaled", "--arg", "f33[3]"], "DVM-U003", "did you mean 'f3"),
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
    (["asm", "MODEL", "-o", "out.bin"], "DVM-F001", "docs/isa.md"),
]


@pytest.mark.parametrize(("command", "code", "text"), ERRORS)
def test_errors_are_one_line_and_exit_status_2(
    run_module: Run, model: Path, command: list[str], code: str, text: str
) -> None:
    beside = str(model.parent)
    places = (("MODEL", str(model)), ("BESIDE", beside))
    command = [functools.reduce(lambda part, new: part.replace(*new), places, c) for c in command]
    done = run_module(*command)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("dvm: ")
    assert code in done.stderr
    assert text in done.stderr


@pytest.mark.captures
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
