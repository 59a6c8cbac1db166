"""Figures and verdicts as a table, a plot and JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .figures import Figure, Verdict, by_case

BASELINES = ("torch", "numpy")


def table(verdicts: Sequence[Verdict]) -> str:
    """Return a line for each verdict: the average, the worst case, and what either should be."""
    lines = [
        f"{'section':10}{'what':46}{'threads':>8}{'cases':>7}{'average':>9}{'bar':>6}"
        f"{'worst':>8}{'bar':>6}  worst case"
    ]
    for v in verdicts:
        bars = [f"{bar:.2f}" if bar else "" for bar in (v.bar, v.worst_bar)]
        lines.append(
            f"{v.section:10}{v.what:46}{v.threads:>8}{v.cases:>7}{v.average:>9.3g}{bars[0]:>6}"
            f"{v.worst:>8.3g}{bars[1]:>6}  {v.worst_case}{'' if v.holds() else '  BELOW'}"
        )
    return "\n".join(lines)


def write_json(path: Path, found: dict[str, Any]) -> None:
    """Write figures, verdicts and what was left out."""

    def plain(value: Any) -> Any:
        return dataclasses.asdict(value)

    path.write_text(json.dumps(found, default=plain, indent=1))


def panels(figures: Sequence[Figure]) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return for each group, at its most threads, (microseconds, speedup) of each contender."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for section in dict.fromkeys(f.section for f in figures):
        groups = by_case(f for f in figures if f.section == section)
        for group in dict.fromkeys(group for group, _ in groups):
            cases = groups[group, max(threads for name, threads in groups if name == group)]
            points: dict[str, list[tuple[float, float]]] = {}
            for values in cases.values():
                base = next((values[name] for name in BASELINES if name in values), 0)
                for name, value in values.items():
                    if base and "[" not in name:
                        points.setdefault(name, []).append((base, base / value))
            if points:
                found[f"{section}: {group}"] = points
    return found


def write_plot(path: Path, figures: Sequence[Figure]) -> bool:
    """Plot speed relative to torch, or else to NumPy, over its time; False without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    found, columns = panels(figures), 4
    rows = max(1, -(-len(found) // columns))
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(4.2 * columns, 3.2 * rows), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[len(found) :]:
        axis.set_visible(False)
    for axis, (title, contenders) in zip(axes.flat, found.items(), strict=False):
        for name, points in contenders.items():
            xs, ys = zip(*sorted(points), strict=True)
            axis.plot(xs, ys, ".", label=name, markersize=6 if name == "dvm" else 3)
        axis.axhline(1, color="grey", linewidth=0.5)
        axis.set(title=title, xscale="log", yscale="log")
        axis.legend(fontsize="x-small")
    figure.supxlabel("microseconds of the baseline")
    figure.supylabel("speed, baseline = 1")
    figure.savefig(path, dpi=100)
    return True
