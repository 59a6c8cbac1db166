"""The command `dvm-atc`: from an ONNX model to one file that Python and C++ run.

    dvm-atc MODEL.onnx -o MODEL.dvm [--target cpu] [--dim batch=4] [--numerics strict]
    dvm-atc MODEL.onnx -o MODEL.dvm --passes my_passes.py:GeluBySigmoid
    dvm-atc MODEL.onnx --mode check
    dvm-atc MODEL.onnx --mode info

Errors are one line on stderr and exit status 2.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dvm
import dvm.onnx
from dvm.passes import PassSet
from dvm.passes.pass_set import line_of


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="dvm-atc", description="Compile an ONNX model into a file that Python and C++ run."
    )
    top.add_argument("model", type=Path, metavar="MODEL.onnx")
    top.add_argument("-o", "--output", type=Path, metavar="FILE", help="where the file goes")
    top.add_argument(
        "--mode",
        choices=["build", "check", "info"],
        default="build",
        help="build: write the file; check: compile and write nothing; info: what the model has",
    )
    top.add_argument("--target", default="cpu", help="cpu, or a simulated one (python -m dvm env)")
    top.add_argument("--numerics", default="default", choices=["default", "strict"])
    top.add_argument("--precision", default="highest", choices=["highest", "high", "medium"])
    top.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="give a size that has a name this value; others stay open",
    )
    top.add_argument(
        "--passes",
        action="append",
        default=[],
        metavar="FILE.py:NAME",
        help="a pass of your own, or a list of some (docs/passes.md); the file has what they make",
    )
    return top


class UsageError(Exception):
    """Options that make no sense together."""


def sizes_of(texts: Sequence[str]) -> dict[str, int]:
    """What `batch=4` and its like say."""
    sizes = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not value.isdigit():
            raise UsageError(f"--dim {text!r} gives no size: write NAME=SIZE, as --dim batch=4")
        sizes[name] = int(value)
    return sizes


def passes_of(texts: Sequence[str]) -> PassSet:
    """What `my_passes.py:Name` and its like name: passes, and lists of passes."""
    passes: list[Any] = []
    for text in texts:
        path, _, name = text.rpartition(":")
        if not path.endswith(".py") or not name:
            raise UsageError(f"--passes {text!r} names no pass: write FILE.py:NAME")
        if not Path(path).is_file():
            raise UsageError(f"--passes {text!r}: there is no file {path}")
        try:
            found = runpy.run_path(path)
        except Exception as error:
            what = f"{type(error).__name__}: {error}{line_of(error)}"
            raise UsageError(f"{path} raises {what}") from error
        if name not in found:
            names = [known for known in found if not known.startswith("_")]
            raise UsageError(f"{path} has no {name!r}; it has {', '.join(names)}")
        given = found[name]
        passes += given if isinstance(given, list | tuple) else [given]
    try:
        return PassSet(passes)
    except TypeError as error:
        raise UsageError(str(error)) from error


def run(options: argparse.Namespace) -> list[str]:
    """Run the command; return the lines that it prints."""
    if options.mode == "build" and options.output is None:
        raise UsageError("there is no file to write: give -o MODEL.dvm")
    began = time.perf_counter()
    model = dvm.onnx.load(
        options.model,
        options.target,
        numerics=options.numerics,
        precision=options.precision,
        passes=passes_of(options.passes),
        sizes=sizes_of(options.dim),
    )
    took = 1e3 * (time.perf_counter() - began)
    lines = [f"{'input':12} {name}  {type_}" for name, type_ in model.inputs.items()]
    lines += [f"{'result':12} {name}  {type_}" for name, type_ in model.outputs.items()]
    lines += [f"{'once for each':12} {what} of {name}" for name, what in model.by_value.items()]
    if options.mode == "info":
        lines.append(f"{'operators':12} {counted(model.operators)}")
    if model.host_calls:
        lines.append(f"{'on the host':12} {counted(model.host_calls)}")
    lines.append(f"{'compiled':12} in {took:.0f} ms")
    if options.mode == "build":
        model.save(options.output)
        lines.append(f"{'written':12} {options.output}, {options.output.stat().st_size} bytes")
    return lines


def counted(counts: Mapping[str, int]) -> str:
    """Names and how often, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in ordered)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    options = parser().parse_args(arguments)
    try:
        lines = run(options)
    except (dvm.Error, OSError, UsageError) as error:
        print(f"dvm-atc: {error}".replace("\n", " "), file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
