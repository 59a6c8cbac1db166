"""docs/benchmarks.md and its pictures, made of what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import charts

FIGURES = Path(__file__).with_name("measured.json")
TEXT = Path(__file__).with_name("page.md")
DOCS = Path(__file__).resolve().parents[2] / "docs"
#: as the benchmark has it -> as people say it
CONTENDERS = {
    "dvm": "dvm",
    "torch": "torch",
    "torch.compile": "torch.compile",
    "jax.jit": "jax.jit",
    "numexpr": "numexpr",
}
PANELS = {
    "cheap k=8": "8 of +, *, maximum",
    "math k=8": "8, with exp, tanh, gelu",
    "softmax": "softmax of rows",
    "layer norm": "layer norm of rows",
}
#: those that are drawn
LOOPS = (
    *("recurrence", "runge_kutta", "kalman", "n_body", "conjugate_gradients", "floyd_warshall"),
    *("hidden_markov_forward", "knapsack", "game_of_life", "gauss_seidel", "running_sums"),
    *("over_a_list", "collatz", "polynomial", "longest_common", "doubled"),
)
COMPILERS = {"native": "dvm.compile", "dvm": 'backend="dvm"', "inductor": "inductor"}
SCRIPTS = {"filtered": "30 operations, 3 branches", "diffused": "50 steps of a stencil"}


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms))


def of_peers(found: list[dict[str, Any]]) -> tuple[dict[str, str], str]:
    numpy = {(t["workload"], t["n"]): t["microseconds"] for t in found if t["contender"] == "numpy"}
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    speeds: dict[tuple[str, int], dict[str, float]] = {}
    for timing in found:
        name = CONTENDERS.get(timing["contender"])
        if name is None:
            continue
        case = timing["workload"], timing["n"]
        speed = numpy[case] / timing["microseconds"]
        speeds.setdefault(case, {})[name] = speed
        panel = panels.setdefault(PANELS[timing["workload"]], {})
        panel.setdefault(name, []).append((timing["n"], speed))
    own = [speed["dvm"] for speed in speeds.values()]
    lost = [case for case, each in speeds.items() if each["dvm"] < max(1, *each.values())]
    ahead = len(speeds) - len(lost)
    telling = {
        "peers_low": charts.number(round(min(own), 2)),
        "peers_high": charts.number(round(max(own), 1)),
        "peers_lost": f"it is the fastest of all in {ahead} of {len(speeds)} cases"
        + (f", another is at {told(lost)}" if lost else ""),
    }
    drawn = charts.lines(
        "Speed of whole calls, NumPy is 1", panels, "speed, NumPy = 1", "elements, or row length"
    )
    return telling, drawn


def told(cases: list[tuple[str, int]]) -> str:
    """`softmax (64, 256)` of each program."""
    sizes: dict[str, list[str]] = {}
    for workload, n in cases:
        sizes.setdefault(workload.replace(" k=8", ""), []).append(charts.number(n))
    return ", ".join(f"{name} ({', '.join(each)})" for name, each in sizes.items())


def of_unseen(found: list[dict[str, Any]]) -> tuple[dict[str, str], str]:
    names = {"eager": "eager", **COMPILERS}
    rows = {
        names[row["contender"]]: {"new lengths": row["total"], "once more": row["again"]}
        for row in found
    }
    own = sum(sum(row["compiling"]) for row in found if row["contender"] == "dvm")
    drawn = charts.bars("Seconds for 50 lengths of GPT-2", rows, "seconds for all 50 lengths")
    return {"unseen_share": f"{own:.2f}"}, drawn


def of_models(found: list[dict[str, Any]]) -> tuple[dict[str, str], str]:
    rows = {
        row["model"]: {
            shown: row["seconds"]["eager"] / row["seconds"][name]
            for name, shown in COMPILERS.items()
        }
        for row in found
    }
    means = {
        name: geometric_mean(row[shown] for row in rows.values())
        for name, shown in COMPILERS.items()
    }
    behind = [
        model
        for model, row in rows.items()
        if max(row, key=row.__getitem__) == COMPILERS["inductor"] or max(row.values()) < 1
    ]
    telling = {f"models_{name}": f"{mean:.2f}" for name, mean in means.items()}
    telling["models_lost"] = (
        f"on {' and '.join(behind)} inductor or eager PyTorch is the fastest"
        if behind
        else "dvm is the fastest on all of them"
    )
    return telling, charts.bars(
        "Speed of models, eager PyTorch is 1", rows, "speed, eager PyTorch = 1", from_one=True
    )


def of_lazy(found: dict[str, list[tuple[int, float]]]) -> tuple[dict[str, str], str]:
    panel = {SCRIPTS[name]: points for name, points in found.items()}
    slower = sorted({n for each in found.values() for n, speed in each if speed < 1})
    drawn = charts.lines(
        "Speed of lazy arrays, NumPy is 1", {"": panel}, "speed, NumPy = 1", "elements", columns=1
    )
    told = f"slower than NumPy at {', '.join(map(charts.number, slower))} elements"
    return {"lazy_slower": told if slower else "faster than NumPy at all sizes"}, drawn


def of_loops(found: dict[str, float]) -> tuple[dict[str, str], str]:
    rows = {
        name.replace("_", " "): {"dvm": speed}
        for name, speed in sorted(found.items(), key=lambda row: -row[1])
        if name in LOOPS
    }
    slower = sum(speed < 1 for speed in found.values())
    telling = {
        "loops_mean": f"{geometric_mean(found.values()):.1f}",
        "loops_count": str(len(found)),
        "loops_slower": str(slower or "none"),
    }
    return telling, charts.bars(
        "Speed of loops, Python is 1",
        rows,
        "speed, Python = 1",
        from_one=True,
        label_width=150,
    )


def files(found: dict[str, Any]) -> dict[Path, str]:
    """What stands in docs/, by path."""
    telling = {**found["machine"]}
    for name, report in (("one_op", "one op"), ("ten_ops", "ten ops")):
        telling[name] = f"{100 * found['calls'][report]:.0f} %"
    made: dict[Path, str] = {}
    for name, of in (
        ("peers", of_peers),
        ("unseen", of_unseen),
        ("models", of_models),
        ("lazy", of_lazy),
        ("loops", of_loops),
    ):
        words, made[DOCS / f"benchmarks-{name}.svg"] = of(found[name])
        telling |= words
    return {DOCS / "benchmarks.md": TEXT.read_text("utf-8").format(**telling), **made}
