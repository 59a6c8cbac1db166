"""Files that `dvm-atc` takes from where it kept them."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import dvm
from dvm.onnx import atc
from onnx_door.writing import model

W = np.linspace(-1, 1, 8192, dtype=np.float32).reshape(4, 2048)
X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
PASSES = """
from dvm.passes import PatternPass, ops

class Mine(PatternPass):
    def pattern(self, x):
        return ops.relu(x)

    def replacement(self, x):
        return ops.maximum(x, {})
"""


def write(path: Path, weights: np.ndarray, is_apart: bool = False) -> None:
    proto = model(
        "float[n, 4] x", "float[n, 2048] y", "h = MatMul(x, w) y = Relu(h)", {"w": weights}
    )
    apart = {"save_as_external_data": True, "location": "w.bin", "size_threshold": 0}
    (path.parent / "w.bin").unlink(missing_ok=True)
    onnx.save(proto, path, **(apart if is_apart else {}))


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    path = tmp_path / "layer.onnx"
    write(path, W)
    return path


@pytest.fixture
def passes_run() -> Iterator[list[str]]:
    """What each pass says when it has run."""
    said: list[str] = []
    listener = logging.Handler()
    listener.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("dvm.perf").addHandler(listener)
    dvm.set_logs("perf")
    yield said
    dvm.set_logs()
    logging.getLogger("dvm.perf").removeHandler(listener)


def build(layer: Path, *arguments: str) -> bytes:
    """Return the file that the command writes."""
    made, cache = layer.with_suffix(".dvm"), layer.parent / "cache"
    made.unlink(missing_ok=True)
    assert atc.main([str(layer), "-o", str(made), "--cache-dir", str(cache), *arguments]) == 0
    return made.read_bytes()


def test_a_file_that_is_there_is_taken_without_a_pass(
    layer: Path, passes_run: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first = build(layer)
    assert passes_run
    assert "from cache" not in capsys.readouterr().out
    passes_run.clear()
    assert build(layer) == first
    assert not passes_run
    assert "from cache" in capsys.readouterr().out
    np.testing.assert_allclose(
        dvm.load(layer.with_suffix(".dvm"))(X)[0], np.maximum(X @ W, 0), 1e-5
    )


@pytest.mark.parametrize("is_apart", [False, True])
def test_each_bit_of_a_weight_counts(layer: Path, is_apart: bool, passes_run: list[str]) -> None:
    write(layer, W, is_apart)
    first = build(layer)
    for place in (0, W.size - 1):
        other = W.copy()
        other.view(np.uint32).reshape(-1)[place] ^= 1
        write(layer, other, is_apart)
        passes_run.clear()
        assert build(layer) != first
        assert passes_run


@pytest.mark.parametrize(
    "arguments",
    [
        ["--opt", "0"],
        ["--passes", "cse:off"],
        ["--numerics", "strict"],
        ["--precision", "medium"],
        ["--target", "ascend910b3"],
        ["--dim", "n=3"],
        ["--out-nodes", "h"],
    ],
)
def test_each_option_counts(layer: Path, arguments: list[str], passes_run: list[str]) -> None:
    first = build(layer)
    passes_run.clear()
    build(layer, *arguments)
    assert passes_run
    passes_run.clear()
    build(layer, *arguments)
    assert not passes_run
    assert build(layer) == first


def test_passes_and_the_version_count(
    layer: Path, passes_run: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = layer.parent / "mine.py"
    named = ["--passes", f"{mine}:Mine"]
    mine.write_text(PASSES.format(1.0))
    first = build(layer, *named)
    mine.write_text(PASSES.format(2.0))
    passes_run.clear()
    assert build(layer, *named) != first
    assert passes_run
    passes_run.clear()
    monkeypatch.setattr(dvm, "__version__", "other")
    build(layer, *named)
    assert passes_run


def test_what_is_damaged_is_built_again(layer: Path, passes_run: list[str]) -> None:
    first = build(layer)
    (entry,) = (layer.parent / "cache").glob("*.dvm")
    whole = entry.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:-100] + bytes(100), b""):
        entry.write_bytes(damaged)
        passes_run.clear()
        assert build(layer) == first
        assert passes_run
        assert entry.read_bytes() == whole


KILLED = """
import os, shutil, signal, sys
from dvm.onnx import atc
from dvm.onnx.atc import cache

def killed(source, to):
    with open(to, "wb") as file:
        file.write(open(source, "rb").read()[:1000])
        file.flush()
    print("half", flush=True)
    signal.pause()

cache.shutil.copyfile = killed
atc.main(sys.argv[1:])
"""


def test_a_writer_that_is_killed_does_no_harm(layer: Path) -> None:
    """It holds the lock until then, and leaves half a draft."""
    made, folder = layer.with_suffix(".dvm"), layer.parent / "cache"
    arguments = [str(layer), "-o", str(made), "--cache-dir", str(folder)]
    writer = subprocess.Popen(
        [sys.executable, "-c", KILLED, *arguments], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    with writer.stdout:
        assert writer.stdout.readline() == "half\n"
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    assert not list(folder.glob("*.dvm"))
    first = build(layer)
    assert [entry.read_bytes() for entry in folder.glob("*.dvm")] == [first]
    assert build(layer) == first


def test_several_that_build_the_same_build_it_once(layer: Path) -> None:
    folder = layer.parent / "cache"
    command = [sys.executable, "-c", "import sys\nfrom dvm.onnx import atc\natc.main(sys.argv[1:])"]
    builders = [
        subprocess.Popen(
            [
                *command,
                str(layer),
                "-o",
                str(layer.with_suffix(f".{k}")),
                "--cache-dir",
                str(folder),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for k in range(3)
    ]
    said = [builder.communicate()[0] for builder in builders]
    assert sum("from cache" in text for text in said) == 2
    files = {layer.with_suffix(f".{k}").read_bytes() for k in range(3)}
    assert len(files) == 1


def test_what_comes_from_the_cache_is_told_as_when_it_was_built(layer: Path) -> None:
    report, texts = layer.with_suffix(".json"), layer.parent / "texts"
    told, dumped = [], []
    for _ in range(2):
        build(layer, "--report", str(report), "--dump", str(texts))
        told.append(json.loads(report.read_text()))
        dumped.append({path.name: path.read_text() for path in texts.iterdir()})
        shutil.rmtree(texts)
    assert told[1].pop("from_cache")
    assert told[0] == told[1]
    assert dumped[0] == dumped[1]
    assert len(dumped[0]) == len(told[0]["steps"]) > 5


def test_a_damaged_record_is_made_again(layer: Path, passes_run: list[str]) -> None:
    build(layer)
    (record,) = (layer.parent / "cache").glob("*.json")
    for damaged in (b"", b"{", b"[]", b'{"steps": 3}', b"\xff", record.read_bytes()[:-20]):
        record.write_bytes(damaged)
        passes_run.clear()
        build(layer)
        assert passes_run
        passes_run.clear()
        build(layer)
        assert not passes_run
