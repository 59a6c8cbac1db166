"""NumPy's own tests as a stranger's programs: each body compiled has the outcome it has plain.

The test functions of the modules below, as the wheel ships them, that take no fixtures
(parametrized ones are expanded), run twice plain and twice through one `dvm.compile`: the first
call captures, the second may replay. Compared are the exception, its message and its lines in the
test, and the warnings. By itself this file prints what was captured, and why the rest was not:

    python tests/py/test_numpy_suite.py [--write FILE] [--only SUBSTRING]

A child process runs the bodies; if one kills it, the next child goes on behind that body.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import faulthandler
import importlib
import inspect
import io
import itertools
import json
import linecache
import os
import re
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MODULES = ("numpy._core.tests.test_ufunc", "numpy.lib.tests.test_function_base")
#: Of processor time, of one call. Only a body that hangs takes as long, on the slowest machine.
SECONDS = 60.0
#: A body that takes longer, called twice plain, is left out.
SLOW = 2.5
#: Without fallback, of all bodies; raise it as capture learns.
LEAST_SHARE = 0.65
#: Bodies whose outcome is known to differ, with the reason; take out what is mended.
KNOWN: tuple[str, ...] = ()  # outcomes that differ from the plain function's


@dataclass(frozen=True)
class Case:
    """One body: the function, its class if it is a method, its parameters."""

    name: str
    function: Callable[..., Any]
    owner: type | None
    parameters: dict[str, Any]

    def call(self, function: Callable[..., Any]) -> Any:
        if self.owner is None:
            return function(**self.parameters)
        instance = self.owner()
        if hasattr(instance, "setup_method"):
            instance.setup_method()
        return function(instance, **self.parameters)


def cases() -> list[Case]:
    found: list[Case] = []
    for name in MODULES:
        module = importlib.import_module(name)
        for key, value in vars(module).items():
            if key.startswith("test") and inspect.isfunction(value):
                found += expanded(value, None, [])
            elif key.startswith("Test") and inspect.isclass(value):
                marks = getattr(value, "pytestmark", [])
                for method, function in inspect.getmembers(value, inspect.isfunction):
                    if method.startswith("test"):
                        found += expanded(function, value, marks)
    return found


def expanded(function: Callable[..., Any], owner: type | None, marks: list[Any]) -> Iterator[Case]:
    """Yield a case for every combination of parameters; none if there are fixtures or a skip."""
    marks = [*getattr(function, "pytestmark", []), *marks]
    if any(m.name == "skipif" and m.args[0] for m in marks) or hasattr(function, "hypothesis"):
        return
    choices: list[list[dict[str, Any]]] = []
    for mark in (m for m in marks if m.name == "parametrize"):
        given = dict(zip(("argnames", "argvalues"), mark.args, strict=False)) | mark.kwargs
        names, values = given["argnames"], given["argvalues"]
        if isinstance(names, str):
            names = [n.strip() for n in names.split(",")]
        rows = []
        for value in values:
            if hasattr(value, "marks"):  # pytest.param
                row = value.values
            else:
                row = (value,) if len(names) == 1 else value
            rows.append(dict(zip(names, row, strict=True)))
        choices.append(rows)
    taken = {name for rows in choices for row in rows for name in row} | {"self"}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in taken and parameter.default is parameter.empty:
            return
    base = f"{function.__module__.rsplit('.', 1)[1]}::{function.__qualname__}"
    for i, combination in enumerate(itertools.product(*choices)):
        parameters = {k: v for row in combination for k, v in row.items()}
        yield Case(f"{base}[{i}]" if parameters else base, function, owner, parameters)


class OutOfTimeError(BaseException):
    """A body ran longer than SECONDS; no `except Exception` of the body may catch it."""


def outcome(call: Callable[[], Any], file: str) -> str:
    """Return what a call did, as text that is the same for the same behaviour."""

    def expire(*_: object) -> None:
        raise OutOfTimeError

    np.random.seed(0)
    signal.signal(signal.SIGPROF, expire)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    with (
        warnings.catch_warnings(record=True) as warned,
        np.errstate(),
        np.printoptions(),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("always")
        try:
            call()
            text = "passed"
        except OutOfTimeError:
            text = "out of time"
        except BaseException as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == file]
            text = f"{type(error).__name__}: {error} (lines {lines})"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    # Bugs that dvm reports can be left aside by DVM_IGNORE=internal, to see the silent ones.
    ignored = "DVM-X" if os.environ.get("DVM_IGNORE") == "internal" else "\n\n"
    said = [f"\n{w.category.__name__}: {w.message}" for w in warned]
    text += "".join(line for line in said if ignored not in line)
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def one_case(case: Case) -> dict[str, Any]:
    """Run a body plain and compiled; return what differed and why it was not captured."""
    import dvm

    file = inspect.getsourcefile(case.function) or ""
    row: dict[str, Any] = {"name": case.name}
    started = time.perf_counter()
    plain = [outcome(lambda: case.call(case.function), file) for _ in range(2)]
    row["plain seconds"] = time.perf_counter() - started
    if row["plain seconds"] > SLOW:
        return row | {"skipped": "slow"}
    started = time.perf_counter()
    dvm.set_stance("force_capture")
    compiled = dvm.compile(case.function)
    made = [outcome(lambda: case.call(compiled), file) for _ in range(2)]
    row["seconds"] = time.perf_counter() - started
    stats = compiled.stats
    row["reasons"] = [reason(r) for r in compiled.fallback_reasons]
    row["captured"] = stats.hits > 0 and not row["reasons"] and not stats.drops
    if not row["captured"] and not row["reasons"]:
        row["reasons"] = [
            [
                f"no reason: hits {stats.hits}, misses {stats.misses}, captures {stats.captures}, "
                f"drops {stats.drops}",
                "",
            ]
        ]
    # A test may run once only, for example because it fills a cache: either plain outcome will do.
    differing = [(p, m) for p, m in zip(plain, made, strict=True) if m != p and m not in plain]
    if differing:
        row["differs"] = differing
    return row


def reason(text: str) -> list[str]:
    """Return a reason, without what makes equal reasons unequal, and its place."""
    place = re.match(r"^(\S*:\d+): ", text)
    text = text[place.end() :] if place else text
    text = re.sub(r"lowering \S+:", "lowering ...:", re.sub(r"0x[0-9a-f]+", "0x", text))
    return [text, place[1].rpartition("/")[2] if place else ""]


def child(begin: int, only: str) -> None:
    """Run the cases from `begin` on; print a line of JSON before and after each."""
    faulthandler.enable()
    warnings.simplefilter("ignore")
    out = sys.stdout
    for index, case in enumerate(cases()):
        if index < begin or only not in case.name:
            continue
        print(json.dumps({"begin": index, "name": case.name}), file=out, flush=True)
        print(json.dumps(one_case(case)), file=out, flush=True)
        linecache.clearcache()


def run_suite(only: str = "") -> list[dict[str, Any]]:
    """Return a row for each case; a case that killed its process has "differs"."""
    rows: list[dict[str, Any]] = []
    begin = 0
    while True:
        command = [sys.executable, __file__, "--child", str(begin), "--only", only]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        current: dict[str, Any] = {}
        for line in done.stdout.splitlines():
            row = json.loads(line)
            if "begin" in row:
                current = row
            else:
                rows.append(row)
        if done.returncode == 0:
            return rows
        if not current:
            raise RuntimeError(done.stderr)
        crash = f"killed the process ({done.returncode})\n{done.stderr[-2000:]}"
        rows.append({"name": current["name"], "differs": [["", crash]], "captured": False})
        begin = current["begin"] + 1


def report(rows: list[dict[str, Any]]) -> str:
    """Return the shares, the differences, and the reasons of fallback, most frequent first."""
    ran = [row for row in rows if "skipped" not in row]
    captured = sum(row["captured"] for row in ran)
    reasons: dict[str, list[tuple[str, str]]] = collections.defaultdict(list)
    for row in ran:
        if not row["captured"]:
            for text, place in dict(row.get("reasons", [["a crash", ""]])).items():
                reasons[text].append((place, row["name"]))
    functions: dict[str, bool] = {}
    for row in ran:
        name = row["name"].partition("[")[0]
        functions[name] = functions.get(name, True) and row["captured"]
    lines = [
        f"bodies {len(ran)} (left out as slow: {len(rows) - len(ran)}), captured without fallback "
        f"{captured} ({captured / max(len(ran), 1):.1%})",
        f"test functions {len(functions)}, captured without fallback {sum(functions.values())} "
        f"({sum(functions.values()) / max(len(functions), 1):.1%})",
        f"seconds plain {sum(row.get('plain seconds', 0) for row in ran):.1f}, "
        f"compiled {sum(row.get('seconds', 0) for row in ran):.1f}",
        f"different outcomes {sum('differs' in row for row in ran)}",
        "",
        "| bodies | reason | most often at | for example |",
        "|---|---|---|---|",
    ]
    for text, examples in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
        place, _ = collections.Counter(at for at, _ in examples).most_common(1)[0]
        lines.append(f"| {len(examples)} | {text[:110]} | {place} | {examples[0][1]} |")
    for row in ran:
        for plain, made in row.get("differs", []):
            lines += ["", f"## {row['name']}", "plain:", plain[:600], "compiled:", made[:600]]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return run_suite()


@pytest.mark.timeout(900)
def test_every_outcome_is_that_of_the_plain_function(rows: list[dict[str, Any]]) -> None:
    assert len(rows) > 500
    differing = [row for row in rows if "differs" in row]
    assert {row["name"] for row in differing} == set(KNOWN), report(differing)


@pytest.mark.timeout(900)
def test_most_are_captured(rows: list[dict[str, Any]]) -> None:
    text = report(rows)
    print(text)
    ran = [row for row in rows if "skipped" not in row]
    assert sum(row["captured"] for row in ran) >= LEAST_SHARE * len(ran), text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", metavar="FILE", help="also write the report there")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        child(options.child, options.only)
        return
    text = report(run_suite(options.only))
    print(text)
    if options.write:
        Path(options.write).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
