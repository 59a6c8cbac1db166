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
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dvm
import dvm.onnx
from dvm import printing
from dvm.onnx.atc.cache import Cache, key_of
from dvm.onnx.atc.dumping import dump
from dvm.onnx.atc.options import UsageError, names_of, passes_of, read, sizes_of
from dvm.onnx.atc.record import Record, line
from dvm.onnx.reading import read as read_model

__all__ = ["main"]

#: status of a command that was interrupted, as a shell gives it for SIGINT
INTERRUPTED = 130


class Run:
    """One run of the command: what it did, as data and as lines."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self.report: dict[str, Any] = {
            "model": str(options.model),
            "options": {k: _plain(v) for k, v in vars(options).items() if k != "model"},
        }

    def run(self) -> list[str]:
        """Return the lines that it prints."""
        options = self._options
        is_new = True
        if options.mode == "build" and options.cache_dir is not None:
            cache = Cache(options.cache_dir, key_of(read_model(options.model), options))
            record, is_new = cache.get(options.output, self._made)
        else:
            record = self._made()
        self.report |= record.report() | ({} if is_new else {"from_cache": True})
        lines = record.lines(with_operators=options.mode == "info")
        lines += record.stages() if is_new else []
        if options.dump is not None:
            files = dump(record.steps, options.dump_stages or "all", options.dump)
            lines.append(line("dumped", f"{len(files)} texts into {options.dump}"))
        if options.mode == "build":
            what = "written" if is_new else "from cache"
            lines.append(line(what, f"{options.output}, {options.output.stat().st_size} bytes"))
        return lines

    def _made(self) -> Record:
        """Compile the model, and write the file that was asked for."""
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
        record = Record.of(model, time.perf_counter() - began)
        if options.mode == "build":
            model.save(options.output)
        elif options.mode == "check":  # whatever a build would refuse
            with tempfile.TemporaryDirectory() as folder:
                model.save(Path(folder) / "model.dvm")
        return record


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | list | None) else str(value)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    run, lines, failed = None, [], None
    try:
        options = read(sys.argv[1:] if arguments is None else arguments)
        run = Run(options)
        lines = run.run()
    except (dvm.Error, OSError, UsageError) as error:
        failed = error
    except KeyboardInterrupt:
        print("dvm-atc: interrupted", file=sys.stderr)
        return INTERRUPTED
    status = 0 if failed is None else printing.fail("dvm-atc", failed)
    if run is not None and options.report is not None:
        if failed is not None:
            run.report["error"] = f"{failed}"
        try:
            options.report.write_text(json.dumps(run.report, indent=1) + "\n", "utf-8")
        except OSError as error:
            status = printing.fail("dvm-atc", error)
    return (printing.show("dvm-atc", "\n".join(lines)) if lines else 0) or status
