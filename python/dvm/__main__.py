"""The command line: python -m dvm {explain,profile,report,disasm,asm,env,calibrate}.

Errors of dvm, of files and of arguments are one line on stderr and exit status 2; exceptions of the
user's own program keep their traceback.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import dvm
from dvm import _dvm, calibration, environment, errors

if TYPE_CHECKING:
    from dvm.profiling.profile import Profile


def example_input(text: str) -> Any:
    """Return the example input that `f32[32,1024]`, `2.5`, `3`, `true`, `none` or a word means.

    Arrays hold seeded random values: whole numbers from 0 to 9, or reals from 0 to 1.
    """
    dtypes = {spelling: name for name, spelling in _dvm.dtype_table}
    if array := re.fullmatch(r"(\w+)\[([\d,\s]*)\]", text):
        if array[1] not in dtypes:
            raise errors.unknown("unsupported", "dtype", array[1], dtypes)
        dtype = np.dtype(dtypes[array[1]])
        shape = [int(size) for size in array[2].split(",") if size.strip()]
        random = np.random.default_rng(0)
        if dtype.kind == "f":
            return random.random(shape).astype(dtype)
        return random.integers(0, 2 if dtype.kind == "b" else 10, shape).astype(dtype)
    if re.match(r"\w+\[", text) or not text:
        raise UsageError(f"--arg {text!r} is no input: write an array as f32[32,1024]")
    words = {"none": None, "true": True, "false": False}
    if text in words:
        return words[text]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


class UsageError(Exception):
    """What was asked for on the command line makes no sense; the message says what would."""


def load_function(where: str) -> Callable[..., Any]:
    """Return the function that `FILE.py:FUNCTION` names; the file runs as if imported."""
    path, _, name = where.rpartition(":")
    if not path or not name:
        raise errors.make("unsupported", f"{where!r} is not of the form FILE.py:FUNCTION")
    access(Path(path).read_bytes)
    variables = runpy.run_path(path, run_name=Path(path).stem)
    functions = [key for key, value in variables.items() if callable(value)]
    if name not in functions:
        raise errors.unknown("unsupported", f"function in {path}", name, functions)
    function: Callable[..., Any] = variables[name]
    return function


class UnreadableFileError(Exception):
    """A file that cannot be read or written; the message names it."""


def access(use: Callable[..., Any], *args: Any) -> Any:
    """Return `use(*args)`, a file operation; its failure is no traceback to the user."""
    try:
        return use(*args)
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFileError(str(error)) from error


def check_arguments(function: Callable[..., Any], args: list[Any]) -> None:
    """Refuse arguments that the function would not take, before it runs."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args)
    except TypeError as error:
        name = getattr(function, "__name__", "the function")
        raise UsageError(
            f"{name}{signature}: {error}; give one --arg for each parameter, in order, "
            "such as --arg f32[32,1024] --arg 2.5"
        ) from error


def run_explain(options: argparse.Namespace) -> str:
    """Run the command `explain`."""
    function = load_function(options.function)
    if not isinstance(function, dvm.Compiled):
        function = dvm.compile(
            function,
            target=options.target,
            numerics=options.numerics,
            precision=options.precision,
        )
    args = [example_input(text) for text in options.arg]
    check_arguments(function, args)
    explain = dvm.explain(function, verbose=options.verbose)
    explain(*args)  # the capture; what is worth reading is how the next call goes
    report = explain(*args)
    return json.dumps(report.to_dict(), indent=2) if options.json else str(report)


def profile_of(options: argparse.Namespace) -> Profile:
    """Return the profile that the arguments of `profile` and `report` ask for."""
    function = load_function(options.function)
    args = [example_input(text) for text in options.arg]
    check_arguments(function, args)
    return dvm.profile(function, target=options.target)(*args)


def run_profile(options: argparse.Namespace) -> str:
    """Run the command `profile`."""
    profile = profile_of(options)
    if options.trace is not None:
        access(profile.export_chrome_trace, options.trace)
    return json.dumps(profile.to_dict(), indent=2) if options.json else str(profile)


def run_report(options: argparse.Namespace) -> str:
    """Run the command `report`."""
    page = profile_of(options).page()
    access(options.output.write_text, page, "utf-8")
    return f"{options.output}: {len(page)} bytes"


def run_disasm(options: argparse.Namespace) -> str:
    """Run the command `disasm`."""
    return _dvm.disassemble(access(options.file.read_bytes)).rstrip("\n")


def run_asm(options: argparse.Namespace) -> str:
    """Run the command `asm`."""
    program = _dvm.assemble(access(options.file.read_text, "utf-8"))
    access(options.output.write_bytes, program)
    return f"{options.output}: {len(program)} bytes"


def run_env(options: argparse.Namespace) -> str:
    """Run the command `env`."""
    facts = environment.describe()
    if options.json:
        return json.dumps(facts, indent=2)
    shown = {k: " ".join(v) if isinstance(v, list) else v for k, v in facts.items()}
    return "\n".join(f"{key:12} {value}" for key, value in shown.items())


def run_calibrate(options: argparse.Namespace) -> str:
    """Run the command `calibrate`."""
    result: str = calibration.table() if options.show else access(calibration.measure)
    return result


def add_call(command: argparse.ArgumentParser) -> None:
    """Add what says which function is called on what."""
    command.add_argument("function", metavar="FILE.py:FUNCTION")
    command.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="INPUT",
        help="one per parameter: f32[32,1024], 2.5, 3, true, none, or a string",
    )
    command.add_argument("--target", default="cpu", help="default: cpu")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="python -m dvm", description=dvm.__doc__.splitlines()[0])
    top.add_argument("--version", action="version", version=f"dvm {dvm.__version__}")
    commands = top.add_subparsers(metavar="COMMAND", title="commands")

    explain = commands.add_parser("explain", help="call a function twice and report the second")
    add_call(explain)
    explain.add_argument("--numerics", default="default", help="default or strict")
    explain.add_argument("--precision", default="highest", help="highest, high or medium")
    explain.add_argument("--verbose", action="store_true", help="the fuser's decisions, too")
    explain.add_argument("--json", action="store_true", help="the whole report as JSON")
    explain.set_defaults(run=run_explain)

    profile = commands.add_parser("profile", help="say where the time of a call goes")
    add_call(profile)
    profile.add_argument("--trace", type=Path, metavar="OUT", help="a timeline for Perfetto, too")
    profile.add_argument("--json", action="store_true", help="the whole profile as JSON")
    profile.set_defaults(run=run_profile)

    report = commands.add_parser("report", help="write the profile of a call as an HTML page")
    add_call(report)
    report.add_argument("-o", "--output", type=Path, default=Path("dvm.html"), metavar="OUT")
    report.set_defaults(run=run_report)

    disasm = commands.add_parser("disasm", help="print a Program file as text")
    disasm.add_argument("file", type=Path, metavar="FILE")
    disasm.set_defaults(run=run_disasm)

    asm = commands.add_parser("asm", help="turn the text of a Program into a file")
    asm.add_argument("file", type=Path, metavar="FILE")
    asm.add_argument("-o", "--output", type=Path, required=True, metavar="OUT")
    asm.set_defaults(run=run_asm)

    env = commands.add_parser("env", help="versions, CPU, targets and build")
    env.add_argument("--json", action="store_true", help="as JSON")
    env.set_defaults(run=run_env)

    calibrate = commands.add_parser("calibrate", help="measure what work costs on this machine")
    calibrate.add_argument("--show", action="store_true", help="only print what is in use")
    calibrate.set_defaults(run=run_calibrate)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    top = parser()
    options = top.parse_args(arguments)
    if not hasattr(options, "run"):
        top.print_help(sys.stderr)
        return 2
    try:
        print(options.run(options))
    except (dvm.Error, UnreadableFileError, UsageError) as error:
        print(f"dvm: {error}".replace("\n", " "), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
