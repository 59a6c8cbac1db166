"""The package as it is installed: its version, its types, and what importing it costs."""

import re
import struct
import subprocess
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

import dvm
from dvm import pages

PACKAGE = Path(dvm.__file__).parent
ROOT = Path(__file__).resolve().parents[2]
EXTENSIONS = sorted(PACKAGE.glob("*.so"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PT_LOAD = 1  # of an ELF file: a part that is mapped
#: what pip calls it; `dvm` is somebody else's project on PyPI
DISTRIBUTION = PROJECT["name"]


def test_version_is_the_installed_one() -> None:
    assert dvm.__version__ == metadata.version(DISTRIBUTION)


def test_numpy_is_the_only_runtime_dependency() -> None:
    required = [line for line in metadata.requires(DISTRIBUTION) or [] if "extra ==" not in line]
    assert required == ["numpy>=2"]


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def mapped_bytes(elf: bytes) -> int:
    """What of a library of 64 bits is mapped: all but its symbols and lines, stripped or not."""
    (headers,) = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    rows = [struct.unpack_from("<IIQQQQ", elf, headers + k * size) for k in range(count)]
    return sum(in_file for kind, *_, in_file in rows if kind == PT_LOAD)


@pytest.mark.parametrize("extension", EXTENSIONS, ids=lambda path: path.name)
def test_the_extension_is_small(extension: Path) -> None:
    # Kernels multiply: by dtypes, by SIMD levels, by choices that a table makes as well. What they
    # take in the file they take to compile, too.
    assert mapped_bytes(extension.read_bytes()) < 12_000_000


# Streams of the C++ library bring in all of its locales.
@pytest.mark.parametrize("extension", EXTENSIONS, ids=lambda path: path.name)
def test_the_extension_has_no_locales(extension: Path) -> None:
    assert b"St7codecvt" not in extension.read_bytes()


def test_import_brings_in_numpy_and_nothing_heavier(run_python: Callable[[str], str]) -> None:
    # The interpreter's own start-up and numpy's modules are the baseline. The standard library is
    # free to change, but what dvm adds to it is listed here and nowhere else.
    added = run_python(
        "import sys, numpy\n"
        "before = set(sys.modules)\n"
        "import dvm\n"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))\n"
    )
    assert set(added.split()) <= {"dvm", "__future__", "copy", "dataclasses", "gc"}


@pytest.mark.parametrize("extension", EXTENSIONS, ids=lambda path: path.name)
def test_extension_needs_nothing_but_the_c_library(extension: Path) -> None:
    dynamic = subprocess.check_output(["readelf", "--dynamic", extension], text=True)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    assert "libc.so.6" in needed
    assert needed <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


@pytest.mark.parametrize("extension", EXTENSIONS, ids=lambda path: path.name)
def test_extension_exports_its_init_function_alone(extension: Path) -> None:
    exported = subprocess.check_output(
        ["nm", "--dynamic", "--defined-only", "--format=just-symbols", extension], text=True
    )
    assert exported.split() == ["PyInit__dvm"]


def test_the_package_promises_what_it_is() -> None:
    """Read from the sources: the installed metadata are made of them."""
    assert PROJECT["requires-python"] == ">=3.11"
    for version in ("3.11", "3.13"):
        assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "PyTorch" in readme
    assert PROJECT["optional-dependencies"]["torch"] == ["torch==2.13.0"]
    assert not any("torch" in need for need in PROJECT["dependencies"])
    assert "CPython 3.11" in readme


def test_nobody_is_told_to_install_somebody_elses_package() -> None:
    """Until there is a release, every `pip install` of the tree is one from the checkout."""
    assert DISTRIBUTION != "dvm"
    told = [
        page for folder in ("docs", "examples", "python") for page in (ROOT / folder).rglob("*")
    ]
    installed = []
    for page in [*ROOT.glob("*.md"), *told]:
        if page.suffix in (".md", ".py", ".ipynb"):
            for what in re.findall(r"pip install +(\S+)", page.read_text("utf-8")):
                installed.append(what.strip("`'\"").partition("[")[0])
    assert "." in installed
    assert not {"dvm", DISTRIBUTION} & set(installed)
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"'{DISTRIBUTION}'" in readme or f"`{DISTRIBUTION}`" in readme


def test_the_backend_is_found_by_its_name() -> None:
    """Without an import of dvm: torch finds it as an entry point."""
    (found,) = {
        (point.name, point.value)
        for point in metadata.entry_points(group="torch_dynamo_backends")
        if point.dist is not None and point.dist.name == DISTRIBUTION
    }
    assert found == ("dvm", "dvm.torch.backend:backend")


def test_the_package_has_the_pages_that_messages_name() -> None:
    sources = [path.read_text("utf-8") for path in Path(dvm.__file__).parent.rglob("*.py")]
    hints = [hint for *_, hint in dvm._dvm.error_table]
    texts = "\n".join([*sources, *hints])
    named = {*re.findall(r"-m dvm docs ([\w-]+)", texts), *re.findall(r"docs/([\w-]+)\.md", texts)}
    assert named >= {"ops", "annotate", "graphs"}
    assert named <= pages.titles().keys()
    for name, title in pages.titles().items():
        assert f"# {title}\n" in pages.text(name)
        assert f"# {title}\n" in (ROOT / f"docs/{name}.md").read_text("utf-8")
