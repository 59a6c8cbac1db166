"""The command line: python -m dvm COMMAND; without a command it lists them.

Errors of dvm, of files and of arguments are one line on stderr and exit status 2; exceptions of the
user's own program keep their traceback.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import json
import math
import os
import re
import runpy
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import dvm
from dvm import _dvm, calibration, environment, errors, graphs, pages, printing, tuning

if TYPE_CHECKING:
    from dvm.profiling.profile import Profile


#: one Program of what `inspect("bytecode")` prints: graphs and Regions have headings
PROGRAM = re.compile(
    r"^dvm\.program\b.*?(?=^(?:# (?:graph|loop) |\w+:|dvm\.program\b)|\Z)", re.M | re.S
)
#: in a name that becomes one of a file
FORBIDDEN_IN_NAMES = re.compile(r"[^\w.-]")
HEADING = re.compile(r"^(?:#.*|\w+:)$", re.M)


def example_input(text: str) -> Any:
    """Return the example input that `f32[32,1024]`, `2.5`, `3`, `true`, `none` or a word means.

    Arrays hold seeded random values: whole numbers from 0 to 9, or reals from 0 to 1.
    """
    spellings = {spelling: name for name, spelling in _dvm.dtype_table}
    if array := re.fullmatch(r"(\w+)\[([\d,\s]*)\]", text):
        name = spellings.get(array[1], array[1])
        if name not in spellings.values():
            raise errors.unknown("unknown_name", "dtype", array[1], spellings)
        return example_array(np.dtype(name), [int(size) for size in re.findall(r"\d+", array[2])])
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


def example_array(dtype: np.dtype[Any], shape: list[int]) -> np.ndarray[Any, Any]:
    """Return an array of random values; UsageError where it would not fit this machine."""
    size = math.prod(shape) * dtype.itemsize
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    asked = f"an array of {dtype} of shape {shape}"
    if size > memory:
        raise UsageError(
            f"{asked} takes {size / 1e9:,.0f} GB; this machine has {memory / 1e9:,.0f} GB"
        )
    random = np.random.default_rng(0)
    try:
        if dtype.kind == "f":
            drawn = np.float64 if dtype.itemsize == 8 else np.float32
            return random.random(shape, drawn).astype(dtype, copy=False)
        return random.integers(0, 2 if dtype.kind == "b" else 10, shape, dtype)
    except (MemoryError, ValueError) as error:
        raise UsageError(f"{asked} cannot be made: {error}") from error


class UsageError(Exception):
    """What was asked for on the command line makes no sense; the message says what would."""


def load_function(where: str) -> Callable[..., Any]:
    """Return the function that `FILE.py:FUNCTION` names.

    The file runs as if imported, and finds modules beside it as `python FILE.py` does. Where it
    cannot be run, for its syntax or a module that is not there, that is a UsageError.
    """
    path, _, name = where.rpartition(":")
    if not path or not name:
        raise errors.make("unsupported", f"{where!r} names no function", "write FILE.py:FUNCTION")
    source = access(Path(path).read_bytes)
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        compile(source, path, "exec")  # before anything of it runs
        variables = runpy.run_path(path, run_name=Path(path).stem)
    except SystemExit as error:
        raise UsageError(
            f"{path} exits when it is imported ({error}): let it do so under "
            "`if __name__ == '__main__':` alone"
        ) from error
    except SyntaxError as error:
        at = f"{error.filename}, line {error.lineno}"
        raise UsageError(f"{at}: {type(error).__name__}: {error.msg}") from error
    except ImportError as error:
        lines = [
            line
            for frame, line in traceback.walk_tb(error.__traceback__)
            if frame.f_code.co_filename == path
        ]
        at = ", line ".join([path, *map(str, lines[-1:])])
        raise UsageError(
            f"{at}: {error}; {sys.executable} runs it, with the packages installed for that"
        ) from error
    functions = {key: value for key, value in variables.items() if callable(value)}
    if name not in functions:
        if name in variables:
            kind = type(variables[name]).__name__
            raise UsageError(f"{name} in {path} is no function: it is of type {kind}")
        own = [k for k, v in functions.items() if getattr(v, "__module__", "") == Path(path).stem]
        raise errors.unknown("unsupported", f"function in {path}", name, own or functions)
    function: Callable[..., Any] = functions[name]
    return function


def compiled_function(options: argparse.Namespace) -> Any:
    """Return what the arguments name, compiled as they ask for.

    What a decorator in the file asked for holds where the arguments say nothing.
    """
    function = load_function(options.function)
    asked = {
        key: value
        for key in ("target", "numerics", "precision")
        if (value := getattr(options, key, None)) is not None
    }
    if isinstance(function, dvm.Compiled):
        asked = {**asdict(function.options), "name": function.label, **asked}
    try:
        return dvm.compile(function, **asked)
    except TypeError as error:  # it is nothing to compile; the message says what is
        raise UsageError(str(error)) from error


class UnreadableFileError(Exception):
    """A file that cannot be read or written; the message names it."""


def access(use: Callable[..., Any], *args: Any) -> Any:
    """Return `use(*args)`, a file operation; its failure is no traceback to the user."""
    try:
        return use(*args)
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFileError(str(error)) from error


def check_apart(output: Path, *read: str) -> None:
    """Refuse to write over a file that the command reads: `FILE`, `FILE:NAME` or `NAME=FILE`.

    Raises:
        UsageError: if the output is one.
    """
    for text in read:
        for file in (text, text.partition(":")[0], text.partition("=")[2]):
            if file and output.resolve() == Path(file).resolve():
                raise UsageError(f"{output} would write over a file that this command reads")


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
    function = compiled_function(options)
    args = [example_input(text) for text in options.arg]
    check_arguments(function, args)
    # Who asks does not wait until compiling would pay. A function that is cut has parts to capture
    # after it; what is worth reading is how the next call goes.
    with dvm.stance("force_capture"):
        for _ in range(2):
            function(*args)
        report = dvm.explain(function, verbose=options.verbose)(*args)
    return json.dumps(report.to_dict(), indent=2) if options.json else str(report)


def profile_of(options: argparse.Namespace) -> Profile:
    """Return the profile that the arguments of `profile` and `report` ask for."""
    if options.function.endswith((".onnx", ".dvm")):
        return profile_of_graph(options)
    function = compiled_function(options)
    args = [example_input(text) for text in options.arg]
    check_arguments(function, args)
    return dvm.profile(function)(*args)


def profile_of_graph(options: argparse.Namespace) -> Profile:
    """Return the profile of a model, or of a graph that was saved."""
    from dvm.profiling.profile import profile_of
    from dvm.profiling.subjects import GraphSubject

    path, target = Path(options.function), options.target
    if path.suffix == ".onnx":
        try:
            from dvm.onnx import load
        except ImportError as error:
            raise UsageError(str(error)) from error
        graph = access(functools.partial(load, target=target or "cpu"), path).compiled
    else:
        graph = access(functools.partial(dvm.load, target=target), path)
    given = given_inputs(graph, path, options.arg)
    return profile_of(GraphSubject(graph.native(graph.target), path.name), {})(*given)


def given_inputs(graph: dvm.CompiledGraph, path: Path, texts: Sequence[str]) -> list[Any]:
    """Return what `--arg NAME=INPUT` gives for each argument of a graph, in their order."""
    given = dict(named_input(text) for text in texts)
    if len(given) < len(texts) or given.keys() != graph.arguments.keys():
        wanted = " ".join(f"{name}={type_}" for name, type_ in graph.arguments.items())
        raise UsageError(f"{path} takes one --arg for each of: {wanted}")
    return [given[name] for name in graph.arguments]


def run_profile(options: argparse.Namespace) -> str:
    """Run the command `profile`."""
    if options.trace is not None:
        check_apart(options.trace, options.function, *options.arg)
    profile = profile_of(options)
    if options.trace is not None:
        access(profile.export_chrome_trace, options.trace)
    return json.dumps(profile.to_dict(), indent=2) if options.json else str(profile)


def run_report(options: argparse.Namespace) -> str:
    """Run the command `report`."""
    check_apart(options.output, options.function, *options.arg)
    page = profile_of(options).page()
    access(options.output.write_text, page, "utf-8")
    return f"{options.output}: {len(page)} bytes"


def run_saved(options: argparse.Namespace) -> str:
    """Run the command `run`: print the results of a saved graph, or write a file for each."""
    graph = access(functools.partial(dvm.load, target=options.target), options.file)
    results = graph(*given_inputs(graph, options.file, options.arg))
    lines = []
    for name, result in zip(graph.results, results, strict=True):
        if options.output is None:
            lines.append(f"{name} {result.dtype}{list(result.shape)}\n{result}")
        else:
            path = options.output / f"{FORBIDDEN_IN_NAMES.sub('_', name)}.npy"
            access(functools.partial(np.save, allow_pickle=False), path, result)
            lines.append(f"{path}: {result.dtype}{list(result.shape)}")
    return "\n".join(lines)


def named_input(text: str) -> tuple[str, Any]:
    """Return the name and the input that `NAME=x.npy`, `NAME=f32[2,3]` or `NAME=2.5` means."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--arg {text!r} names no input: write NAME=FILE.npy or NAME=f32[2,3]")
    if not value.endswith(".npy"):
        return name, example_input(value)
    try:
        return name, np.load(value, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UnreadableFileError(f"{value}: {error}") from error


def run_show(options: argparse.Namespace) -> str:
    """Run the command `show`: what a saved graph has, all of its hashes compared."""
    opened = access(graphs.open_graph, options.file, True)
    settings, _, constants, sections = opened
    graph = graphs.compiled_of(opened)
    lines = [f"{key:12} {settings[key]}" for key in ("target", "numerics", "precision")]
    lines += [f"{'off':12} {step}" for step in settings["off"]]
    lines += [f"{'input':12} {name}  {type_}" for name, type_ in graph.arguments.items()]
    lines += [f"{'result':12} {name}  {type_}" for name, type_ in graph.results.items()]
    names = ["", "", *constants]
    for name, (kind, offset, size) in zip(names, sections, strict=True):
        if name:
            name = f"  {name}  {constants[name].dtype}{list(constants[name].shape)}"
        lines.append(f"{kind:12} {size} bytes at {offset}{name}")
    return "\n".join(lines)


def run_disasm(options: argparse.Namespace) -> str:
    """Run the command `disasm`."""
    return _dvm.disassemble(access(options.file.read_bytes)).rstrip("\n")


def run_asm(options: argparse.Namespace) -> str:
    """Run the command `asm`: a file for each Program of the text, numbered if there are more."""
    check_apart(options.output, str(options.file))
    text = access(options.file.read_text, "utf-8")
    programs = listed_programs(text)
    output: Path = options.output
    lines = []
    for number, program in enumerate(map(_dvm.assemble, programs)):
        name = f"{output.stem}.{number}{output.suffix}" if len(programs) > 1 else output.name
        access(output.with_name(name).write_bytes, program)
        lines.append(f"{output.with_name(name)}: {len(program)} bytes")
    return "\n".join(lines)


def listed_programs(text: str) -> list[str]:
    """Return the Programs of a listing as `f.inspect("bytecode")` prints it, or the text itself.

    Each begins with as many empty lines as stand before it, so that errors name its own line.
    """
    if HEADING.sub("", PROGRAM.sub("", text)).strip():
        return [text]  # something else: the assembler says what
    found = PROGRAM.finditer(text)
    return ["\n" * text.count("\n", 0, one.start()) + one[0] for one in found] or [text]


def run_env(options: argparse.Namespace) -> str:
    """Run the command `env`."""
    facts = environment.describe()
    if options.json:
        return json.dumps(facts, indent=2)
    shown = {k: " ".join(v) if isinstance(v, list) else v for k, v in facts.items()}
    return "\n".join(f"{key:12} {value}" for key, value in shown.items())


def run_docs(options: argparse.Namespace) -> str:
    """Run the command `docs`: a page, or which there are."""
    found = pages.titles()
    if options.page is None:
        width = max(map(len, found))
        return "\n".join(f"{name:{width}}  {title}" for name, title in found.items())
    if options.page not in found:
        raise errors.unknown("unknown_name", "page", options.page, found)
    return pages.text(options.page)


def run_calibrate(options: argparse.Namespace) -> str:
    """Run the command `calibrate`."""
    result: str = calibration.table() if options.show else access(calibration.measure)
    return result


def run_tune(options: argparse.Namespace) -> str:
    """Run the command `tune`: search tiles of products, and write the pool into a file."""
    try:
        pool = tuning.tune(
            options.target,
            kinds=[kind for kind in tuning.KINDS if kind.dtype in options.dtype],
            trials=options.trials,
            minutes=options.minutes,
            seed=options.seed,
            tell=functools.partial(print, file=sys.stderr, flush=True),
        )
    except ImportError as missing:
        raise UsageError(str(missing)) from None
    access(functools.partial(pool.save, options.output))
    tiles = sum(map(len, pool.tiles.values()))
    return f"{options.output}: {tiles} tiles; dvm.tuning.Pool.load({str(options.output)!r}).use()"


#: what `profile` and `report` are of
CALLED = "FILE.py:FUNCTION|MODEL.onnx|FILE.dvm"


def add_call(command: argparse.ArgumentParser, what: str = "FILE.py:FUNCTION") -> None:
    """Add what says which function is called on what."""
    command.add_argument("function", metavar=what)
    command.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="INPUT",
        help="one per parameter: f32[32,1024], 2.5, 3, true, none, or a string"
        + (", NAME=f32[32,1024] or NAME=FILE.npy of a model" if what == CALLED else ""),
    )
    command.add_argument("--target", help="default: as the function is decorated, or cpu")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="python -m dvm", description=dvm.__doc__.splitlines()[0])
    top.add_argument("--version", action="version", version=f"dvm {dvm.__version__}")
    commands = top.add_subparsers(metavar="COMMAND", title="commands")

    explain = commands.add_parser("explain", help="call a function, and report a later call of it")
    add_call(explain)
    explain.add_argument("--numerics", help="default or strict")
    explain.add_argument("--precision", help="highest, high or medium")
    explain.add_argument("--verbose", action="store_true", help="the fuser's decisions, too")
    explain.add_argument("--json", action="store_true", help="the whole report as JSON")
    explain.set_defaults(run=run_explain)

    profile = commands.add_parser("profile", help="say where the time of a call goes")
    add_call(profile, CALLED)
    profile.add_argument("--trace", type=Path, metavar="OUT", help="a timeline for Perfetto, too")
    profile.add_argument("--json", action="store_true", help="the whole profile as JSON")
    profile.set_defaults(run=run_profile)

    report = commands.add_parser("report", help="write the profile of a call as an HTML page")
    add_call(report, CALLED)
    report.add_argument("-o", "--output", type=Path, default=Path("dvm.html"), metavar="OUT")
    report.set_defaults(run=run_report)

    run = commands.add_parser("run", help="run a graph that was saved")
    run.add_argument("file", type=Path, metavar="FILE")
    run.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=INPUT",
        help="one per input: a file that ends in .npy, or as for explain",
    )
    run.add_argument("--target", help="default: what the graph was saved for")
    run.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", help="NAME.npy for each result goes there"
    )
    run.set_defaults(run=run_saved)

    show = commands.add_parser("show", help="say what a saved graph has, and check it")
    show.add_argument("file", type=Path, metavar="FILE")
    show.set_defaults(run=run_show)

    disasm = commands.add_parser("disasm", help="print a Program file as text")
    disasm.add_argument("file", type=Path, metavar="FILE")
    disasm.set_defaults(run=run_disasm)

    asm = commands.add_parser("asm", help="turn the text of Programs into files")
    asm.add_argument("file", type=Path, metavar="FILE")
    asm.add_argument("-o", "--output", type=Path, required=True, metavar="OUT")
    asm.set_defaults(run=run_asm)

    env = commands.add_parser("env", help="versions, CPU, targets and build")
    env.add_argument("--json", action="store_true", help="as JSON")
    env.set_defaults(run=run_env)

    docs = commands.add_parser("docs", help="print a page of the documentation")
    docs.add_argument("page", nargs="?", metavar="PAGE", help="without it: which there are")
    docs.set_defaults(run=run_docs)

    calibrate = commands.add_parser("calibrate", help="measure what work costs on this machine")
    calibrate.add_argument("--show", action="store_true", help="only print what is in use")
    calibrate.set_defaults(run=run_calibrate)

    tune = commands.add_parser("tune", help="find tiles of products for a simulated target")
    tune.add_argument("--target", required=True)
    tune.add_argument("-o", "--output", type=Path, required=True, metavar="POOL.json")
    dtypes = sorted({kind.dtype for kind in tuning.KINDS})
    tune.add_argument("--dtype", nargs="+", choices=dtypes, default=dtypes, help="of the factors")
    tune.add_argument("--trials", type=whole, default=48, help="of tiles in each search")
    tune.add_argument("--minutes", type=float, help="after which no more is tried")
    tune.add_argument("--seed", type=int, default=0)
    tune.set_defaults(run=run_tune)
    return top


def whole(text: str) -> int:
    """Return a number of at least 1 that an option has."""
    if (number := int(text)) < 1:
        raise ValueError
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    top = parser()
    options = top.parse_args(arguments)
    if not hasattr(options, "run"):
        top.print_help(sys.stderr)
        return 2
    try:
        result = options.run(options)
    except (dvm.Error, UnreadableFileError, UsageError) as error:
        return printing.fail("dvm", error)
    return printing.show("dvm", result)


if __name__ == "__main__":
    sys.exit(main())
