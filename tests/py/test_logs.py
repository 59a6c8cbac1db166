"""dvm.set_logs and DVM_LOGS: topics, through Python's logging, and silent while nobody asks."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import logs

Array = np.ndarray[Any, Any]
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    yield
    dvm.set_logs()


def program(x: Array) -> Array:
    y = np.sort(x * 2)
    return (y + 1) * 3


def messages(caplog: pytest.LogCaptureFixture, topic: str) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == f"dvm.{topic}"]


def test_nothing_is_logged_by_default(caplog: pytest.LogCaptureFixture) -> None:
    f = dvm.compile(program)
    f(X)
    f(X.astype(np.float64))
    assert not caplog.records


@pytest.mark.parametrize("topic", logs.TOPICS)
def test_each_topic_says_its_own(topic: str, caplog: pytest.LogCaptureFixture) -> None:
    dvm.set_logs(topic)
    f = dvm.compile(program, name="model")
    f(X)
    f(X.astype(np.float64))  # captured again
    dropping = dvm.compile(lambda x, y: x + y, name="model")
    dropping(X, X.copy())
    with pytest.raises(ValueError, match="broadcast"):
        dropping(X, X[:, :2].copy())
    falling = dvm.compile(lambda x: x * eval("3"), name="model")
    falling(X)
    found = messages(caplog, topic)
    assert found
    assert {record.name for record in caplog.records} == {f"dvm.{topic}"}
    assert all(record.levelno == logging.INFO for record in caplog.records)
    text = "\n".join(found)
    telling = {
        "captures": "model: call 1 became path 0: ",
        "recompiles": "argument x: dtype float32 became float64",
        "drops": "left path 0 and ran uncompiled",
        "fallbacks": "a call of eval",
        "guards": "guard_signature r0, float32 array of rank 2",
        "opaque": "test_logs.py:29: numpy.sort is called as it is",
        "segments": "mul(",
        "bytecode": "dvm.program",
        "passes": "dead_code:\ngraph v1 {",
        "fusion": "fuse %",
        "perf": " us",
    }
    assert telling[topic] in text


def test_topics_are_set_and_not_added() -> None:
    assert dvm.set_logs("captures,drops", "perf") == ()
    assert dvm.set_logs("guards") == ("captures", "drops", "perf")
    assert dvm.set_logs("all") == ("guards",)
    assert dvm.set_logs() == tuple(logs.TOPICS)


def test_an_unknown_topic_is_an_error_and_changes_nothing() -> None:
    dvm.set_logs("drops")
    with pytest.raises(dvm.UnsupportedError, match=r"did you mean 'recompiles'\?") as caught:
        dvm.set_logs("guards", "recompile")
    assert caught.value.code == "DVM-U003"
    assert dvm.set_logs() == ("drops",)


def test_a_handler_that_fails_does_not_change_the_program() -> None:
    class Broken(logging.Handler):
        def emit(self, _record: logging.LogRecord) -> None:
            raise RuntimeError("no disk")

    handler = Broken()
    logging.getLogger("dvm").addHandler(handler)
    unraisable: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, unraisable.append
    try:
        dvm.set_logs("captures", "perf")
        assert np.array_equal(dvm.compile(program)(X), program(X))
    finally:
        sys.unraisablehook = hook
        logging.getLogger("dvm").removeHandler(handler)
    assert unraisable


SCRIPT = """
import numpy as np, dvm
f = dvm.compile(lambda x: x + 1)
f(np.ones(3)), f(np.ones(3))  # the first runs plain
"""


def run(topics: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DVM_LOGS": topics}
    command = [sys.executable, "-c", SCRIPT]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.captures
def test_the_environment_variable_prints_to_stderr() -> None:
    done = run("captures, perf")
    assert done.returncode == 0
    assert "[dvm.captures] " in done.stderr
    assert "[dvm.perf] partition fuse: " in done.stderr
    assert not done.stdout
    assert not run("").stderr


def test_the_environment_variable_is_checked() -> None:
    done = run("capturse")
    assert done.returncode != 0
    assert "DVM-U003" in done.stderr
    assert "did you mean 'captures'?" in done.stderr
