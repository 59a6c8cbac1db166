"""The lowering as layers: each uses only those before it, and no circle of parts is large."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from dvm.magpy_capture import lowering
from dvm.magpy_capture.part import CLASSES

HOUSE = Path(inspect.getfile(lowering)).parent
NAME = "dvm.magpy_capture"
#: bottom up; files of the house itself are named as such
ORDER = [
    *("part", "library", "libraries", "registry", "values", "recording", "path", "tensors"),
    *("objects", "meanings", "meanings.python", "meanings.numpy"),
    *("meanings.torch", "walk", "loops"),
    *("lowering", "lower", "__init__"),
]
#: The one list of the libraries of arrays, which each of them answers for itself.
LISTED = {("libraries", "meanings.numpy")}

Arrow = tuple[str, str]


def folder_of(module: str) -> str:
    """The folder, or the file of the house itself, that a module lies in."""
    rest = module.removeprefix(NAME).lstrip(".").split(".")
    return ".".join(rest[:2]) if ".".join(rest[:2]) in ORDER else rest[0] or "__init__"


def imports() -> Iterator[tuple[str, str, str]]:
    """Each import within the house: the file, its folder and that of what it imports.

    Those for the type checker count as well: what a part is handed is known by its type.
    """
    for file in sorted(HOUSE.rglob("*.py")):
        place = file.relative_to(HOUSE).with_suffix("").as_posix().replace("/", ".")
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(NAME):
                for alias in node.names:
                    module = node.module or ""
                    if module == NAME:
                        module = f"{NAME}.{alias.name}"
                    yield place, folder_of(f"{NAME}.{place}"), folder_of(module)


def runs_back(arrow: Arrow) -> bool:
    return ORDER.index(arrow[1]) > ORDER.index(arrow[0]) and arrow not in LISTED


def layer_of(part: str) -> str:
    """The folder that the class of a part lies in."""
    return folder_of(lowering.PARTS[part].__module__)


def needed() -> list[Arrow]:
    """Each part, and each that it is handed."""
    return [
        (part, need)
        for part, needs in lowering.NEEDS.items()
        for need in needs
        if need in lowering.PARTS
    ]


def circles(arrows: list[Arrow]) -> list[list[str]]:
    """Strongly connected components of more than one."""
    follows: dict[str, set[str]] = {}
    for one, other in arrows:
        follows.setdefault(one, set()).add(other)
        follows.setdefault(other, set())

    def reached(start: str) -> set[str]:
        seen, stack = {start}, [start]
        while stack:
            for other in follows[stack.pop()] - seen:
                seen.add(other)
                stack.append(other)
        return seen

    reach = {each: reached(each) for each in follows}
    found = {frozenset(other for other in reach[each] if each in reach[other]) for each in follows}
    return sorted(sorted(circle) for circle in found if len(circle) > 1)


def test_each_layer_uses_only_those_before_it() -> None:
    handed = [
        f"{part} -> {need}"
        for part, need in needed()
        if runs_back((layer_of(part), layer_of(need)))
    ]
    imported = [
        f"{place} -> {other}" for place, folder, other in imports() if runs_back((folder, other))
    ]
    assert not handed
    assert not sorted(set(imported))


def test_there_is_no_circle_among_folders() -> None:
    arrows = {(one, other) for _, one, other in imports() if one != other} - LISTED
    arrows |= {(layer_of(one), layer_of(other)) for one, other in needed()}
    assert not circles([arrow for arrow in arrows if arrow[0] != arrow[1]])


def test_no_circle_of_parts_is_larger_than_three() -> None:
    assert [circle for circle in circles(needed()) if len(circle) > 3] == []


def test_the_ways_up_are_few_and_named() -> None:
    """An interface is defined below the part that has it, and what is no part is one of these."""
    assert set(lowering.OFFERS) == {
        "Materialiser",
        "LoopPolicy",
        "RecursionPolicy",
        "Caller",
        "Operators",
    }
    for interface, part in lowering.OFFERS.items():
        (base,) = [b for b in lowering.PARTS[part].__bases__ if b.__name__ == interface]
        assert ORDER.index(folder_of(base.__module__)) < ORDER.index(layer_of(part))
    others = {kind for kind in lowering.NAMED.values() if kind not in CLASSES}
    assert others == {*lowering.OFFERS, "Rules", "Meanings"}


def test_an_arrow_back_and_a_circle_are_found() -> None:
    assert runs_back(("tensors", "walk"))
    assert not runs_back(("walk", "tensors"))
    assert circles([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]) == [["a", "b", "c"]]
