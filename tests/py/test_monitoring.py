"""Capture beside other tools of sys.monitoring (PEP 669), and on several threads at once."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dvm

if sys.version_info < (3, 12):
    pytest.skip("there is no sys.monitoring before CPython 3.12", allow_module_level=True)

monitoring = sys.monitoring
EVENTS = monitoring.events


def steps(x: Any, n: int) -> Any:
    total = np.zeros_like(x)
    for i in range(n):
        total = total + x * i
        if i % 3 == 0:
            total -= 1
    return total, [float(v) for v in x if v > 1]


def fresh() -> Any:
    """The function with a code object of its own."""
    return type(steps)(steps.__code__.replace(), steps.__globals__, steps.__name__)


class Tool:
    """One that counts events of a code object by kind and place."""

    def __init__(self, number: int) -> None:
        self.number, self.seen = number, Counter[tuple[str, int]]()
        self.code: Any = None

    def of(self, code: Any, kinds: int) -> None:
        self.code = code
        for name in ("PY_START", "PY_RETURN", "LINE"):
            kind = getattr(EVENTS, name)
            if kinds & kind:
                monitoring.register_callback(self.number, kind, self.counting(name))
        monitoring.set_local_events(self.number, code, kinds)

    def counting(self, name: str) -> Any:
        def count(code: Any, place: int, *_: Any) -> None:
            if code is self.code:
                self.seen[name, place] += 1

        return count


@pytest.fixture
def tool() -> Iterator[Tool]:
    number = monitoring.COVERAGE_ID
    monitoring.use_tool_id(number, "counts")
    yield Tool(number)
    monitoring.free_tool_id(number)


@pytest.mark.parametrize("n", [4, 200])
def test_another_tool_sees_the_captured_call_as_the_plain_one(tool: Tool, n: int) -> None:
    x = np.arange(5.0)
    plain, captured = fresh(), fresh()
    tool.of(plain.__code__, EVENTS.PY_START | EVENTS.PY_RETURN)
    plain(x, n)
    of_plain, tool.seen = tool.seen, Counter()
    tool.of(captured.__code__, EVENTS.PY_START | EVENTS.PY_RETURN)
    compiled = dvm.compile(captured)
    compiled(x, n)
    assert compiled.stats.captures == 1
    assert tool.seen == of_plain


@pytest.mark.parametrize("everywhere", [False, True])
def test_who_reads_lines_sees_all_of_them(tool: Tool, everywhere: bool) -> None:
    x = np.arange(5.0)
    plain, function = fresh(), fresh()
    compiled = dvm.compile(function)
    for _ in range(3):
        compiled(x, 20)
    assert compiled.stats.hits == 2
    tool.of(plain.__code__, EVENTS.LINE)
    if everywhere:
        monitoring.set_events(tool.number, EVENTS.LINE)
    plain(x, 20)
    of_plain, tool.seen = tool.seen, Counter()
    tool.of(function.__code__, EVENTS.LINE)
    compiled(x, 20)
    assert compiled.stats.eager == 1
    assert tool.seen == of_plain
    monitoring.set_events(tool.number, 0)
    monitoring.set_local_events(tool.number, function.__code__, 0)
    compiled(x, 20)
    assert compiled.stats.hits == 3


def test_nothing_is_left_behind() -> None:
    function = fresh()
    compiled = dvm.compile(function)
    compiled(np.arange(5.0), 200)
    assert compiled.stats.captures == 1
    for number in range(6):
        assert monitoring.get_tool(number) is None
        monitoring.use_tool_id(number, "asks")
        assert monitoring.get_local_events(number, function.__code__) == 0
        monitoring.free_tool_id(number)


def test_two_threads_capture_the_same_code() -> None:
    x = np.arange(5.0)
    for n in (3, 150, 400):
        wanted = steps(x, n)
        function = fresh()
        compiled = [dvm.compile(function) for _ in range(4)]
        found: list[Any] = []
        gate = threading.Barrier(len(compiled))

        def run(each: Any, n: int = n, found: Any = found, gate: Any = gate) -> None:
            gate.wait()
            for _ in range(3):
                found.append(each(x, n))

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            threads = [threading.Thread(target=run, args=(each,)) for each in compiled]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(interval)
        assert len(found) == 12
        for total, kept in found:
            np.testing.assert_array_equal(total, wanted[0])
            assert kept == wanted[1]


def test_without_a_free_tool_functions_run_uncompiled(run_python: Any) -> None:
    printed = run_python(
        "import sys, warnings\n"
        "import numpy as np, dvm\n"
        "warnings.simplefilter('ignore')\n"
        "for number in range(6): sys.monitoring.use_tool_id(number, 'other')\n"
        "dvm.set_stance('force_capture')\n"
        "f = dvm.compile(eval('lambda x: x + 1'))\n"
        "print(f(np.ones(2)), f(np.ones(2)), f.stats.captures)\n"
        "print(f.fallback_reasons[0])\n"
    )
    values, reason = printed.splitlines()
    assert values == "[2. 2.] [2. 2.] 0"
    assert "all tools of sys.monitoring are in use" in reason


def test_threads_that_begin_at_once_share_a_tool(run_python: Any) -> None:
    """An audit hook of the program's is told of each callback: others run while a tool is taken."""
    printed = run_python(
        "import sys, threading, time, warnings\n"
        "import numpy as np, dvm\n"
        "warnings.simplefilter('error')\n"
        "sys.unraisablehook = lambda raised: print(raised.exc_value)\n"
        "f = dvm.compile(eval('lambda x: x + 1'))\n"
        "f(np.ones(2))\n"
        "asked = 'sys.monitoring.register_callback'\n"
        "sys.addaudithook(lambda event, _: event == asked and time.sleep(0.001))\n"
        "dvm.set_stance('force_capture')\n"
        "made = []\n"
        "def work(k):\n"
        "    for n in range(20):\n"
        "        time.sleep(0.001 * ((k + n) % 5))\n"
        "        g = dvm.compile(eval('lambda x: x * 2'))\n"
        "        g(np.ones(3)), g(np.ones(3))\n"
        "        made.append(g.stats.captures)\n"
        "threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]\n"
        "for each in threads: each.start()\n"
        "for each in threads: each.join()\n"
        "print(len(made), set(made))\n"
        "print([sys.monitoring.get_tool(number) for number in range(6)])\n"
    )
    assert printed.splitlines() == ["80 {1}", str([None] * 6)]
