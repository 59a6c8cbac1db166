"""`python -m dvm report MODEL.onnx`: the page of a model."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest

import dvm
import dvm.onnx
from dvm import __main__ as command_line
from dvm.profiling.page.planned_memory import UnknownSizeError, blocks_of
from onnx_door.small import MODELS

OPEN = [name for name in MODELS if name not in ("loop", "branch")]


@pytest.mark.parametrize("kind", ["onnx", "dvm"])
def test_a_page_has_stages_steps_and_memory(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page = tmp_path / f"model.{kind}", tmp_path / "page.html"
    if kind == "onnx":
        onnx.save(MODELS["columns"], file)
    else:
        dvm.onnx.load(MODELS["columns"]).save(file)
    command = ["report", str(file), "-o", str(page)]
    assert command_line.main(command) == 2
    assert "takes one --arg for each of: x=f32[n, m]" in capsys.readouterr().err
    assert command_line.main([*command, "--arg", "x=f32[40,30]"]) == 0
    html = page.read_text("utf-8")
    steps = [tuple(re.findall("<td>(.*?)</td>", row)) for row in re.findall("<tr>(.*?)</tr>", html)]
    named = {(cells[1], cells[2]) for cells in steps if len(cells) == 6}
    assert {("optimise", "simplify"), ("partition", "fuse"), ("build", "plan")} <= named
    assert re.search(r"planned memory of g0: [\d.]+ (KiB|bytes) at most", html)
    assert f"model.{kind} on cpu" in html


@pytest.mark.parametrize("command", [["report", "-o"], ["profile", "--trace"]])
@pytest.mark.parametrize("over", ["model.onnx", "x.npy"])
def test_nothing_is_written_over_what_is_read(
    tmp_path: Path,
    command: list[str],
    over: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(MODELS["columns"], "model.onnx")
    np.save("x.npy", np.ones((40, 30), np.float32))
    before = Path(over).read_bytes()
    given = [command[0], "model.onnx", "--arg", "x=x.npy", command[1], str(tmp_path / over)]
    assert command_line.main(given) == 2
    assert "would write over a file that this command reads" in capsys.readouterr().err
    assert Path(over).read_bytes() == before


@pytest.mark.parametrize("name", [name for name in OPEN if name != "recurrent"])  # that is a loop
@pytest.mark.parametrize("size", [1, 5])
def test_memory_that_is_planned_is_that_of_the_results_and_what_is_freed(
    name: str, size: int
) -> None:
    graph = dvm.onnx.load(MODELS[name]).compiled
    given = [
        np.ones([d.dim_value or size for d in value.type.tensor_type.shape.dim], np.float32)
        for value in MODELS[name].graph.input
    ]
    symbols = {
        d.dim_param: size for v in MODELS[name].graph.input for d in v.type.tensor_type.shape.dim
    }
    results = graph(*given)
    blocks, count = blocks_of(graph.plan, symbols)
    assert len(blocks) == len(re.findall(r"(?m)^  b\d+ = (?:host_)?alloc", graph.plan))
    assert len({block.name for block in blocks}) == len(blocks)
    assert all(0 < block.begin < block.end <= count + 1 for block in blocks)
    kept = sum(block.bytes for block in blocks if block.end > count)
    assert kept >= sum(result.nbytes for result in results if result.base is None)
    freed = [block for block in blocks if block.end <= count]
    assert len(freed) == len(re.findall(r"(?m)^  free ", graph.plan))


def test_sizes_that_nobody_says_are_told_of() -> None:
    graph = dvm.onnx.load(MODELS["product"]).compiled
    with pytest.raises(UnknownSizeError, match="alloc f32"):
        blocks_of(graph.plan, {})
