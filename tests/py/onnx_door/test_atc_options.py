"""What `dvm-atc` is told: levels, switches, texts of steps, reports, other outputs, raw JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import dvm
import dvm.onnx
from dvm.onnx import atc
from dvm.onnx.atc import options
from dvm.passes import steps
from onnx_door.writing import model

W = np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2)
BODY = "one = Constant <value = float {1.0}> () s = Mul(x, one) h = MatMul(s, w) y = Relu(h)"
X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    path = tmp_path / "layer.onnx"
    onnx.save(model("float[n, 4] x", "float[n, 2] y", BODY, {"w": W}), path)
    return path


def report_of(layer: Path, *arguments: str) -> dict[str, Any]:
    file = layer.with_suffix(".json")
    assert atc.main([str(layer), "--mode", "check", "--report", str(file), *arguments]) == 0
    return dict(json.loads(file.read_text()))


def names_of(report: dict[str, Any]) -> list[str]:
    return [step["name"] for step in report["steps"]]


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_a_level_leaves_out_what_is_above_it(layer: Path, level: int) -> None:
    names = names_of(report_of(layer, f"--opt={level}"))
    for step in steps():
        if step.level > level:
            assert step.name not in names
    assert ("precision" in names) == (level == 3)
    assert ("simplify" in names) == (level >= 1)


def test_a_level_that_is_lower_keeps_bits(layer: Path) -> None:
    results = []
    for level in (0, 1):
        made = layer.with_suffix(f".{level}.dvm")
        assert atc.main([str(layer), "-o", str(made), "--opt", str(level)]) == 0
        results.append(dvm.load(made)(X)[0])
    assert np.array_equal(*results)


def test_what_is_off_is_off_where_the_file_is_loaded(layer: Path) -> None:
    made = layer.with_suffix(".dvm")
    switches = ["--passes", "simplify:off,cse:off", "--passes", "dead_code:off"]
    assert atc.main([str(layer), "-o", str(made), *switches]) == 0
    names = [step.name for step in dvm.load(made).steps]
    assert not {"simplify", "cse", "dead_code"} & set(names)
    assert "attention" in names
    again = layer.with_suffix(".again.dvm")
    dvm.load(made).save(again)
    assert again.read_bytes() == made.read_bytes()


def test_each_step_has_a_text(layer: Path, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    report = report_of(layer, "--dump", str(folder))
    files = sorted(path.name for path in folder.iterdir())
    assert files == [
        f"{k:02}_{step['stage']}_{step['name']}.txt" for k, step in enumerate(report["steps"])
    ]
    texts = [(folder / name).read_text() for name in files]
    assert texts[0].startswith("graph v1")
    assert " mul(" in texts[0]
    assert " mul(" not in texts[files.index("06_optimise_cse.txt")]
    assert texts[-1].startswith("plan v1")


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ("first", ["stored_dims"]),
        ("final", ["plan"]),
        ("partition", ["fuse"]),
        ("build,cse", ["cse", "plan"]),
    ],
)
def test_of_some_steps_there_are_texts(
    layer: Path, tmp_path: Path, stages: str, expected: list[str]
) -> None:
    folder = tmp_path / "texts"
    report_of(layer, "--dump", str(folder), "--dump-stages", stages)
    names = [path.stem.split("_", 2)[2] for path in sorted(folder.iterdir())]
    assert names == expected


def test_a_report_tells_what_was_done(layer: Path) -> None:
    report = report_of(layer)
    assert report["inputs"] == {"x": "f32[n, 4]"}
    assert report["operators"]["MatMul"] == 1
    assert report["options"]["target"] == "cpu"
    assert report["seconds"] > 0
    simplify = report["steps"][names_of(report).index("simplify")]
    assert simplify["stage"] == "optimise"
    assert simplify["matches"] >= simplify["effects"] > 0


def test_a_report_tells_what_went_wrong(tmp_path: Path) -> None:
    path, file = tmp_path / "strange.onnx", tmp_path / "report.json"
    onnx.save(model("float[n] x", "float[n] y", "y = NoSuchOperator(x)"), path)
    assert atc.main([str(path), "--mode", "check", "--report", str(file)]) == 2
    assert "NoSuchOperator" in json.loads(file.read_text())["error"]


def test_each_stage_has_a_line(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert atc.main([str(layer), "--mode", "check"]) == 0
    lines = capsys.readouterr().out.splitlines()
    words = [line.split()[0] for line in lines]
    places = [words.index(w) for w in ("import", "prepare", "optimise", "partition", "build")]
    assert places == sorted(places)
    assert "simplify" in lines[places[2]]


def test_other_values_are_the_outputs(layer: Path) -> None:
    made = layer.with_suffix(".dvm")
    chosen = ["--out-nodes", "h;s"]
    assert atc.main([str(layer), "-o", str(made), *chosen]) == 0
    product, scaled = dvm.load(made)(X)
    np.testing.assert_allclose(product, X @ W, 1e-5)
    assert np.array_equal(scaled, X)
    loaded = dvm.onnx.load(layer, outputs=["s"])
    assert loaded.operators == {"Constant": 1, "Mul": 1}
    assert np.array_equal(loaded(X)["s"], X)


def test_outputs_of_nodes_and_of_bodies() -> None:
    then, other = (
        onnx.helper.make_graph(
            [onnx.helper.make_node(op, ["a"], ["made"])],
            op,
            [],
            [onnx.helper.make_tensor_value_info("made", onnx.TensorProto.FLOAT, None)],
        )
        for op in ("Neg", "Abs")
    )
    proto = model("float[n] x, bool c", "float[n] z", "a = Sin(x) b = Cos(x) z = Add(a, b)")
    branch = onnx.helper.make_node(
        "If", ["c"], ["y"], name="choice", then_branch=then, else_branch=other
    )
    proto.graph.node.append(branch)
    loaded = dvm.onnx.load(proto, outputs=["choice:0"])
    assert loaded.operators == {"Sin": 1, "If": 1}
    x = np.float32([1, 2])
    np.testing.assert_allclose(loaded(x, np.array(True))[0], -np.sin(x), 1e-5)


def test_options_of_a_file_where_the_arguments_say_nothing(layer: Path, tmp_path: Path) -> None:
    file = tmp_path / "options.json"
    file.write_text('{"opt": 0, "dim": {"n": 3}, "numerics": "strict", "passes": ["cse:off"]}')
    report = report_of(layer, "--options", str(file), "--opt", "1")
    assert report["options"] | {"opt": 1, "numerics": "strict"} == report["options"]
    assert report["inputs"] == {"x": "f32[3, 4]"}
    assert "simplify" in names_of(report)
    assert "cse" not in names_of(report)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"optt": 1}', "did you mean 'opt'"),
        ('{"soc_version": "910b"}', "there is no option"),
        ('{"opt": 7}', "invalid choice"),
        ('{"target": ["cpu"]}', "write a text or a number"),
        ('{"model": "other.onnx"}', "there is no option"),
        ("[1]", "has no options"),
        ("{", "is no JSON"),
    ],
)
def test_options_of_a_file_that_there_are_not(
    layer: Path, tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "options.json"
    file.write_text(text)
    assert atc.main([str(layer), "--mode", "check", "--options", str(file)]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--passes", "simplfy:off"], "did you mean 'simplify:off'"),
        (["--passes", "fuse:off"], "there is no switch"),
        (["--passes", "cse"], "or STEP:off"),
        (["--dump", "texts", "--dump-stages", "optimize"], "did you mean 'optimise'"),
        (["--out-nodes", "hh"], "did you mean 'h'"),
        (["--opt", "4"], "invalid choice"),
    ],
)
def test_names_that_there_are_not(
    layer: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(layer.parent)
    assert atc.main([str(layer), "--mode", "check", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_no_other_file_is_written_over(layer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    passes, notes, made = (layer.with_name(name) for name in ("p.py", "notes.txt", "made.dvm"))
    passes.write_text("P = []")
    notes.write_text("mine")
    before = {path: path.read_bytes() for path in (layer, passes, notes)}
    for given in (
        ["-o", str(layer)],
        ["-o", str(notes)],
        ["-o", str(passes), "--passes", f"{passes}:P"],
        ["-o", str(made), "--report", str(layer)],
        ["-o", str(made), "--report", str(made)],
    ):
        assert atc.main([str(layer), *given]) == 2
        assert "written" not in capsys.readouterr().out
        assert {path: path.read_bytes() for path in before} == before
        assert not made.exists()
    for _ in range(2):
        assert atc.main([str(layer), "-o", str(made)]) == 0


def test_the_page_has_each_option() -> None:
    page = (Path(__file__).parents[3] / "docs" / "atc.md").read_text("utf-8")
    table = page.split("## The options")[1].split("## From ATC")[0]
    rows = re.findall(r"^\| (?:`-\w`, )?`--([\w-]+)", table, re.M)
    known = {name.replace("_", "-") for name in vars(options.parser().parse_args(["-"]))}
    assert known - {"model"} == set(rows)
    for level in options.LEVELS:
        assert f"{level}" in next(row for row in table.splitlines() if "`--opt " in row)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--dim", "n=" + "9" * 30],
        ["--dim", "n=" + "9" * 5000],
        ["--dim", "n=²"],
        ["--dim", "n=-1"],
        ["--dim", "=3"],
        ["--out-nodes", ""],
        ["--out-nodes", ";"],
        ["--dump-stages", "cse"],
        ["--passes", "simplify:resume"],
        ["--passes", "no_such:off"],
        ["--report", "missing/report.json"],
        ["--report", "."],
        ["--options", "."],
        ["-o", "missing/layer.dvm"],
        ["-o", "."],
    ],
    ids=lambda words: " ".join(words)[:30],
)
@pytest.mark.parametrize("mode", ["check", "build"])
def test_what_makes_no_sense_is_a_line(
    layer: Path, mode: str, arguments: list[str], capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(layer.parent)
    before = sorted(layer.parent.rglob("*"))
    given = [] if "-o" in arguments else ["-o", "made.dvm"]
    assert atc.main([str(layer), "--mode", mode, *given, *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith("dvm-atc: ")
    assert said.count("\n") == 1
    assert ":resume" not in said or arguments == ["--passes", "simplify:resume"]
    (layer.parent / "made.dvm").unlink(missing_ok=True)
    assert sorted(layer.parent.rglob("*")) == before


#: models and passes that a file cannot have
NOT_SAVED = {
    "values decide": (
        model("float[n, m] x, int64[1] axes", "float[a, b] y", "y = ReduceSum(x, axes)"),
        "",
    ),
    "NumPy computes": (model("float[n] x", "float[a] y, int64[b] i, int64[c] j, int64[d] k",
                             "y, i, j, k = Unique<sorted = 1>(x)"), ""),
    "passes behind": (model("float[n] x", "float[n] y", "y = Exp(x)"), "Later"),
    "two of a name": (model("float[n] x", "float[n] y", "y = Exp(x)"), "--out-nodes=y;y"),
}  # fmt: skip
LATER = """
from dvm.passes import Pass

class Later(Pass):
    after = "cse"

    def run(self, graph):
        return graph
"""


@pytest.mark.parametrize("name", NOT_SAVED)
def test_what_a_build_refuses_is_refused_by_a_check(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    proto, more = NOT_SAVED[name]
    path, mine = tmp_path / "model.onnx", tmp_path / "mine.py"
    onnx.save(proto, path)
    mine.write_text(LATER)
    given = [f"--passes={mine}:{more}"] if more == "Later" else [more] * bool(more)
    said = []
    for arguments in (["-o", str(tmp_path / "made.dvm")], ["--mode", "check"]):
        assert atc.main([str(path), *arguments, *given]) == 2
        said.append(capsys.readouterr().err)
    assert said[0] == said[1]


ENDING = """
import signal
from dvm.passes import Pass

class Ends(Pass):
    def run(self, graph):
        {}

class Counts(Pass):
    runs = 0

    def run(self, graph):
        with open(__file__ + ".runs", "a") as file:
            file.write("x")
        return graph
"""


@pytest.mark.parametrize(
    "how", ["raise SystemExit", "raise SystemExit(0)", "import sys; sys.exit()"]
)
@pytest.mark.parametrize("is_at_import", [False, True])
def test_an_exit_of_a_pass_is_an_error(
    layer: Path, how: str, is_at_import: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = layer.parent / "mine.py"
    mine.write_text(ENDING.format("pass") + how if is_at_import else ENDING.format(how))
    made = layer.with_suffix(".dvm")
    assert atc.main([str(layer), "-o", str(made), "--passes", f"{mine}:Ends"]) == 2
    assert "SystemExit" in capsys.readouterr().err
    assert not made.exists()


def test_an_interruption_of_a_pass_ends_the_command(
    layer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = layer.parent / "mine.py"
    mine.write_text(ENDING.format("signal.raise_signal(signal.SIGINT)"))
    made = layer.with_suffix(".dvm")
    assert atc.main([str(layer), "-o", str(made), "--passes", f"{mine}:Ends"]) == 130
    assert capsys.readouterr().err == "dvm-atc: interrupted\n"
    assert not made.exists()


@pytest.mark.parametrize("mode", ["build", "check"])
def test_a_pass_is_run_once(layer: Path, mode: str) -> None:
    mine = layer.parent / "mine.py"
    mine.write_text(ENDING.format("pass"))
    report = layer.with_suffix(".json")
    arguments = ["-o", str(layer.with_suffix(".dvm")), "--report", str(report)]
    arguments += ["--dump", str(layer.parent / "texts"), "--passes", f"{mine}:Counts"]
    assert atc.main([str(layer), "--mode", mode, *arguments]) == 0
    assert (layer.parent / "mine.py.runs").read_text() == "x"
    assert names_of(json.loads(report.read_text()))[0] == "Counts"
    assert (layer.parent / "texts" / "00_prepare_Counts.txt").read_text().startswith("graph v1")


def test_a_full_disk_is_an_error(layer: Path) -> None:
    command = [sys.executable, "-c", "from dvm.onnx import atc; raise SystemExit(atc.main())"]
    with open("/dev/full", "w") as full:
        made = subprocess.run(
            [*command, str(layer), "--mode", "info"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert made.returncode == 2
    assert made.stderr.startswith("dvm-atc: what it says cannot be written: ")
    assert made.stderr.count("\n") == 1
