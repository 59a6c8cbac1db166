"""Compiled or not, a program does the same: values, effects, errors, warnings, identities."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import dvm
from semantics import world
from semantics.known import KNOWN

for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
    if not path.stem.startswith("test_") and path.stem not in ("world", "known"):
        importlib.import_module(f"semantics.{path.stem}")


@pytest.mark.parametrize("name", world.CASES)
def test_a_compiled_program_behaves_as_the_plain_one(name: str) -> None:
    found = world.compare(world.CASES[name], dvm.compile)
    if name in KNOWN:
        assert found, f"{name} is right now: take it out of KNOWN"
    else:
        assert not found, found


def test_what_is_known_to_differ_is_a_case() -> None:
    assert set(KNOWN) <= set(world.CASES)
