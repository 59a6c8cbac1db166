"""What stands with an uncompilable statement in a loop, a `with` or a branch is compiled."""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
import types
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import splitting


def logged(x, n, path):
    with open(path, "wb") as file:
        for i in range(n):
            x = np.tanh(x * 0.5) + i
            y = (x - x.mean()) / (x.std() + 1)
            file.write(f"{i} {np.abs(y).sum():.6f}\n".encode())
            if i % 2:  # noqa: SIM108
                x = y * 2 + x
            else:
                x = x * np.abs(y)
    return x * 2


def with_pieces_moved(f: Any, line: int) -> tuple[Any, int]:
    """The function with all but a line moved out, uncompiled, and how many pieces that are."""
    flow = splitting.Flow(f.__code__)
    pieces = splitting.pieces_within(flow, [line])
    moved = [(piece, splitting.piece_function(f, flow, piece)) for piece in pieces]
    return splitting.with_calls(f, flow, moved)[0], len(pieces)


def test_a_loop_that_writes_a_file_runs_compiled_statements(tmp_path: Path) -> None:
    f = dvm.compile(logged)
    for n in (6, 3, 0, 7):
        x = np.linspace(-1, 1, 10 + n)
        assert np.allclose(f(x, n, tmp_path / "mine"), logged(x, n, tmp_path / "its"), rtol=1e-12)
        assert (tmp_path / "mine").read_text() == (tmp_path / "its").read_text()
    assert (f.stats.fallbacks, f.stats.splits) == (1, 3)
    held, *moved = f.parts
    assert isinstance(held, types.FunctionType)
    before, behind, last = moved
    assert (before.stats.hits, before.stats.captures, before.stats.fallbacks) == (6, 1, 0)
    assert behind.stats.hits + behind.stats.captures == 7
    assert last.stats.hits == 2
    text = str(dvm.explain(f)(x, 3, tmp_path / "mine"))
    first = logged.__code__.co_firstlineno
    assert f"part lines {first + 3} to {first + 4}: compiled, " in text
    # Since 3.12 the compiler has a copy of the `return` for what `with` may have swallowed.
    last = first + (10 if sys.version_info >= (3, 12) else 9)
    assert f"part lines {first + 1} to {last}: runs as it is but for parts within" in text


def test_it_is_not_known_how_far_a_loop_goes_that_reads_lines() -> None:
    def f(file, w):
        total = np.zeros(3)
        count = 0
        while line := file.readline():
            row = np.array([float(each) for each in line.split()])
            if row[0] < 0:
                continue
            if row[0] > 90:
                break
            total = total + row * w
            count += 1
        else:
            count = -count
        return total / max(count, 1), count

    compiled = dvm.compile(f)
    for lines in (["1 2 3", "-1 2 3", "4 5 6"], ["1 2 3", "99 1 1", "7 8 9"], [], ["-1 0 0"]):
        text = "\n".join(lines) + "\n" if lines else ""
        got, wanted = compiled(io.StringIO(text), 0.5), f(io.StringIO(text), 0.5)
        assert np.array_equal(got[0], wanted[0])
        assert got[1] == wanted[1]


def test_a_traceback_has_one_frame_of_the_function() -> None:
    def f(x, n):
        for i in range(n):
            zlib.crc32(b"")
            y = x * 2
            x = y + x[i]
        return x

    compiled = dvm.compile(f)
    for n in (2, 2, 2):
        compiled(np.ones(2), n)
    assert compiled.parts
    for n in (3, 3):
        with pytest.raises(IndexError) as info:
            compiled(np.ones(2), n)
        frames = traceback.extract_tb(info.value.__traceback__)[1:]
        line = f.__code__.co_firstlineno + 4
        assert [(each.name, each.lineno) for each in frames] == [("f", line)]


def test_what_a_handler_reads_is_set_before_it_runs() -> None:
    def f(x):
        steps = []
        for i in (1, 0, 2):
            stage = "begin"
            try:
                stage = f"divide {x // 1}"
                y = x // i + x * 2
                stage = "code"
                zlib.crc32(bytes(y))
            except ZeroDivisionError as error:
                steps.append((stage, str(error)))
                continue
            finally:
                steps.append((i, stage))
            with contextlib.suppress(IndexError):
                z = steps[0][0] + y
                steps.append(steps[z + 5] or y * 3)
        return steps

    for line in sorted(splitting.own_lines(f.__code__)):
        g, _ = with_pieces_moved(f, line)
        for x in (0, 1, 5):
            assert g(x) == f(x)


def test_comprehensions_are_moved_with_their_variables() -> None:
    def f(x):
        i, rows = 7, []
        for n in range(x):
            a = [i * n + n * n for i in range(n)]
            b = {i: [n + i * j for j in range(i)] for i in a if i * n > 1}
            zlib.crc32(b"")
            try:
                c = [n * 2 // (i - 1) + n for i in range(x)]
            except ZeroDivisionError:
                c = [i * 2 + n * i for _ in a]
            last = [(found := i * j + n) for j in range(3)]
            rows.append((i, a, b, c, last, found))
            i = i * 2 + n
        return rows, i

    moved = 0
    for line in sorted(splitting.own_lines(f.__code__)):
        g, count = with_pieces_moved(f, line)
        moved += count
        for x in range(5):
            assert g(x) == f(x)
    # Before 3.12 they are functions, and share variables with that.
    assert moved >= 30 or sys.version_info < (3, 12)


def test_a_long_function_is_moved_with_long_jumps() -> None:
    body = "\n".join(f"        a{k} = x * {k} + a{k - 1 if k else 0}" for k in range(300))
    last = "\n".join(f"        if a{k} > {k}: x = a{k} * 2 % 7 + x" for k in range(300))
    names = " = ".join(f"a{k}" for k in range(300))
    head = f"def f(x, stop):\n    {names} = 1\n    for i in range(3):\n"
    scope: dict[str, Any] = {}
    exec(f"{head}{body}\n        stop(i)\n{last}\n    return x, a299\n", scope)
    f: Callable[..., Any] = scope["f"]
    g, count = with_pieces_moved(f, f.__code__.co_firstlineno + 303)
    assert count >= 2
    seen: list[int] = []
    assert g(3, seen.append) == f(3, lambda _: None)
    assert seen == [0, 1, 2]


def test_functions_that_share_variables_or_wait_are_left_whole() -> None:
    def shares(x):
        total = 0

        def add(y):
            nonlocal total
            total += y

        for i in range(x):
            add(i * 2 + total)
            zlib.crc32(b"")
            total = total * 3 - i
        return total

    def waits(x):
        for i in range(x):
            x = x * 2 + i
            yield x

    flow = splitting.Flow(shares.__code__)
    line = shares.__code__.co_firstlineno + 9
    for piece in splitting.pieces_within(flow, [line]):
        assert piece.goes_on >= piece.end
        assert "total" not in (*piece.takes, *piece.gives)
    flow = splitting.Flow(waits.__code__)
    assert splitting.pieces_within(flow, [waits.__code__.co_firstlineno + 3]) == []


def test_what_takes_less_than_a_call_moves_back() -> None:
    def f(x, n):
        total, code = 0, 0
        for i in range(n):
            total = total + i * 3 - (i & 1)
            code = zlib.crc32(b"abc", code)
            x = np.sqrt(x * x + 1) - x
        return x, total, code

    compiled = dvm.compile(f)
    for n in (4, 5, 3, 6):
        for got, wanted in zip(compiled(np.ones(3), n), f(np.ones(3), n), strict=True):
            assert np.array_equal(got, wanted)
    held, *moved = compiled.parts or ()
    assert isinstance(held, types.FunctionType)
    assert len(moved) == 1
    assert moved[0].stats.hits > 5

    def g(n):
        total, code = 0, 0
        for i in range(n):
            total = total + i * 3 - (i & 1)
            code = zlib.crc32(b"abc", code)
        return total, code

    plain = dvm.compile(g)
    for n in (4, 5, 3):
        assert plain(n) == g(n)
    assert plain.parts is None
    assert (plain.stats.splits, plain.stats.fallbacks) == (1, 2)


def test_a_statement_that_takes_a_path_for_each_value_moves_back() -> None:
    kinds = [type(f"Kind{n}", (), {}) for n in range(70)]

    def f(x, kinds):
        code = 0
        for kind in kinds:
            code = zlib.crc32(b"abc", code)
            x = np.sqrt(x * x + len(kind.__name__)) - x
        return x, code

    compiled = dvm.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            got, wanted = compiled(np.ones(3), kinds), f(np.ones(3), kinds)
            assert np.allclose(got[0], wanted[0])
            assert got[1] == wanted[1]
    assert compiled.parts is None
