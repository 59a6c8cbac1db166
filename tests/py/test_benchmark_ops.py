"""`make bench-ops`: that it runs end to end, says what it left out, and judges rightly."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.ops.figures import Figure, Verdict, by_case, judged, ratios
from benchmarks.ops.report import panels, table
from benchmarks.ops.sections import ALL, chosen
from benchmarks.ops.sections.suites import COMPILE, DYNAMIC, SUITES, verdicts

ROOT = Path(__file__).parents[2]


def test_all_of_it_runs(tmp_path: Path) -> None:
    """Every section has figures and a verdict of its own, or names what they needed."""
    file = tmp_path / "ops.json"
    command = [sys.executable, "-m", "benchmarks.ops", "--quick", "--threads", "1"]
    run = subprocess.run(
        [*command, "--json", str(file)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(file.read_text())
    assert found["quick"] is True
    assert [machine["threads"] for machine in found["machines"]] == [1]
    for name, reason in found["left_out"].items():
        assert f"left out: {name}: {reason}" in run.stdout
    figures = [Figure(**figure) for figure in found["figures"]]
    assert all(math.isfinite(figure.value) and figure.value >= 0 for figure in figures)
    sections = {section.NAME for section in ALL}
    if "search of tilings" in found["left_out"]:
        sections.remove("tilings")
    assert {figure.section for figure in figures} == sections
    for section in chosen([]):
        own = [figure for figure in figures if figure.section == section.NAME]
        said = [Verdict(**each) for each in found["verdicts"] if each["section"] == section.NAME]
        assert said == section.verdicts(own)
        assert all(verdict.cases > 0 for verdict in said)


def test_a_section_is_known_by_its_name() -> None:
    assert [section.NAME for section in chosen(["suites", "matmul"])] == ["matmul", "suites"]
    with pytest.raises(ValueError, match="no section matmuls; there are matmul, "):
        chosen(["matmuls"])


def figures_of(values: dict[str, tuple[float, ...]]) -> list[Figure]:
    """Return a case for each of the values, of contenders by name."""
    return [
        Figure("s", "g", str(case), 1, name, value)
        for name, all_values in values.items()
        for case, value in enumerate(all_values)
    ]


def test_ratios_are_over_the_best_that_took_part() -> None:
    figures = figures_of({"dvm": (2, 2, 2), "numpy": (4, 1, 5), "torch": (3, 9)})
    assert ratios(by_case(figures)["g", 1], "dvm", ["numpy", "torch"]) == {
        "0": 1.5,
        "1": 0.5,
        "2": 2.5,
    }


@pytest.mark.parametrize(
    ("bar", "worst_bar", "holds"), [(1.0, 0.5, True), (1.1, 0.5, False), (1.0, 0.6, False)]
)
def test_a_verdict_is_the_mean_and_the_worst(bar: float, worst_bar: float, holds: bool) -> None:
    figures = figures_of({"dvm": (2, 2), "numpy": (4, 1)})
    (found,) = judged("s", figures, "g", "over NumPy", "dvm", ["numpy"], bar, worst_bar)
    assert (found.average, found.worst, found.worst_case, found.cases) == (1.0, 0.5, "1", 2)
    assert found.holds() is holds
    assert table([found]).splitlines()[1].endswith("1" if holds else "1  BELOW")


def test_nothing_is_said_of_a_peer_that_did_not_take_part() -> None:
    assert judged("s", figures_of({"dvm": (1,)}), "g", "over torch", "dvm", ["torch"]) == []


def test_compilation_is_part_of_dvm_s_time() -> None:
    values = {"dvm": 90.0, COMPILE: 10.0, "torch": 200.0, DYNAMIC: 50.0}
    figures = [
        Figure("suites", suite, "a case", 2, name, value)
        for suite in SUITES
        for name, value in values.items()
    ]
    found = {verdict.what: verdict for verdict in verdicts(figures)}
    for suite in SUITES:
        assert found[f"{suite}: over torch eager"].average == pytest.approx(2)
        assert found[f"{suite}: over {DYNAMIC}"].average == pytest.approx(0.5)
        assert found[f"{suite}: allowed over largest compile"].average == pytest.approx(5)
        assert not found[f"{suite}: allowed over compile share"].holds()


def test_a_plot_has_a_panel_for_each_group_with_a_baseline() -> None:
    figures = figures_of({"dvm": (2, 4), "numpy": (4, 4), "opaque calls [1]": (0, 0)})
    assert panels(figures) == {"s: g": {"dvm": [(4, 2.0), (4, 1.0)], "numpy": [(4, 1.0), (4, 1.0)]}}
    assert panels(figures_of({"dvm": (2,)})) == {}
