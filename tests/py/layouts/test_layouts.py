"""Programs give NumPy's results whatever the layouts of their arguments."""

from __future__ import annotations

import pytest

from layouts.compare import check
from whole import how_many

#: how many calls are compared in all
CASES = how_many(3000, 60000)
PARTS = 6


@pytest.mark.parametrize("part", range(PARTS))
def test_layouts(part: int) -> None:
    count = index = 0
    while count < CASES // PARTS:
        calls, found = check((part, index))
        count, index = count + calls, index + 1
        if found:
            pytest.fail(f"seed {part, index - 1}: {found}")
