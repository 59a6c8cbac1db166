"""Programs give NumPy's results whatever the layouts of their arguments."""

from __future__ import annotations

import os

import pytest

from layouts.compare import check

#: How many calls are compared in all; DVM_LAYOUTS=200000 takes a while.
CASES = int(os.environ.get("DVM_LAYOUTS", "6000"))
PARTS = 6


@pytest.mark.parametrize("part", range(PARTS))
def test_layouts(part: int) -> None:
    count = index = 0
    while count < CASES // PARTS:
        calls, found = check((part, index))
        count, index = count + calls, index + 1
        if found:
            pytest.fail(f"seed {part, index - 1}: {found}")
