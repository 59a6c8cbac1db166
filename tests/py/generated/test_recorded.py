"""The tracer's recordings, carried out as programs, do what the recorded calls did."""

from __future__ import annotations

import pytest

from generated.choices import seeded
from generated.compare import first_difference, run
from generated.program import generate
from generated.recorded import run_recorded


@pytest.mark.parametrize("part", range(3))
def test_a_recording_alone_does_what_the_call_did(part: int) -> None:
    whole = calls = 0
    for index in range(50):
        program = generate(seeded(("recorded", part, index)))
        plain, made = run(program, compiled=False).calls, run_recorded(program)
        for what, calls_made in (("traced", made.traced), ("rerun", made.rerun)):
            found = first_difference(program, plain, calls_made)
            assert found is None, (
                f"{what}, {part}, {index}, call {found.call}: {found.kind}\n{found.text}\n{program}"
            )
        whole += made.whole
        calls += len(plain)
    assert whole > calls / 2
