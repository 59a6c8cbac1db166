"""The report of `dvm.explain`: one call, and every path the function has, as data.

`Report.to_dict()` is the whole of it in plain JSON types; text and HTML are views of that dict.
All records (reasons, decisions, pass times) are the ones the native core keeps; nothing is
re-derived here.
"""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from typing import Any

from dvm import _dvm, splitting
from dvm.explaining import inspection
from dvm.explaining.advice import advice_for_rule
from dvm.explaining.lines import quoted, source
from dvm.explaining.operations import NODE, fused_graphs
from dvm.explaining.summary import region_lines, summary
from dvm.graphs import Step
from dvm.magpy_capture.loops.histories import LoopHistories, LoopHistory, RecursionHistory

#: Of the text form, unless it is to be verbose; `to_dict` has all.
MOST_LINES, MOST_LETTERS = 200, 300
#: What the time of a replay goes to: sizes, checks and outputs, then the Regions' phases.
PHASES = ("plan", "bind", "tile", "encode", "run")


@dataclass(frozen=True)
class Report:
    """What one call of a compiled function did. Times are in nanoseconds.

    summary: what happened, in one sentence.
    outcome: "hit", "captured", "fallback", "split" (it ran in parts), "drop" or "refused" (the
        function is never compiled as a whole).
    path: index into `paths` of the path taken, or on which the call was given up; -1 if of none.
    missed: why the call matched none of the paths there were before it, or why the path that it
        matched could not serve it (a drop); empty for a hit.
    hint: what to do about a refusal; empty otherwise.
    call: nanoseconds of each of PHASES on this call, and the number of regions;
        None if nothing compiled ran.
    paths: per path hits, and reason, location, source and hint (of one that is not compiled), or
        graph, plan, regions, decisions, passes with times, and name, location, source and hint of
        each opaque call. Graphs are numbered over all paths.
    parts: per part of a function that is split, its first and last line, whether it is compiled,
        and if so its stats and why some of its calls were not, or else whether it holds the parts
        behind it.
    loops: per loop that was met where it begins, the counts of turns seen, whether it is one body
        for all counts and how many ways turns of that go, or why not, and where that was found;
        of one body, how many turns ran on the machine of numbers and small arrays, how many were
        replayed one by one, and the line that the machine has no instructions for.
    recursions: per function that has called itself, whether it is one body for all calls and how
        many ways these go, or why not, and where that was found.
    """

    function: str
    summary: str
    target: str
    numerics: str
    outcome: str
    path: int
    missed: list[str]
    hint: str
    call: dict[str, int] | None
    stats: dict[str, int]
    paths: list[dict[str, Any]]
    parts: list[dict[str, Any]]
    loops: list[dict[str, Any]]
    recursions: list[dict[str, Any]]
    verbose: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the report in JSON types."""
        return asdict(self)

    def __str__(self) -> str:
        lines = _lines(self)
        if self.verbose:
            return "\n".join(lines)
        if len(lines) > MOST_LINES:
            left = len(lines) - MOST_LINES + 1
            lines = [
                *lines[: MOST_LINES - 1],
                f"and {left} more lines: dvm.explain(.., verbose=True)",
            ]
        return "\n".join(
            line if len(line) <= MOST_LETTERS else f"{line[:MOST_LETTERS]} ..." for line in lines
        )

    def _repr_html_(self) -> str:
        from dvm.explaining.html import render

        return render(self)


def explain_call(
    compiled: _dvm.Compiled[..., Any], args: Any, kwargs: Any, *, verbose: bool = False
) -> Report:
    """Call `compiled` once and report it; see `dvm.explain`."""
    missed = [miss["text"] for miss in _dvm.explain_miss(compiled, *args, **kwargs)]
    if not _dvm.paths(compiled) and not _dvm.refusal(compiled):
        first = compiled.stats.calls == 0
        missed = ["it is the first call" if first else "no call has been captured yet"]
    refusal = _dvm.refusal(compiled)
    before = compiled.stats
    _, index = inspection.path_of_call(compiled, args, kwargs)
    after = compiled.stats
    outcome = "refused"
    if not _dvm.refusal(compiled):
        outcomes = {"captured": "captures", "hit": "hits", "drop": "drops", "split": "splits"}
        outcome = next(
            (name for name, key in outcomes.items() if getattr(after, key) > getattr(before, key)),
            "fallback",
        )
    timed = None
    if outcome in ("hit", "captured"):
        timed = _dvm.timed_call(compiled, *args, **kwargs)
    paths = _paths(_dvm.paths(compiled))
    known = vars(compiled).get("loops", LoopHistories())
    return Report(
        function=compiled.label,
        summary=summary(compiled, outcome, paths[index] if index >= 0 else None, missed),
        target=compiled.options.target,
        numerics=compiled.options.numerics,
        outcome=outcome,
        path=index,
        missed=missed,
        hint=refusal.advice if refusal else "",
        call=timed[1] if timed else None,
        stats=after.counters(),
        paths=paths,
        parts=_parts(compiled.parts or ()),
        loops=list(map(_loop, known.values())),
        recursions=list(map(_recursion, known.recursions.values())),
        verbose=verbose,
    )


def _parts(parts: tuple[Any, ...]) -> list[dict[str, Any]]:
    made = [_part(part) for part in parts]
    for part, behind in itertools.pairwise(made):
        part["holds"] = behind["lines"][0] <= part["lines"][1] and not part["compiled"]
    return made


def _part(part: Any) -> dict[str, Any]:
    compiled = isinstance(part, _dvm.Compiled)
    lines = splitting.own_lines((part.__wrapped__ if compiled else part).__code__)
    return {
        "lines": (min(lines), max(lines)),
        "compiled": compiled,
        "holds": False,
        "stats": part.stats.counters() if compiled else {},
        "reasons": part.fallback_reasons if compiled else [],
    }


def _loop(loop: LoopHistory) -> dict[str, Any]:
    made = _recursion(loop)
    rolled = made["rolled"]
    return {
        **made,
        "counts": sorted(loop.counts),
        "turns": loop.turns if rolled else {},
        "replayed_at": loop.replayed_at if rolled else "",
    }


def _recursion(known: LoopHistory | RecursionHistory) -> dict[str, Any]:
    """What is told of a loop, too."""
    rolled = known.rolled is not None and known.reason is None
    return {
        "location": _text_of(known.begin),
        "rolled": rolled,
        "ways": known.ways if rolled else 0,
        "reason": str(known.reason or ""),
        "at": _text_of(known.at) if known.reason else "",
        "hint": known.reason.advice if known.reason else "",
    }


def _text_of(location: tuple[str, int]) -> str:
    return f"{location[0]}:{location[1]}"


def _paths(paths: list[_dvm.PathRecord]) -> list[dict[str, Any]]:
    graphs = 0
    described = []
    for path in paths:
        described.append(_path(path, graphs))
        graphs += len(fused_graphs(path))
    return described


def _path(path: _dvm.PathRecord, graphs: int) -> dict[str, Any]:
    """Return one path in JSON types; `graphs` is the number of its first graph."""
    if path["reason"]:
        return {
            "hits": path["hits"],
            "reason": str(path["reason"]),
            "code": path["reason"].code,
            "location": path["location"],
            "source": source(path["location"]),
            "hint": path["reason"].advice,
        }
    return {
        "hits": path["hits"],
        "reason": "",
        "target": path["target"],
        "graph": path["graph"],
        "plan": path["plan"],
        "regions": _regions(path, graphs),
        "lines": region_lines(path, graphs),
        "opaque_calls": [
            {**call, "source": source(call["location"]), "hint": advice_for_rule("opaque-call")}
            for call in path["opaque_calls"]
        ],
        "decisions": [
            {**decision, "graph": graphs + decision["graph"]} for decision in path["decisions"]
        ],
        "passes": [Step(*made).without_text() for made in path["passes"]],
    }


def _regions(path: _dvm.PathRecord, graphs: int) -> dict[str, list[str]]:
    """Region -> its operations, as why_not_fused takes them: "g0.r1" -> ["%3 mul", "%5 sum"]."""
    regions: dict[str, list[str]] = {}
    for number, graph in enumerate(fused_graphs(path), graphs):
        ops = {int(node): op for node, op, *_ in NODE.findall(graph)}
        for index, members in enumerate(_dvm.region_members(graph, path["target"])):
            regions[f"g{number}.r{index}"] = [f"%{node} {ops[node]}" for node in members]
    return regions


def _lines(report: Report) -> list[str]:
    """Return the text form, line by line."""
    lines = [
        f"{report.function}: {report.summary}",
        f"  this call: {report.outcome} (target {report.target}, {report.numerics})",
    ]
    lines += [f"  missed because {reason}" for reason in report.missed]
    if report.outcome == "refused":
        lines.append(f"  hint: {report.hint}")
    if report.call:
        split = ", ".join(f"{k} {report.call[k]} ns" for k in PHASES)
        lines.append(f"  {report.call['regions']} kernel(s): {split}")
    lines.append("  " + ", ".join(f"{name} {count}" for name, count in report.stats.items()))
    lines += map(_part_line, report.parts)
    for loop in report.loops:
        lines += _loop_lines(loop)
    for function in report.recursions:
        lines += _recursion_lines(function)
    ran = report.outcome in ("hit", "captured")
    met = ", taken by this call" if ran else ", where this call was given up"
    for index, path in enumerate(report.paths):
        lines.append(f"path {index} ({path['hits']} hits{met * (index == report.path)})")
        lines += _fallback_lines(path) if path["reason"] else _compiled_lines(path, report.verbose)
    return lines


def _part_line(part: dict[str, Any]) -> str:
    first, last = part["lines"]
    where = f"line {first}" if first == last else f"lines {first} to {last}"
    if not part["compiled"]:
        return f"  part {where}: runs as it is{' but for parts within' * part['holds']}"
    hits, calls = part["stats"]["hits"], part["stats"]["calls"]
    why = f"; {part['reasons'][-1]}" if part["reasons"] else ""
    return f"  part {where}: compiled, {hits} hits in {calls} calls{why}"


def _loop_lines(loop: dict[str, Any]) -> list[str]:
    """Nothing of one that was met with one count only, and is short."""
    if loop["rolled"]:
        line = (
            f"  loop at {loop['location']}: one body for any count, of which turns go {_ways(loop)}"
        )
        if not loop["replayed_at"]:
            return [line]
        turns = f"{loop['turns']['replayed']} turns were replayed one by one, for the machine of"
        return [line, f"    {turns} numbers has nothing for {quoted(loop['replayed_at'])}"]
    if not loop["reason"]:
        return []
    return _why_apart(f"  loop at {loop['location']}: each count is another path", loop)


def _recursion_lines(function: dict[str, Any]) -> list[str]:
    """Nothing of one whose calls all went alike so far."""
    where = f"  recursive function at {function['location']}"
    if function["rolled"]:
        return [f"{where}: one body for all calls, which go {_ways(function)}"]
    if not function["reason"]:
        return []
    return _why_apart(f"{where}: each shape of its calls is another path", function)


def _ways(known: dict[str, Any]) -> str:
    return f"{known['ways']} way{'s' * (known['ways'] != 1)}"


def _why_apart(what: str, known: dict[str, Any]) -> list[str]:
    because = f"{what}, for it is {known['reason']}"
    return [f"{because} ({quoted(known['at'])})", f"  hint: {known['hint']}"]


def _fallback_lines(path: dict[str, Any]) -> list[str]:
    where = f"{path['location']}: " if path["location"] else ""
    return [
        f"  runs uncompiled: {where}{path['reason']}",
        *([f"    {path['source']}"] if path["source"] else []),
        f"  hint: {path['hint']}",
    ]


def _pass_lines(path: dict[str, Any]) -> list[str]:
    """What passes of the user's did, and where one nearly would have."""
    replaced: dict[str, list[str]] = {}
    nearly: list[str] = []
    for decision in path["decisions"]:
        kind, _, rest = decision["what"].partition(" ")
        if kind != "pass":
            continue
        title, _, node = rest.rpartition(" ")
        lines = replaced.setdefault(title, [])
        if decision["verdict"] == "yes":
            lines.append(decision["location"])
        else:
            why = f"g{decision['graph']}:{node}: {decision['reason']}"
            nearly.append(f"  pass {title}: not {why} ({decision['location']})")
    return [
        *(
            f"  pass {title}: {len(lines)} replaced ({', '.join(dict.fromkeys(lines))})"
            for title, lines in replaced.items()
            if lines
        ),
        *nearly,
    ]


def _compiled_lines(path: dict[str, Any], verbose: bool) -> list[str]:
    lines = []
    for name, ops in path["regions"].items():
        shown = ops if verbose else [op.partition(" ")[2] for op in ops]
        lines.append(f"  kernel {name}: {', '.join(shown)}")
        lines += [f"    {quoted(location)}" for location in path["lines"][name]]
    lines += _pass_lines(path)
    for call in path["opaque_calls"]:
        lines.append(f"  not compiled, an opaque call: {call['name']} ({quoted(call['location'])})")
    if path["opaque_calls"]:
        lines.append(f"  hint: {path['opaque_calls'][0]['hint']}")
    if not verbose:
        return lines
    lines += [
        f"  {d['verdict']}: g{d['graph']} {d['what']} [{d['rule']}] {d['reason']}"
        + (f" ({d['location']})" if d["location"] else "")
        for d in path["decisions"]
    ]
    passes = (
        f"{p['name']} {p['nanoseconds'] / 1000:.1f}"
        + (f" ({p['effects']} of {p['matches']})" if p["matches"] else "")
        for p in path["passes"]
    )
    return [*lines, f"  passes in us, and what they changed: {', '.join(passes)}"]
