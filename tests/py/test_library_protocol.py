"""The core knows arrays by what a library answers (cpp/capture/library), and NumPy by no name."""

from __future__ import annotations

import re
from pathlib import Path

CPP = Path(__file__).resolve().parents[2] / "cpp"
#: Who may know NumPy: the library itself, and what makes Python's objects of the core's.
KNOWING = (CPP / "capture" / "numpy", CPP / "bindings")

PATTERNS = (
    re.compile(r"\b(?:Py(?:Array|UFunc|DataType|DataMem)|Npy|NPY_|npy_)\w*"),
    re.compile(r'#include [<"](?:capture/)?numpy/[^>"]*'),
)
COMMENT = re.compile(r"//.*")
SUFFIXES = {".cpp", ".h", ".c", ".def"}
FILES = sorted(file for file in CPP.rglob("*") if file.suffix in SUFFIXES)


def named_in(file: Path) -> list[str]:
    """What the file's code, unlike its comments, has of NumPy's C API."""
    code = COMMENT.sub("", file.read_text())
    return [name for pattern in PATTERNS for name in pattern.findall(code)]


def test_the_core_does_not_name_numpy() -> None:
    others = [file for file in FILES if not {*KNOWING} & {*file.parents}]
    assert len(others) > 400
    named = {str(file.relative_to(CPP)): named_in(file) for file in others}
    assert {file: names for file, names in named.items() if names} == {}


def test_who_may_name_numpy_does() -> None:
    for folder in KNOWING:
        assert any(named_in(file) for file in FILES if folder in file.parents), folder


def test_code_is_read_and_comments_are_not(tmp_path: Path) -> None:
    file = tmp_path / "some.cpp"
    file.write_text('// as npy_divmod\n#include "capture/numpy/layout.h"\nPyArray_NDIM(a);\n')
    assert named_in(file) == ["PyArray_NDIM", '#include "capture/numpy/layout.h']
