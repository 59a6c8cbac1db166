"""A loop that each call goes through in another way is given up once, and for good."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from dvm.magpy_capture.walk.walk import Walk


def of_an_array(a: Any, b: Any) -> Any:
    scores = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            s = 3 if a[i - 1] == b[j - 1] else -3
            scores[i, j] = max(
                0, scores[i - 1, j - 1] + s, scores[i - 1, j] - 2, scores[i, j - 1] - 2
            )
    return scores.max()


def of_lists(a: Any, b: Any) -> Any:
    scores = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    best, at = 0, (0, 0)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            s = 3 if a[i - 1] == b[j - 1] else -3
            scores[i][j] = max(
                0, scores[i - 1][j - 1] + s, scores[i - 1][j] - 2, scores[i][j - 1] - 2
            )
            if scores[i][j] > best:
                best, at = scores[i][j], (i, j)
    return best, at


MAKERS: dict[str, Callable[[random.Random], Any]] = {
    "text": lambda rng: "".join(rng.choices("ACGT", k=30)),
    "list": lambda rng: rng.choices(range(4), k=30),
    "array": lambda rng: np.array(rng.choices(range(4), k=30)),
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("function", [of_an_array, of_lists])
def test_what_failed_is_remembered(
    function: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Smith and Waterman's: as many ways as there are pairs of texts."""
    rng, compiled = random.Random(1), dvm.compile(function)
    events, lower_event = 0, Walk.lower_event

    def counted(walk: Walk) -> None:
        nonlocal events
        events += 1
        lower_event(walk)

    monkeypatch.setattr(Walk, "lower_event", counted)
    with dvm.stance("force_capture"):
        for call in range(16):
            a, b = MAKERS[kind](rng), MAKERS[kind](rng)
            before = events
            assert compiled(a, b) == function(a, b)
            # A call has some 20,000.
            assert events - before < 6000, call
            assert events == before or call < 10


def of_bits(data: Any) -> Any:
    found = 1
    for number in data:
        if number & 1:
            found = found * 3
        if number & 2:
            found = found + 7
        if number & 4:
            found = found ^ 5
        if number & 8:
            found = found >> 2
        if number & 16:
            found = found + 1
        found = found & 0xFFFF
    return found


def test_one_call_may_show_that_there_are_too_many_ways() -> None:
    """Each turn goes one of 32: none is lowered, then or later."""
    rng, compiled = random.Random(1), dvm.compile(of_bits)
    with dvm.stance("force_capture"):
        for count in (200, 300, 250, 400):
            data = [rng.randrange(32) for _ in range(count)]
            assert compiled(data) == of_bits(data)
    (loop,) = vars(compiled)["loops"].values()
    assert loop.ends_paths
    assert loop.ways == 0
    assert compiled.stats.captures == 0


def test_an_explanation_of_it_is_short_and_comes_soon() -> None:
    rng, compiled = random.Random(1), dvm.compile(of_an_array)
    make = MAKERS["list"]
    with dvm.stance("force_capture"):
        for n in (4, 9, 5, 6, 7):
            compiled(make(rng)[:n], make(rng)[:n])
        a, b = make(rng)[:12], make(rng)[:12]
        begin = time.thread_time()
        text = str(dvm.explain(compiled)(a, b))
        taken = time.thread_time() - begin
    assert text.count("\n") < 200
    assert len(text) < 20_000
    assert taken < 1.5
