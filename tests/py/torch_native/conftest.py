"""Without torch these tests are left out (tests/py/torch_door/test_installed.py says so)."""

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

if find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Sums of torch's own are then the same in every call."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
