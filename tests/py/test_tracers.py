"""Compiled functions beside another tracer: a debugger stops in them, coverage counts their lines.

While a trace function is set every call runs the original; before and after, paths are replayed.
"""

from __future__ import annotations

import io
import json
import os
import pdb
import subprocess
import sys
import trace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm

PROGRAM = """
import sys
import numpy as np
import dvm


def smooth(x, rounds):
    for _ in range(rounds):
        x = (x + np.roll(x, 1)) / 2
    if x.max() > 2:
        return np.clip(x, 0, 2)
    return x


f = dvm.compile(smooth) if sys.argv[1] == "compiled" else smooth
for n in (3, 4, 5):
    print(f(np.ones(n), 2).sum(), f(np.full(n, 9.0), 2).sum())
if sys.argv[1] == "compiled":
    print(f.stats.eager, f.stats.fallbacks, file=sys.stderr)
"""


@dvm.compile
def double(x: Any) -> Any:
    y = x * 2
    return y + 1


def first_line(function: Any) -> int:
    return int(function.__wrapped__.__code__.co_firstlineno)


def test_a_debugger_stops_at_a_breakpoint_in_a_compiled_function() -> None:
    x = np.arange(3.0)
    double(x)
    line = first_line(double) + 3  # behind the decorator and the definition
    script = f"break {__file__}:{line}\ncontinue\nprint(y.sum())\nwhere\nclear 1\ncontinue\n"
    output = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO(script), stdout=output, readrc=False, nosigint=True)
    debugger.use_rawinput = False
    hits = double.stats.hits
    result = debugger.runcall(double, x)
    text = output.getvalue()
    assert result.tolist() == [1, 3, 5]
    assert "return y + 1" in text
    assert "6.0" in text
    assert double.stats.hits == hits
    assert double(x).tolist() == [1, 3, 5]
    assert double.stats.hits == hits + 1


def test_the_trace_module_counts_the_lines_of_each_call() -> None:
    x = np.arange(3.0)
    double(x)
    tracer = trace.Trace(count=1, trace=0)
    for _ in range(3):
        tracer.runfunc(double, x)
    counts = {line: n for (file, line), n in tracer.results().counts.items() if file == __file__}
    begin = first_line(double)
    assert (counts[begin + 2], counts[begin + 3]) == (3, 3)


@pytest.mark.parametrize("core", ["ctrace", "pytrace"])
def test_coverage_sees_the_lines_that_it_sees_of_the_plain_function(
    core: str, tmp_path: Path
) -> None:
    pytest.importorskip("coverage")
    program = tmp_path / "smoothing.py"
    program.write_text(PROGRAM)
    seen = {}
    for how in ("plain", "compiled"):
        run = _coverage(core, tmp_path, "run", "--branch", str(program), how)
        report = tmp_path / f"{how}.json"
        _coverage(core, tmp_path, "json", "-o", str(report))
        files = json.loads(report.read_text())["files"]
        (file,) = (each for name, each in files.items() if name.endswith("smoothing.py"))
        inside = range(7, 13)
        seen[how] = (
            run.stdout,
            [line for line in file["executed_lines"] if line in inside],
            [pair for pair in file["executed_branches"] if abs(pair[0]) in inside],
        )
        if how == "compiled":
            assert run.stderr.split() == ["6", "0"]  # calls that ran the original, and fallbacks
    assert seen["plain"] == seen["compiled"]
    assert seen["plain"][1]


def _coverage(core: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "coverage", *arguments],
        cwd=folder,
        env={**os.environ, "COVERAGE_CORE": core},
        capture_output=True,
        text=True,
        check=True,
    )
