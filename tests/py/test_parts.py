"""The lowering as a house of parts: each is handed what it uses, and none inherits from another."""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import itertools
from pathlib import Path
from typing import Any

import pytest

from dvm.magpy_capture import lowering
from dvm.magpy_capture.libraries import LIBRARIES
from dvm.magpy_capture.library import Library
from dvm.magpy_capture.part import Part
from dvm.magpy_capture.registry import FUNCTIONS, METHODS


def stored_by(function: Any) -> set[str]:
    """The attributes of the first argument that a function sets, but for its properties."""
    if function is None:
        return set()
    steps = list(dis.get_instructions(function))
    return {
        step.argval
        for before, step in itertools.pairwise(steps)
        if step.opname == "STORE_ATTR" and before.opname == "LOAD_FAST" and before.argval == "self"
    }


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
    layer, *interfaces = kind.__bases__
    assert layer in lowering.LAYERS
    assert all(getattr(interface, "_is_protocol", False) for interface in interfaces)
    assert set(lowering.NEEDS[name]) == used_by(kind) & set(lowering.NAMED) - set(vars(kind))


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_named_once_and_never_asks_for_itself(name: str) -> None:
    kind = lowering.PARTS[name]
    assert [each for each, named in lowering.NAMED.items() if named == kind.__name__] == [name]
    assert name not in used_by(kind)


@pytest.mark.parametrize("name", PARTS)
def test_what_a_part_keeps_of_a_recording_begins_with_it(name: str) -> None:
    """Parts are used again: what no `__init__` sets would be that of the recording before."""
    kind = lowering.PARTS[name]
    assert not [each for each in vars(kind).values() if isinstance(each, functools.cached_property)]
    kept = stored_by(vars(kind).get("__init__"))
    for method in vars(kind).values():
        if inspect.isfunction(method) and method.__name__ != "__init__":
            assert stored_by(method) <= kept


def test_a_meaning_is_of_a_part_or_of_the_whole_lowering() -> None:
    meanings = {*FUNCTIONS.values(), *METHODS.values()}
    assert len(meanings) > 200
    for meaning in meanings - set(lowering.HOLDERS):
        first = next(iter(inspect.signature(meaning).parameters.values()))
        assert first.annotation in [layer.__name__ for layer in lowering.LAYERS]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_is_left_to_be_written_by_an_heir(file: Path) -> None:
    assert "NotImplementedError" not in file.read_text()


#: Who may know NumPy: the library itself, the one list of libraries, and what is told to the
#: recorder when dvm is imported.
KNOWING = ("meanings/numpy", "libraries.py", "__init__.py")
HOUSE = Path(inspect.getfile(lowering)).parent


def names_numpy(file: Path) -> list[str]:
    """What a file has of NumPy's, or of the parts that know it."""
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [name for name in names if name.partition(".")[0] == "numpy"]
        found += [name for name in names if ".meanings.numpy" in name]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found += [f"np.{node.attr}"] if node.value.id == "np" else []
    return found


def test_nothing_but_its_own_meanings_names_numpy() -> None:
    places = {file.relative_to(HOUSE).as_posix(): file for file in FILES}
    named = {place: names_numpy(file) for place, file in places.items()}
    assert any(names for place, names in named.items() if place.startswith(KNOWING[0]))
    assert {p: names for p, names in named.items() if names and not p.startswith(KNOWING)} == {}


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: type(library).__name__)
def test_a_library_answers_what_the_lowering_asks(library: Library) -> None:
    asked = {name for name in vars(Library) if not name.startswith("_")}
    assert len(asked) > 20
    assert asked <= set(vars(type(library)))
