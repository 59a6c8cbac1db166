"""The HTML of a Report, for notebooks: plain tables and <details>, no script, no style sheet."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dvm.explaining.report import Report


def render(report: Report) -> str:
    """Return `report` as one HTML fragment."""
    parts = [
        f"<p><b>{escape(report.function)}</b>: {escape(report.summary)}</p>"
        f"this call: {escape(report.outcome)} "
        f"(target {escape(report.target)}, {escape(report.numerics)})",
        _table(report.stats.keys(), [report.stats.values()]),
    ]
    if report.missed:
        parts.append(f"<p>missed because {escape('; '.join(report.missed))}</p>")
    if report.call:
        parts.append(_table((f"{key} ns" for key in report.call), [report.call.values()]))
    for index, path in enumerate(report.paths):
        opened = " open" if index == report.path else ""
        title = f"path {index}, {path['hits']} hits"
        body = _fallback(path) if path["reason"] else _compiled(path)
        parts.append(f"<details{opened}><summary>{title}</summary>{body}</details>")
    return "".join(parts)


def _fallback(path: dict[str, Any]) -> str:
    text = f"{path['location']}: {path['reason']}. {path['hint']}"
    return f"<p>runs uncompiled: {escape(text)}</p>"


def _compiled(path: dict[str, Any]) -> str:
    regions = _table(("region", "ops"), ((k, " ".join(v)) for k, v in path["regions"].items()))
    columns = ("verdict", "graph", "what", "rule", "reason", "location")
    decisions = _table(columns, ([d[key] for key in columns] for d in path["decisions"]))
    of_passes = ("stage", "name", "nanoseconds", "matches", "effects")
    passes = _table(of_passes, ([p[key] for key in of_passes] for p in path["passes"]))
    texts = "".join(
        f"<details><summary>{key}</summary><pre>{escape(path[key])}</pre></details>"
        for key in ("graph", "plan")
    )
    called = ("name", "location", "source", "hint")
    opaque = _table(called, ([call[key] for key in called] for call in path["opaque_calls"]))
    return regions + opaque + decisions + passes + texts


def _table(head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    def line(cells: Iterable[Any], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(str(c))}</{tag}>" for c in cells) + "</tr>"

    return "<table>" + line(head, "th") + "".join(line(row, "td") for row in rows) + "</table>"
