"""What `dvm-atc` may be told: on the command line, or in a file of raw JSON, which it wins over."""

from __future__ import annotations

import argparse
import json
import re
import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from dvm import errors
from dvm.compiling import NUMERICS, PRECISIONS
from dvm.passes import PassSet, steps
from dvm.passes.pass_set import line_of

#: what a file of a graph begins with (cpp/core/file/layout.h)
MAGIC = b"\x89dvm\r\n\x1a\n"
#: --opt -> what is done beyond the level before
LEVELS = {
    0: "only steps that are needed",
    1: "and those that keep every bit",
    2: "and those after which sums may have another order",
    3: "and products of f32 whose factors may be rounded, as --precision high",
}


class UsageError(Exception):
    """Options that make no sense together."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def parser(given_alone: bool = False) -> argparse.ArgumentParser:
    """Return the parser; one without defaults tells what was given."""
    top = _Parser(
        prog="dvm-atc",
        description="Compile an ONNX model into a file that Python and C++ run.",
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS if given_alone else None,
    )

    def add(*names: str, default: Any = None, **more: Any) -> None:
        top.add_argument(*names, **more, **({} if given_alone else {"default": default}))

    top.add_argument("model", type=Path, metavar="MODEL.onnx")
    add("-o", "--output", type=Path, metavar="FILE", help="where the file goes")
    add(
        "--mode",
        choices=["build", "check", "info"],
        default="build",
        help="build: write the file; check: compile and write nothing; info: what the model has",
    )
    add("--target", default="cpu", help="cpu, or a simulated one (python -m dvm env)")
    add("--numerics", default="default", choices=NUMERICS)
    add("--precision", choices=PRECISIONS)
    add(
        "--dim",
        action="append",
        metavar="NAME=SIZE",
        help="give a size that has a name this value; others stay open",
    )
    add(
        "--out-nodes",
        action="append",
        metavar="NAME",
        help="values that become the outputs, in this order, in place of the model's",
    )
    levels = "; ".join(f"{level}: {what}" for level, what in LEVELS.items())
    add("--opt", type=int, choices=list(LEVELS), default=2, help=levels)
    add(
        "--passes",
        action="append",
        metavar="FILE.py:NAME|STEP:off",
        help="a pass of your own, or a list of some (docs/passes.md), which the file has what they "
        "make of; or a step that is left out",
    )
    add("--dump", type=Path, metavar="DIR", help="write what steps make into texts in this folder")
    add(
        "--dump-stages",
        metavar="all|first|final|NAMES",
        help="of which steps: names of steps and stages, with commas between them; all without it",
    )
    add("--report", type=Path, metavar="FILE", help="write what was done as JSON")
    add(
        "--cache-dir",
        type=Path,
        metavar="DIR",
        help="keep files by what they are made of, and take those that are there",
    )
    add("--options", type=Path, metavar="FILE", help='such options as JSON: {"opt": 1}')
    return top


def read(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options; what the file of `--options` says, where the arguments say nothing."""
    options = parser().parse_args(arguments)
    if options.options is not None:
        given = vars(parser(given_alone=True).parse_args(arguments))
        options = parser().parse_args([*_of_file(options.options, given), *arguments])
    if options.precision is None:
        options.precision = "high" if options.opt == 3 else "highest"
    if options.mode == "build" and options.output is None:
        raise UsageError("there is no file to write: give -o MODEL.dvm")
    if options.dump_stages is not None and options.dump is None:
        raise UsageError("--dump-stages says of which steps there are texts: give --dump DIR, too")
    _check_apart(options)
    return options


def _check_apart(options: argparse.Namespace) -> None:
    """No file that is written may be one that is read, or another one that is written."""
    read_from = [options.model, options.options, *files_of_passes(options.passes)]
    seen = {path.resolve() for path in read_from if path is not None}
    for name, path in (("-o", options.output), ("--report", options.report)):
        if path is None:
            continue
        if path.is_dir():
            raise UsageError(f"{name} {path} is a folder: give the name of a file")
        if not path.parent.is_dir():
            raise UsageError(f"{name} {path}: there is no folder {path.parent}")
        if path.resolve() in seen:
            raise UsageError(f"{name} {path} would write over another file of this command")
        seen.add(path.resolve())
    written = options.output
    if written is not None and written.is_file() and not _is_ours(written):
        raise UsageError(f"-o {written} is there and is no file of dvm's: it stays as it is")


def _is_ours(path: Path) -> bool:
    """Whether a file is empty, or begins as those do that dvm-atc writes."""
    with path.open("rb") as file:
        begin = file.read(len(MAGIC))
    return begin in (b"", MAGIC)


def _of_file(path: Path, given: dict[str, Any]) -> list[str]:
    """Return options of a file as arguments, without those that are given."""
    try:
        said = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON: {error}") from error
    if not isinstance(said, dict):
        raise UsageError(f'{path} has no options: write {{"target": "cpu"}}')
    known = {name for name in vars(parser().parse_args(["-"])) if name not in ("model", "options")}
    arguments = []
    for key, value in said.items():
        name = key.replace("-", "_")
        if name not in known:
            raise errors.unknown("unknown_name", f"option of {path}", key, sorted(known))
        if name in given:
            continue
        for each in _texts(name, value):
            arguments.append(f"--{name.replace('_', '-')}={each}")
    return arguments


def _texts(name: str, value: Any) -> list[str]:
    if name == "dim" and isinstance(value, dict):
        return [f"{size}={each}" for size, each in value.items()]
    is_list = isinstance(value, list) and name in ("dim", "passes", "out_nodes")
    values = value if is_list else [value]
    if any(isinstance(each, bool) or not isinstance(each, str | int) for each in values):
        raise UsageError(f"the option {name!r} is {json.dumps(value)}: write a text or a number")
    return [str(each) for each in values]


def sizes_of(texts: Sequence[str] | None) -> dict[str, int]:
    """What `batch=4` and its like say."""
    sizes = {}
    for text in texts or ():
        name, _, value = text.partition("=")
        if not re.fullmatch("[0-9]{1,19}", value):
            raise UsageError(f"--dim {text!r} gives no size: write NAME=SIZE, as --dim batch=4")
        sizes[name] = int(value)
    return sizes


def names_of(texts: Sequence[str] | None) -> list[str] | None:
    """What `--out-nodes h --out-nodes y`, or `--out-nodes "h;y"`, names."""
    if texts is None:
        return None
    return [name for text in texts for name in text.split(";") if name]


def files_of_passes(texts: Sequence[str] | None) -> list[Path]:
    """Files that `--passes` names."""
    named = [text.rpartition(":")[0] for text in texts or ()]
    return [Path(path) for path in named if path.endswith(".py")]


def passes_of(texts: Sequence[str] | None, level: int) -> PassSet:
    """What `my_passes.py:Name` and `cse:off` name, and which steps a level is without."""
    passes: list[Any] = [f"{step.name}:off" for step in steps() if step.level > level]
    for text in texts or ():
        path, _, name = text.rpartition(":")
        if path.endswith(".py") and name:
            given = _of_python(text, Path(path), name)
            passes += given if isinstance(given, list | tuple) else [given]
        elif text.endswith(":resume"):
            raise UsageError(f"--passes {text!r}: a model is compiled from its beginning")
        elif text.endswith(":off"):
            passes += [switch for switch in text.split(",") if switch not in passes]
        else:
            raise UsageError(f"--passes {text!r} names no pass: write FILE.py:NAME, or STEP:off")
    try:
        return PassSet(passes)
    except TypeError as error:
        raise UsageError(str(error)) from error


def _of_python(text: str, path: Path, name: str) -> Any:
    if not path.is_file():
        raise UsageError(f"--passes {text!r}: there is no file {path}")
    try:
        found = runpy.run_path(str(path))
    except (Exception, SystemExit) as error:
        what = f"{type(error).__name__}: {error}{line_of(error)}"
        raise UsageError(f"{path} raises {what}") from error
    if name not in found:
        names = [known for known in found if not known.startswith("_")]
        raise UsageError(f"{path} has no {name!r}; it has {', '.join(names)}")
    return found[name]
