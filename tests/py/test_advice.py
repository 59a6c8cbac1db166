"""Advice: one list of reasons, each of which a program meets, and none of which goes without."""

from __future__ import annotations

import ast
import contextlib
import copy
import fractions
import functools
import io
import re
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm, reasons
from dvm.reasons import Reason

Array = np.ndarray[Any, Any]
X = np.arange(6, dtype=np.float64).reshape(2, 3)
MEMORY = np.ones((2, 3))
ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python/dvm"


class Tagged(np.ndarray):
    def __array_finalize__(self, other: Any) -> None:
        self.tag = str(type(other))


class Items:
    """Iterable by the protocol of sequences alone."""

    def __getitem__(self, index: int) -> int:
        if index > 2:
            raise IndexError
        return index


class Odd:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 2

    def __index__(self) -> int:
        return 1


def shares(x: Array, y: Array) -> Array:
    x += 1
    return y * 2


def annotated(x: Array) -> Array:
    return x


dvm.annotate(annotated, never=True)


def raises(x: Array) -> Array:
    try:
        return x + next(iter(()))
    except StopIteration:
        return x


def inner(x: Array) -> Any:
    return lambda y: x + y


def ranks(parts: Any) -> Any:
    ranked = sorted(parts, key=np.sum)
    parts[0] += 1
    return ranked


class Whole(int):
    pass


@functools.cache
def cached() -> int:
    annotated.calls = 1  # type: ignore[attr-defined]
    return 1


class Ending:
    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        raise StopIteration(5)


def passing_on(parts: Any) -> Iterator[Any]:
    yield (yield from parts)


def defines(x: Array) -> Array:
    class Local:
        power = abs(-2)

    return x**Local.power


def lets_out(x: Array) -> Any:
    class Local:
        pass

    return Local(), x + 1


def sets(x: Array) -> Array:
    np.odd = x  # type: ignore[attr-defined]
    return x + 1


def sets_and_fetches(x: Array) -> Array:
    x += 1
    return x.copy


def generates(x: Array) -> Iterator[Array]:
    yield x


def lives(x: Array) -> Any:
    import sys

    return sys.getrefcount(x)


#: code of a reason -> a program that meets it: function and arguments
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "shared-memory-written": (shares, (MEMORY, MEMORY[::-1])),
    "iterator-ends-with-value": (lambda x: [x + k for k in passing_on(Ending())], (X,)),
    "c-code-calls": (lambda x: (list(map(eval, ["1"])), x + 1), (X,)),
    "first-call-caches-result": (lambda x: cached() + x, (X,)),
    "array-changed-after-c-code": (lambda x: ranks([x, x + 1]), (X,)),
    "annotated-never": (lambda x: annotated(x), (X,)),
    "call": (lambda x: eval("3") * x, (X,)),
    "reads-what-it-writes": (lambda x: np.putmask(x, x > 0, x[::-1]), (X,)),
    "function-arguments": (lambda x: copy.deepcopy(x, {}), (X,)),
    "check-behind-effect": (sets_and_fetches, (X,)),
    "array-attribute": (lambda x: x.ctypes, (X,)),
    "array-method": (lambda x: x.__iadd__(1), (X,)),
    "order-set": (lambda names: list(names), ({"b", "a"},)),
    "operator": (lambda x, y: x + y, (X, X.view(Tagged))),
    "random-function": (lambda rng: rng.spawn(1), (np.random.default_rng(0),)),
    "identity-number": (lambda x: id(x.sum()), (X,)),
    "ndenumerate": (lambda x: list(np.ndenumerate([1, x])), (2,)),
    "formatting": (lambda odd: f"{odd}", (Odd(),)),
    "filter-warnings-outlives-function": (lambda x: (warnings.simplefilter("ignore"), x + 1), (X,)),
    "exception-raised": (raises, (X,)),
    "making-object-type": (lambda x: (Whole(), x + 1), (X,)),
    "setting-attribute": (sets, (X,)),
    "attribute-of": (lambda x, odd: odd.nbytes + x, (X, memoryview(b"a"))),
    "iteration-over": (lambda x, items: [x + i for i in items], (X, Items())),
    "indexing": (lambda x, odd: x[odd], (X, Odd())),
    "needs-constant": (lambda x: [x].count(x), (X,)),
    "class-definition": (defines, (X,)),
    "local-class-leaves": (lets_out, (X,)),
    "leaves-function": (inner, (X,)),
    "array-holds-objects-path-made": (lambda x: np.array([x, None], object), (X,)),
    "dict-key-type": (lambda d: d, ({fractions.Fraction(1, 2): X},)),
    "function-of": (lambda x: x.view(Tagged), (X,)),
    "lifetime-looked-at": (lives, (X,)),
    "generator-function": (generates, (X,)),
}


def reasons_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> list[Reason]:
    compiled = dvm.compile(function)
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        compiled(*arguments)
    return told(compiled)


def told(compiled: Any) -> list[Reason]:
    """The reasons without their places."""
    paths = [path["reason"] for path in _dvm.paths(compiled)]
    return [reason for reason in [_dvm.refusal(compiled), *paths, _dvm.limit(compiled)] if reason]


@pytest.mark.parametrize("code", PROGRAMS)
def test_a_program_meets_the_reason(code: str) -> None:
    reason = reasons_of(*PROGRAMS[code])[0]
    assert reason.code == code
    assert reason.advice == reasons.TABLE[code].advice


def test_the_limit_of_paths_has_its_advice() -> None:
    f = dvm.compile(lambda x, kind: x + len(kind.__name__))
    kinds = [type(f"Kind{n}", (), {}) for n in range(65)]
    for kind in kinds[:-1]:
        f(X, kind)
    with pytest.warns(RuntimeWarning, match="limit of 64 paths; calls that match none"):
        f(X, kinds[-1])
    assert told(f)[-1].code == "path-limit"
    assert f.fallback_reasons[-1] == str(told(f)[-1])
    assert len(f.why_recompiled()) == 63


def refusals(file: Path) -> Iterator[tuple[int, str]]:
    """What each refusal of the lowering names, with its line."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "refuse":
            yield node.lineno, ast.unparse(node.args[0])


def test_each_refusal_names_a_row_and_each_row_is_named() -> None:
    named, met = set(), 0
    for file in (PACKAGE / "magpy_capture").rglob("*.py"):
        for line, row in refusals(file):
            met += 1
            assert row.startswith("reasons."), f"{file.name}:{line}: {row}"
        named |= set(re.findall(r"reasons\.([A-Z][A-Z0-9_]+)\b", file.read_text("utf-8")))
    named |= set(
        re.findall(r"reasons\.([A-Z][A-Z0-9_]+)\b", (PACKAGE / "compiling.py").read_text("utf-8"))
    )
    native = {*(ROOT / "cpp/capture").rglob("*"), *(ROOT / "cpp/bindings").glob("*")}
    text = "".join(file.read_text("utf-8") for file in native if file.is_file())
    codes = {name.lower().replace("_", "-") for name in named}
    codes |= {code for code in reasons.TABLE if re.search(rf'"{code}(\\n|")', text)}
    assert codes == reasons.TABLE.keys()
    assert met > 300


def test_no_two_rows_have_one_name() -> None:
    tree = ast.parse((PACKAGE / "reasons.py").read_text())
    names = [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    assert sorted(names) == sorted(set(names))


def test_a_reason_is_a_text_with_its_code() -> None:
    reason = reasons.told("exception-raised\nKeyError")
    assert reason == "an exception was raised (KeyError)"
    assert reason.code == "exception-raised"
    assert type(copy.copy(reason)) is str
    assert len({row.text for row in reasons.TABLE.values()}) >= len(reasons.TABLE) - 1


def test_no_reason_of_the_semantic_cases_goes_without() -> None:
    """The cases are hundreds of small programs, so what occurs often occurs there."""
    import semantics.test_semantics  # noqa: F401  registers the cases
    from semantics.world import CASES, World

    found: dict[Reason, str] = {}

    def compile(function: Any) -> Any:
        made = dvm.compile(function) if isinstance(function, types.FunctionType) else function
        if made is not function:
            compiled.append(made)
        return made

    for name, case in CASES.items():
        compiled: list[Any] = []
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case(World(compile))
        for each in compiled:
            found |= dict.fromkeys(told(each), name)
    assert len(found) > 100
    silent = {r: n for r, n in found.items() if r.advice is reasons.STRAIGHT}
    assert len(silent) <= len(found) // 20, silent  # a new one may be rare
