"""The file that a report of a bug in dvm needs: what was recorded, and where the lowering failed.

It names what the program called and where, types and shapes; no contents of arrays.
"""

from __future__ import annotations

import os
import platform
import tempfile
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np

from dvm._version import __version__

#: The last events before the end, of a long recording.
EVENTS = 2000


def written(compiled: Any, recording: Any, error: BaseException) -> str:
    """Write the file, and return the end of a sentence that names it; "" where there is no place.

    Never raises: it is called while another exception is being told of.
    """
    try:
        handle, path = tempfile.mkstemp(prefix="dvm-repro-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(line + "\n" for line in _lines(compiled, recording, error))
    except Exception:
        return ""
    return f"; repro file: {path}"


def _lines(compiled: Any, recording: Any, error: BaseException) -> Iterator[str]:
    code = compiled.__wrapped__.__code__
    yield f"dvm {__version__}, NumPy {np.__version__}, Python {platform.python_version()}"
    yield f"{compiled.label} at {code.co_filename}:{code.co_firstlineno}, {compiled.options}"
    yield ""
    yield from "".join(traceback.format_exception(error, limit=-40)).splitlines()
    events, objects = recording["events"], [node[4] for node in recording["nodes"]]
    yield ""
    yield f"the last {min(len(events), EVENTS)} of {len(events)} events:"
    for kind, name, operands, keywords, result, at, followed in events[-EVENTS:]:
        given = ", ".join(_shown(node, objects) for node in operands)
        made = f" -> {_shown(result, objects)}" if result >= 0 else ""
        names = f" keywords {keywords}" if keywords else ""
        place = f"{at[0]}:{at[1]}"
        yield f"{place}: {kind} {name}({given}){names}{made}{' followed' if followed else ''}"


def _shown(node: int, objects: list[Any]) -> str:
    return f"#{node} {_kind_of(objects[node])}" if node >= 0 else "#?"


def _kind_of(thing: Any) -> str:
    """What it is, without running any code of its class."""
    if type(thing) is np.ndarray:
        return f"{thing.dtype}{list(thing.shape)}"
    if type(thing) in (int, float, bool, type(None)):
        return repr(thing)[:40]
    name = getattr(thing, "__qualname__", "") if callable(thing) else ""
    return f"{type(thing).__name__} {name}".rstrip()
