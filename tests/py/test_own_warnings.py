"""What dvm has to say of itself never becomes an exception of the program, nor costs a result."""

from __future__ import annotations

import builtins
import functools
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import magpy_capture

Array = np.ndarray[Any, Any]
X = np.arange(6.0)


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def broken_lowering(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise IndexError("a bug")

    monkeypatch.setattr(magpy_capture, "lower", broken)


def test_the_limit_of_paths_is_no_exception(caplog: pytest.LogCaptureFixture) -> None:
    def plain(x: Array, kind: type) -> Array:
        return x + 1 if kind is int else x + 2

    f = dvm.compile(plain)
    kinds = [type(f"Kind{n}", (), {}) for n in range(66)]
    for kind in kinds[:64]:
        f(X, kind)
    for kind in kinds[64:]:
        assert np.array_equal(f(X, kind), X + 2)
    assert sum("limit of 64 paths" in record.message for record in caplog.records) == 1


def test_at_the_limit_the_programs_own_exception_comes() -> None:
    f = dvm.compile(lambda x, flag: x + (1 if flag != "no" else int(flag)))
    for n in range(64):
        f(X, str(n))
    with pytest.raises(ValueError, match="invalid literal"):
        f(X, "no")


def test_a_bug_is_no_exception_and_leaves_a_file(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    broken_lowering(monkeypatch)
    f = dvm.compile(lambda x: np.sin(x) * 2, name="victim")
    assert np.array_equal(f(X), np.sin(X) * 2)
    (record,) = caplog.records
    named = re.search(r"repro file: (\S+\.txt)", record.getMessage())
    assert named is not None
    text = Path(named[1]).read_text()
    assert Path(named[1]).parent == tmp_path
    for part in ("IndexError: a bug", "victim at ", "sin", "float64[6]", "binary *"):
        assert part in text


def test_without_a_place_for_the_file_none_is_promised(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/nowhere at all")
    broken_lowering(monkeypatch)
    assert np.array_equal(dvm.compile(lambda x: x + 1)(X), X + 1)
    assert "repro file:" not in caplog.records[0].getMessage()


@functools.lru_cache
def doubled(n: int) -> int:
    return n * 2


def statistics_of_a_cache(x: Array) -> Any:
    doubled(3)
    return x * 2, doubled.cache_info().currsize


def itself(x: Array) -> Array:
    endless: list[Any] = [1]
    endless.append(endless)
    return x * len(str(endless))


ENDLESS: list[Any] = [1]
ENDLESS.append(ENDLESS)
DEEP: list[Any] = []
for _ in range(600):
    DEEP = [DEEP]


def reached(x: Array) -> Array:
    return x * len(str(ENDLESS))


def deep(x: Array) -> Array:
    return x * len(str(DEEP))


@pytest.mark.parametrize("function", [statistics_of_a_cache, itself, reached, deep])
def test_no_bug_of_dvm_reaches(
    function: Callable[[Array], Any], caplog: pytest.LogCaptureFixture
) -> None:
    f = dvm.compile(function)
    expected = function(X)
    for _ in range(3):
        for mine, own in zip(f(X), expected, strict=True):
            assert np.array_equal(mine, own)
    assert not caplog.records
    assert not any("DVM-X" in reason for reason in f.fallback_reasons)


def test_a_replaced_builtin_is_the_programs_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[Any] = []

    def mine(*given: Any) -> int:
        calls.append(given)
        return -1

    f = dvm.compile(lambda x: x.reshape(max(2, 3), -1).sum(axis=1) * 2)
    expected = X.reshape(3, -1).sum(axis=1) * 2
    with monkeypatch.context() as patched:
        patched.setattr(builtins, "max", mine)
        with pytest.raises(ValueError, match="unknown dimension"):
            f(X)
        g = dvm.compile(lambda x: x * max(4, 5))
        assert np.array_equal(g(X), -X)
        assert calls == [(2, 3), (4, 5)]
        assert any("builtins.max was replaced" in reason for reason in g.fallback_reasons)
    for _ in range(2):
        assert np.array_equal(f(X), expected)
        assert np.array_equal(g(X), X * 5)
    assert (f.stats.hits, g.stats.hits) == (1, 1)
    assert not caplog.records


@pytest.mark.parametrize("other", [5, lambda *_: [7, 8]], ids=["no type", "another function"])
@pytest.mark.parametrize("name", ["tuple", "isinstance", "zip", "max"])
def test_a_builtin_that_became_something_else_is_told(
    name: str, other: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def replaces(x: Array) -> Array:
        kept = vars(builtins)[name]
        vars(builtins)[name] = other
        y = x * 2
        state.append(kept)
        return y + 1

    f, g = dvm.compile(lambda x: x * 2 + 1), dvm.compile(replaces)
    state: list[Any] = []
    with monkeypatch.context() as patched:
        patched.setattr(builtins, name, other)
        with dvm.stance("force_capture"):
            made = [f(X), f(X)]
    with dvm.stance("force_capture"):
        own = g(X)
    vars(builtins)[name] = state.pop()
    assert np.array_equal([*made, own], [X * 2 + 1] * 3)
    assert (f.stats.fallbacks, f.stats.captures) == (2, 0)
    for compiled in (f, g):
        assert compiled.fallback_reasons == [f"builtins.{name} was replaced"]
    for _ in range(2):
        assert np.array_equal(f(X), X * 2 + 1)
    assert (f.stats.captures, f.stats.hits) == (1, 1)
    assert f.fallback_reasons == []
    assert not caplog.records


@pytest.mark.parametrize("name", ["mean", "var", "std", "median", "nanmean", "nanstd", "ptp"])
@pytest.mark.parametrize("row", [(), (1.0,), (1.0, 2.0), (1e308, 1e308)])
def test_numpys_warnings_of_constants_are_given_on_each_call(
    name: str, row: tuple[float, ...]
) -> None:
    function = getattr(np, name)
    plain = lambda x: function(row, ddof=1) if name in ("var", "std") else function(row)  # noqa: ARG005, E731
    compiled = dvm.compile(plain)

    def called(each: Any) -> tuple[str, list[str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                made = repr(each(1))
            except ValueError as error:
                made = str(error)
        return made, [str(warning.message) for warning in caught]

    wanted = called(plain)
    for _ in range(3):
        assert called(compiled) == wanted
