"""Compiled or not, a program does the same: values, effects, errors, warnings, identities."""

from __future__ import annotations

import faulthandler
import importlib
import os
from pathlib import Path

import pytest

import dvm
from semantics import world
from semantics.known import KNOWN

for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
    if not path.stem.startswith("test_") and path.stem not in ("world", "known"):
        importlib.import_module(f"semantics.{path.stem}")


def is_right_in_a_child(name: str) -> bool:
    """Run a case in a process of its own, for what is wrong may be a crash."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        wrong: object = True
        try:
            wrong = world.compare(world.CASES[name], dvm.compile)
        finally:
            os._exit(bool(wrong))
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("name", world.CASES)
def test_a_compiled_program_behaves_as_the_plain_one(name: str) -> None:
    if name in KNOWN:
        assert not is_right_in_a_child(name), f"{name} is right now: take it out of KNOWN"
    else:
        found = world.compare(world.CASES[name], dvm.compile)
        assert not found, found


def test_what_is_known_to_differ_is_a_case() -> None:
    assert set(KNOWN) <= set(world.CASES)
