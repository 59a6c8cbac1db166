"""The demo: what it prints, and that its encoder gives the same embeddings compiled and plain."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dvm

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

ROWS = {
    "sentences": r"12",
    "distinct lengths": r"\d+, from \d+ to \d+ words",
    "captures": r"1",
    "recaptures": r"0",
    "fallbacks": r"0 of 48 calls ran uncompiled",
    "opaque calls": r"\d+ steps of the compiled path stay NumPy's own",
    "largest difference": r"\d\.\de[+-]\d\d",
    "NumPy, a pass": r"\d+\.\d{3} s, \d+ us a sentence",
    "dvm, the first pass": r"\d+\.\d{3} s, NumPy \d+\.\d{3} s",
    "dvm, the first call": r"\d+\.\d ms, NumPy \d+\.\d ms",
    "dvm, a warm pass": r"\d+\.\d{3} s, \d+ us a sentence",
    "dvm / NumPy": r"\d+\.\d\d: "
    r"dvm is (faster than|slower than|as fast as) NumPy",
    "pages": r"12, from \d+ to \d+ words",
    "NumPy, all pages": r"\d+ ms, \d+ the longest",
    "dvm, never seen": r"\d+ ms, \d+ the longest",
    "dvm, seen before": r"\d+ ms: \d+\.\d\d of NumPy's time",
}


@pytest.fixture(scope="module")
def text_encoder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("text_encoder", EXAMPLES / "text_encoder.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_demo_prints_its_table() -> None:
    command = [sys.executable, EXAMPLES / "demo.py", "--sentences", "12", "--passes", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    printed = dict(re.findall(r"^  (\S.{0,19}\S) {2,}(\S.*)$", done.stdout, re.M))
    for name, value in ROWS.items():
        assert re.fullmatch(value, printed[name]), (name, printed[name])
    assert len(re.findall(r"^    -?\d\.\d\d  \S", done.stdout, re.M)) == 3  # nearest sentences


def test_the_encoder_knows_nothing_of_dvm() -> None:
    assert "dvm" not in (EXAMPLES / "text_encoder.py").read_text("utf-8")


def test_embeddings_are_those_of_numpy(text_encoder: Any) -> None:
    encoder = text_encoder.TextEncoder()
    encode = dvm.compile(text_encoder.TextEncoder.encode)
    words = np.arange(97) * 41 % text_encoder.VOCABULARY
    for length in (7, 1, 2, 50, 97, 7):
        expected = encoder.encode(words[:length])
        result = encode(encoder, words[:length])
        assert type(result) is np.ndarray
        assert (result.dtype, result.shape) == (np.float32, (text_encoder.WIDTH,))
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-5)
    stats = encode.stats
    assert (stats.captures, stats.recaptures, stats.fallbacks, stats.drops) == (1, 0, 0, 0)
    (path,) = dvm.explain(encode)(encoder, words[:7]).paths
    assert {call["name"] for call in path["opaque_calls"]} <= {"ndarray.__getitem__"}


def test_the_weights_are_the_same_each_time(text_encoder: Any) -> None:
    words = text_encoder.tokenize("Names refer to objects.")
    assert len(words) == 4
    first, second = (text_encoder.TextEncoder().encode(words) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, text_encoder.TextEncoder(seed=1).encode(words))
