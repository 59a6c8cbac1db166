"""Without torch these tests are skipped, with one line that says so (test_installed.py)."""

from importlib.util import find_spec

import pytest

if find_spec("torch") is None:
    collect_ignore_glob = ["test_[!i]*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let torch warn of what it does itself when it traces, and take its time for that."""
    for item in items:
        if item.path.parent.name == "torch_door":
            item.add_marker(pytest.mark.filterwarnings("ignore"))
            item.add_marker(pytest.mark.timeout(600))
