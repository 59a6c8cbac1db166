"""What dvm.compile says of what it cannot compile, and of what never replays."""

from __future__ import annotations

import functools
import logging
import operator
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import dvm


@functools.cache
def kept(x: int) -> int:
    return x


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (3, "not the int 3"),
        (None, "returns nothing"),
        ("text", "not its text or name: define it with def"),
        (len, "call it within one, as in dvm.compile(lambda x: len(x))"),
        (np.sin, "as in dvm.compile(lambda x: np.sin(x))"),
        (np.sum, "as in dvm.compile(lambda x: np.sum(x))"),
        (operator.itemgetter(1), "call it within one"),
        ([len], "[dvm.compile(f) for f in functions]"),
        ((len, abs), "takes one function, not a tuple"),
        (kept, "compile the function under it"),
        (dict, "not the class dict: compile its methods"),
        (np.ones(3), "not the ndarray"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_function_is_told_what_to_do(given: Any, says: str) -> None:
    with pytest.raises(TypeError) as raised:
        dvm.compile(given)
    assert says in str(raised.value)


def test_without_a_function_it_is_a_decorator() -> None:
    @dvm.compile()
    def f(x: Any) -> Any:
        return x + 1

    @dvm.compile(numerics="strict")
    def g(x: Any) -> Any:
        return x + 1

    assert f(1) == g(1) == 2


def test_generators_and_coroutines_are_told_of_at_once() -> None:
    def steps(x: Any) -> Any:
        yield x + 1

    async def later(x: Any) -> Any:
        return x + 1

    async def both(x: Any) -> Any:
        yield x

    for function, kind in ((steps, "generator"), (later, "async"), (both, "async")):
        with pytest.warns(RuntimeWarning, match=f"runs uncompiled: it is an? {kind} function"):
            compiled = dvm.compile(function)
        assert compiled.fallback_reasons[0].code in ("generator-function", "coroutine-function")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dvm.compile(function)  # logged where a warning would be an exception
    assert list(dvm.compile(lambda x: [x + 1])(1)) == list(steps(1))


def test_the_log_says_that_no_call_was_replayed(caplog: Any) -> None:
    def opens(x: Any) -> Any:
        with open("/dev/null") as file:
            return x + len(file.read())

    compiled = dvm.compile(opens)
    before = dvm.set_logs("fallbacks")
    try:
        with caplog.at_level(logging.INFO, "dvm"):
            for _ in range(5):
                compiled(np.ones(2))
    finally:
        dvm.set_logs(*before)
    told = [message for message in caplog.messages if "no call has been replayed" in message]
    assert len(told) == 1, caplog.messages


@pytest.mark.captures
def test_dir_names_what_is_public() -> None:
    code = "import dvm; dvm.compile(lambda x: x)(1); print(*dir(dvm))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == sorted(dvm.__all__)
