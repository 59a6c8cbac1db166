"""Compiled or not, a program does the same: values, effects, errors, warnings, identities."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import dvm
from semantics import world

for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
    if not path.stem.startswith("test_") and path.stem != "world":
        importlib.import_module(f"semantics.{path.stem}")


@pytest.mark.parametrize("name", world.CASES)
def test_a_compiled_program_behaves_as_the_plain_one(name: str) -> None:
    found = world.compare(world.CASES[name], dvm.compile)
    assert not found, found
