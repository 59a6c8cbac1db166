"""Timings as a table, a plot and JSON."""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from pathlib import Path

from .measure import Timing


def by_row(timings: list[Timing]) -> dict[tuple[str, int, int], dict[str, float]]:
    rows: dict[tuple[str, int, int], dict[str, float]] = defaultdict(dict)
    for t in timings:
        rows[(t.workload, t.n, t.threads)][t.contender] = t.microseconds
    return rows


def table(timings: list[Timing], names: list[str]) -> str:
    """Return dvm's time and how many times longer every other contender takes."""
    others = [name for name in names if name != "dvm"]
    lines = [
        f"{'workload':14}{'n':>10}{'threads':>8}{'dvm us':>12}"
        + "".join(f"{o:>15}" for o in others)
    ]
    for (workload, n, threads), row in by_row(timings).items():
        size = str(n) if n else "50 new"
        cells = [f"{row[o] / row['dvm']:.2f}x" if o in row else "-" for o in others]
        lines.append(
            f"{workload:14}{size:>10}{threads:>8}{row['dvm']:>12.1f}"
            + "".join(f"{cell:>15}" for cell in cells)
        )
    return "\n".join(lines)


def write_json(path: Path, timings: list[Timing]) -> None:
    path.write_text(json.dumps([dataclasses.asdict(t) for t in timings], indent=1))


def write_plot(path: Path, timings: list[Timing]) -> bool:
    """Plot speed relative to NumPy over n, one panel per workload; False without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = {key: row for key, row in by_row(timings).items() if key[1] and "numpy" in row}
    threads = max(key[2] for key in rows)
    workloads = list(dict.fromkeys(key[0] for key in rows))
    columns = 4
    figure, axes = pyplot.subplots(
        -(-len(workloads) // columns),
        columns,
        figsize=(4 * columns, 3 * -(-len(workloads) // columns)),
        squeeze=False,
        layout="constrained",
    )
    for axis in axes.flat[len(workloads) :]:
        axis.set_visible(False)
    for axis, workload in zip(axes.flat, workloads, strict=False):
        points: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for (name, n, used), row in rows.items():
            if name == workload and used == threads:
                for contender, time in row.items():
                    points[contender].append((n, row["numpy"] / time))
        for contender, line in points.items():
            axis.plot(*zip(*sorted(line), strict=True), label=contender, marker=".")
        axis.set(title=workload, xscale="log", yscale="log", xlabel="n")
    axes.flat[0].set_ylabel("speed, NumPy = 1")
    axes.flat[0].legend(fontsize="small")
    figure.suptitle(f"Whole calls, {threads} thread(s)")
    figure.savefig(path, dpi=110)
    return True
