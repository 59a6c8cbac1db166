"""The lowering as a house of parts: each is handed what it uses, and none inherits from another."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from dvm.magpy_capture import lowering
from dvm.magpy_capture.meanings import FUNCTIONS, METHODS
from dvm.magpy_capture.part import Part

PARTS = sorted(lowering.PARTS)
FILES = sorted(Path(inspect.getfile(lowering)).parent.rglob("*.py"))


def used_by(kind: type[Part]) -> set[str]:
    """The names that the class and the functions given one ask of it."""
    tree = ast.parse(Path(inspect.getfile(kind)).read_text())
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_handed_what_it_uses_and_no_more(name: str) -> None:
    kind = lowering.PARTS[name]
    assert kind.__bases__ == (Part,)
    used = used_by(kind)
    parts = {*lowering.PARTS, "lowering"} - {name}
    assert set(lowering.NEEDS[name]) == used & parts - set(vars(kind))


def test_a_meaning_is_of_a_part_or_of_the_whole_lowering() -> None:
    meanings = {*FUNCTIONS.values(), *METHODS.values()}
    assert len(meanings) > 200
    for meaning in meanings - set(lowering.HOLDERS):
        first = next(iter(inspect.signature(meaning).parameters.values()))
        assert first.annotation == "Lowering"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_is_left_to_be_written_by_an_heir(file: Path) -> None:
    assert "NotImplementedError" not in file.read_text()
