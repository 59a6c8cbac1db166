"""What every Python test shares: reproducible property tests and a fresh interpreter."""

import gc
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import dvm

# A shell's background jobs ignore interrupts, which tests send.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Every Program that any test makes is verified, in processes that tests start, too.
os.environ["DVM_VERIFY"] = "1"

# A shared machine has no steady clock, so a slow example is no failure. CI draws the same examples
# every time; at a desk new ones are welcome, and a failing one is kept in .hypothesis.
settings.register_profile("desk", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


def pytest_collection_finish() -> None:
    """What modules hold stays: a collection that looks at all of PyTorch takes half a second."""
    gc.collect()
    gc.freeze()
    # pytest listens to all loggers that nobody else hears of; for this one torch then formats every
    # graph, guard and stack, which takes a sixth of the time of what is compiled.
    logging.getLogger("torch.__trace").propagate = True


# Of captures alone: folders, and files some of whose tests look no further than at bytecode.
OF_CAPTURE = {
    *("generated", "lifetimes", "loops", "programs", "rebinding", "recursion", "semantics"),
    *("test_advice.py", "test_numpy_suite.py", "test_outlining.py", "test_saving.py"),
    *("test_splitting.py", "torch_native"),
}
# It compares with the reference tracer, which reads instructions as CPython 3.11 has them.
OF_REFERENCE = "test_settrace.py"
NO_CAPTURE = "functions are captured on CPython 3.11, 3.13 and 3.14 alone"
NO_REFERENCE = "the reference tracer reads functions of CPython 3.11 alone"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what this Python has not: captures, or the reference tracer."""
    for item in items:
        names = item.path.relative_to(Path(__file__).parent).parts
        captures = OF_CAPTURE.intersection(names) or item.get_closest_marker("captures")
        if captures and not dvm._dvm.can_capture:
            item.add_marker(pytest.mark.skip(reason=NO_CAPTURE))
        elif OF_REFERENCE in names and sys.version_info >= (3, 12):
            item.add_marker(pytest.mark.skip(reason=NO_REFERENCE))


def _skip_where_refused(report: pytest.CollectReport | pytest.TestReport) -> None:
    """Count as skipped what has found that out by itself, as most other tests of captures do."""
    if not report.failed or dvm._dvm.can_capture:
        return
    if "DVM-C004" in report.longreprtext + report.capstderr:
        report.outcome, report.longrepr = "skipped", (report.nodeid, 0, f"Skipped: {NO_CAPTURE}")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _skip_where_refused(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _skip_where_refused(report)
    return report


@pytest.fixture(autouse=True)
def _captures_at_any_cost() -> Iterator[None]:
    """Capture whatever that costs: what a test sees must not follow the machine's speed."""
    dvm.set_stance("force_capture")
    yield
    dvm.set_stance("default")


@pytest.fixture
def captures_at_its_cost(_captures_at_any_cost: None) -> None:
    """Capture as users have it: not where that would cost more than it may."""
    dvm.set_stance("default")


@pytest.fixture
def run_python() -> Callable[[str], str]:
    """Return a function that runs source text in a fresh interpreter and returns what it printed.

    The new process sees the package under test alone, installed or not (-I: no PYTHONPATH, no
    current folder); it raises CalledProcessError when the text fails.
    """
    home = str(Path(dvm.__file__).resolve().parents[1])

    def run(source: str) -> str:
        found = f"import sys\nsys.path.insert(0, {home!r})\n"
        command = [sys.executable, "-I", "-c", found + source]
        return subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, timeout=60
        ).stdout

    return run


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite what the files of tests/ir expect"
    )


@pytest.fixture
def run_module() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs `python -m dvm ARGUMENTS` and returns the finished process."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-m", "dvm", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    return run


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return a driver of the distribution's Chromium."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("there is no Chromium")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--window-size=1280,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield made
    made.quit()
