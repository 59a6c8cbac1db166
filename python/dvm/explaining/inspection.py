"""`Compiled.inspect`: the stages of a compiled path as text.

A path's graph has symbolic sizes. Tiling and bytecode exist for concrete ones only, so the sizes of
the recorded call are kept per path here, and a call with other arguments can be sized again.
"""

from __future__ import annotations

import inspect as python_inspect
import re
from typing import TYPE_CHECKING, Any

from dvm import _dvm, errors
from dvm.explaining.advice import advice_for_fallback
from dvm.magpy_capture.loops.histories import LoopHistories
from dvm.reasons import AT_ONCE

if TYPE_CHECKING:
    from dvm.magpy_capture import PathSpec

#: One graph of a path; a path has one per segment.
GRAPH = re.compile(r"graph v1 \{.*?\n\}\n", re.DOTALL)

#: stage -> pass of the native driver; the graph is what all of them start from
STAGES = {"graph": None, "fused": "..fuse", "tiles": "tile", "bytecode": "encode"}
#: and what there is behind each step
STAGES |= {name: f"..{name}" for name, *_ in _dvm.pass_table}


def record(compiled: _dvm.Compiled[..., Any], spec: PathSpec) -> None:
    """Keep the sizes of a recorded call under the text of each of its graphs."""
    compiled.recorded |= spec.recorded


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
        raise errors.unknown("unknown_name", "stage", stage, STAGES)
    if args or kwargs:
        _, index = path_of_call(compiled, args, kwargs)
        paths = _dvm.paths(compiled)[index:][:1]
    else:
        paths = _dvm.paths(compiled)
    sizes = _sizes_of_call(compiled, args, kwargs) if args or kwargs else None
    texts = texts_of(compiled, paths, stage, sizes)
    headed = [(f"graph {index}", text) for index, text in enumerate(texts)]
    headed += _turns(compiled, paths, stage, set())
    if not headed:
        raise no_path(compiled)
    if len(headed) == 1 and texts:
        return texts[0]
    return "\n".join(f"# {heading}\n{text}" for heading, text in headed)


def _turns(
    compiled: _dvm.Compiled[..., Any], paths: list[_dvm.PathRecord], stage: str, shown: set[int]
) -> list[tuple[str, str]]:
    """Return a stage of the graphs of loops and recursive functions that these paths hold.

    Each is under a heading. A turn, or a call, goes one of several ways, which are paths of their
    own; sizes are those of one that was captured. `shown` are those that have been: what calls
    itself is within itself.
    """
    lines = "\n".join(path["steps"] for path in paths if not path["reason"])
    headed = []
    loops = vars(compiled).get("loops", LoopHistories())
    repeated = [("loop", known) for known in loops.values()]
    repeated += [("function", known) for known in loops.recursions.values()]
    for kind, known in repeated:
        at = "{}:{}".format(*known.begin)
        step = rf" = loop .*# {re.escape(at)}$" if kind == "loop" else " = invoke "
        if known.rolled is None or id(known) in shown or not re.search(step, lines, re.M):
            continue
        shown.add(id(known))
        ways = _dvm.ways_of(known.rolled.loop)
        for number, way in enumerate(ways):
            for graph in GRAPH.findall(way["graph"]) if not way["reason"] else ():
                text = _stage_text(compiled, graph, stage, known.rolled.recorded[graph])
                headed.append((f"{kind} at {at}, way {number}", text))
        headed += _turns(compiled, ways, stage, shown)  # those within
    return headed


def no_path(compiled: _dvm.Compiled[..., Any]) -> errors.Error:
    """Return the exception for a question about a path where none was captured."""
    why: str = "it was not called yet"
    hint: str | None = AT_ONCE
    if compiled.fallback_reasons:
        why, hint = compiled.fallback_reasons[-1], advice_for_fallback(compiled)
    elif compiled.stats.calls:
        why = f"none of its {compiled.stats.calls} calls was captured"
    return errors.make("capture_refused", f"{compiled.label} has no compiled path: {why}", hint)


def texts_of(
    compiled: _dvm.Compiled[..., Any],
    paths: list[_dvm.PathRecord],
    stage: str,
    sizes: dict[str, int] | None = None,
) -> list[str]:
    """Return a stage of each graph of the paths; at the sizes of their captures when None."""
    graphs = [g for path in paths if not path["reason"] for g in GRAPH.findall(path["graph"])]
    return [_stage_text(compiled, graph, stage, sizes) for graph in graphs]


def _sizes_of_call(compiled: _dvm.Compiled[..., Any], args: Any, kwargs: Any) -> dict[str, int]:
    """The sizes that a call has, by recording it once more."""
    from dvm import magpy_capture

    return magpy_capture.lower(compiled, _dvm.record(compiled.__wrapped__, *args, **kwargs)).sizes


def _stage_text(
    compiled: _dvm.Compiled[..., Any], graph: str, stage: str, sizes: dict[str, int] | None
) -> str:
    pass_name = STAGES[stage]
    if pass_name is None:
        return graph
    options = f"target={compiled.options.target}"
    if compiled.options.numerics == "strict":
        options += " numerics=strict"
    if compiled.options.precision != "highest":
        options += f" precision={compiled.options.precision}"
    if stage in ("tiles", "bytecode"):
        known = compiled.recorded[graph] if sizes is None else sizes
        named = {name: size for name, size in known.items() if re.search(rf"\b{name}\b", graph)}
        options += "".join(f" {symbol}={size}" for symbol, size in named.items())
    passes = compiled.options.passes
    return _dvm.run_pass(pass_name, options, graph, None if passes is None else passes.native)
