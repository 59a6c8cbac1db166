"""`Compiled.inspect`: the stages of a compiled path as text.

A path's graph has symbolic sizes. Tiling and bytecode exist for concrete ones only, so the sizes of
the recorded call are kept per path here, and a call with other arguments can be sized again.
"""

from __future__ import annotations

import inspect as python_inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dvm import _dvm, errors

if TYPE_CHECKING:
    from dvm.magpy_capture import PathSpec

#: stage -> pass of the native driver; the graph is what all of them start from
STAGES = {"graph": None, "fused": "fuse", "tiles": "tile", "bytecode": "encode"}


@dataclass
class Recorded:
    """Where a path's tensors come from, and the sizes they had when it was recorded."""

    tensors: list[tuple[Any, ...]]
    sizes: dict[str, int]  # symbol -> size


def record(compiled: _dvm.Compiled[..., Any], spec: PathSpec, arguments: tuple[Any, ...]) -> None:
    """Keep the sizes of a recorded call under the text of its graph."""
    graph = str(spec.graph)
    sizes = _sizes(graph, spec.tensors, arguments)
    compiled.recorded[graph] = Recorded(spec.tensors, sizes)


def _sizes(
    graph: str, tensors: list[tuple[Any, ...]], arguments: tuple[Any, ...]
) -> dict[str, int]:
    # Each dimension of each input is a symbol of its own (docs/decisions.md), printed as its name.
    printed = re.findall(r"= input \w+\[(.*?)\]", graph)
    sizes: dict[str, int] = {}
    for shape, source in zip(printed, tensors, strict=True):
        symbols = [symbol for symbol in shape.split(", ") if symbol]
        sizes.update(zip(symbols, _fetch(source, arguments).shape, strict=True))
    return sizes


def _fetch(source: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
    kind, where, *name = source
    if kind == "argument":
        return arguments[where]
    return where[name[0]] if kind == "variable" else where.cell_contents


def bound(compiled: _dvm.Compiled[..., Any], args: Any, kwargs: Any) -> tuple[Any, ...]:
    """Return the arguments of a call in parameter order, defaults filled in."""
    binding = python_inspect.signature(compiled.__wrapped__).bind(*args, **kwargs)
    binding.apply_defaults()
    return tuple(binding.arguments.values())


def path_of_call(compiled: _dvm.Compiled[..., Any], args: Any, kwargs: Any) -> tuple[Any, int]:
    """Call the function; return its value and the index of the path the call took (or made).

    The index is into `_dvm.paths`, and -1 if the call left no trace there.
    """
    before = _dvm.paths(compiled)
    value = compiled(*args, **kwargs)
    after = _dvm.paths(compiled)
    for index, path in enumerate(after):
        same = index < len(before) and all(
            before[index].get(key) == path.get(key) for key in ("graph", "reason", "hits")
        )
        if not same:
            return value, index
    return value, -1


def inspect(compiled: _dvm.Compiled[..., Any], stage: str, args: Any, kwargs: Any) -> str:
    """See `Compiled.inspect`."""
    if stage not in STAGES:
        raise errors.unknown("unsupported", "stage", stage, STAGES)
    if args or kwargs:
        _, index = path_of_call(compiled, args, kwargs)
        paths = _dvm.paths(compiled)[index:][:1]
    else:
        paths = _dvm.paths(compiled)
    compiled_paths = [path for path in paths if not path["reason"]]
    if not compiled_paths:
        why = compiled.fallback_reasons or ["it was not called yet"]
        raise errors.make("capture_refused", f"{compiled.label} has no compiled path: {why[-1]}")
    arguments = bound(compiled, args, kwargs) if args or kwargs else None
    texts = [_stage_text(compiled, path["graph"], stage, arguments) for path in compiled_paths]
    if len(texts) == 1:
        return texts[0]
    return "\n".join(f"# path {index}\n{text}" for index, text in enumerate(texts))


def _stage_text(
    compiled: _dvm.Compiled[..., Any], graph: str, stage: str, arguments: tuple[Any, ...] | None
) -> str:
    pass_name = STAGES[stage]
    if pass_name is None:
        return graph
    options = f"target={compiled.options.target}"
    if compiled.options.numerics == "strict":
        options += " numerics=strict"
    if stage in ("tiles", "bytecode"):
        recorded = compiled.recorded[graph]
        sizes = recorded.sizes
        if arguments is not None:
            sizes = _sizes(graph, recorded.tensors, arguments)
        options += "".join(f" {symbol}={size}" for symbol, size in sizes.items())
    return _dvm.run_pass(pass_name, options, graph)
