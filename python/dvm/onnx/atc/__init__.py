"""The command `dvm-atc`: from an ONNX model to one file that Python and C++ run.

    dvm-atc MODEL.onnx -o MODEL.dvm [--target cpu] [--dim batch=4] [--opt 1]
    dvm-atc MODEL.onnx -o MODEL.dvm --passes my_passes.py:GeluBySigmoid --passes attention:off
    dvm-atc MODEL.onnx --mode check --dump texts --report report.json
    dvm-atc MODEL.onnx --mode info

docs/atc.md has all of its options. Errors are one line on stderr and exit status 2.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import dvm
import dvm.onnx
from dvm.graphs import Step
from dvm.onnx.atc.cache import Cache, key_of
from dvm.onnx.atc.dumping import dump
from dvm.onnx.atc.options import UsageError, names_of, passes_of, read, sizes_of
from dvm.onnx.model import Model
from dvm.onnx.reading import read as read_model

__all__ = ["main"]


class Run:
    """One run of the command: what it did, as data and as lines."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._steps: list[Step] = []
        self.report: dict[str, Any] = {
            "model": str(options.model),
            "options": {k: _plain(v) for k, v in vars(options).items() if k != "model"},
        }

    def run(self) -> list[str]:
        """Return the lines that it prints."""
        options = self._options
        if options.mode != "build" or options.cache_dir is None:
            return self._built()
        model = read_model(options.model)
        lines: list[str] = []
        cache = Cache(options.cache_dir, key_of(model, options))
        if not cache.get(options.output, lambda: lines.extend(self._built())):
            return lines
        self.report["from_cache"] = True
        return [_line("from cache", f"{options.output}, {options.output.stat().st_size} bytes")]

    def _built(self) -> list[str]:
        options = self._options
        began = time.perf_counter()
        model = dvm.onnx.load(
            options.model,
            options.target,
            numerics=options.numerics,
            precision=options.precision,
            passes=passes_of(options.passes, options.opt),
            sizes=sizes_of(options.dim),
            outputs=names_of(options.out_nodes),
        )
        took = time.perf_counter() - began
        lines = self._about(model)
        if not model.by_value:  # else a call has to tell what is compiled
            self._steps = model.steps
        lines += self._stages(took)
        if options.dump is not None:
            files = dump(self._steps, options.dump_stages, options.dump)
            lines.append(_line("dumped", f"{len(files)} texts into {options.dump}"))
        if options.mode == "build":
            model.save(options.output)
            size = options.output.stat().st_size
            lines.append(_line("written", f"{options.output}, {size} bytes"))
        return lines

    def _about(self, model: Model) -> list[str]:
        told = {
            "inputs": model.inputs,
            "outputs": model.outputs,
            "once_for_each": model.by_value,
            "operators": model.operators,
            "on_the_host": {} if model.by_value else model.host_calls,
        }
        self.report |= told
        lines = [_line("input", f"{name}  {type_}") for name, type_ in model.inputs.items()]
        lines += [_line("result", f"{name}  {type_}") for name, type_ in model.outputs.items()]
        lines += [_line("once for each", f"{what} of {n}") for n, what in model.by_value.items()]
        if self._options.mode == "info":
            lines.append(_line("operators", counted(model.operators)))
        if told["on_the_host"]:
            lines.append(_line("on the host", counted(model.host_calls)))
        return lines

    def _stages(self, took: float) -> list[str]:
        """What each stage took, found and changed; what is before them reads the model."""
        steps, lines = self._steps, []
        of_steps = sum(step.nanoseconds for step in steps)
        self.report["seconds"] = took
        self.report["steps"] = [step.without_text() for step in steps]
        if steps:
            lines.append(_line("import", f"{1e3 * took - of_steps / 1e6:.1f} ms"))
        for stage in dict.fromkeys(step.stage for step in steps):
            mine = [step for step in steps if step.stage == stage]
            milliseconds = sum(step.nanoseconds for step in mine) / 1e6
            changed = ", ".join(f"{s.name} {s.effects} of {s.matches}" for s in mine if s.matches)
            lines.append(_line(stage, f"{milliseconds:.1f} ms" + (f"; {changed}" * bool(changed))))
        lines.append(_line("compiled", f"in {1e3 * took:.0f} ms"))
        return lines


def _line(what: str, text: str) -> str:
    return f"{what:12} {text}"


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | list | None) else str(value)


def counted(counts: Mapping[str, int]) -> str:
    """Names and how often, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in ordered)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    run, lines, status = None, [], 0
    try:
        options = read(sys.argv[1:] if arguments is None else arguments)
        run = Run(options)
        lines = run.run()
    except (dvm.Error, OSError, UsageError) as error:
        text = f"{error}".replace("\n", " ")
        print(f"dvm-atc: {text}", file=sys.stderr)
        status = 2
        if run is not None:
            run.report["error"] = text
    if run is not None and options.report is not None:
        options.report.write_text(json.dumps(run.report, indent=1) + "\n", "utf-8")
    if lines:
        print("\n".join(lines))
    return status
