"""The page of benchmarks: that it is what was measured, and that its pictures can be read."""

import json
import re
from xml.etree import ElementTree

import pytest
from benchmarks.plots import charts, page

FOUND = json.loads(page.FIGURES.read_text("utf-8"))
FILES = page.files(FOUND)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_those_of_what_was_measured(path: page.Path) -> None:
    assert path.read_text("utf-8") == FILES[path], "run `python -m benchmarks.plots --write`"


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.suffix == ".svg"], ids=lambda path: path.name
)
def test_all_of_a_picture_is_within_it(path: page.Path) -> None:
    """On a phone it is shown in the size it is drawn in, so text of ten units is read there."""
    root = ElementTree.fromstring(FILES[path])
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    assert width == charts.WIDTH <= 390
    bars = 0
    for each in root.iter():
        name = each.tag.partition("}")[2]
        for key, limit in (("x", width), ("y", height), ("x2", width), ("y2", height)):
            if key in each.attrib:
                assert 0 <= float(each.attrib[key]) <= limit, each.attrib
        if name == "rect" and each.attrib["class"] != "back":
            assert float(each.attrib["x"]) + float(each.attrib["width"]) <= width
            bars += 1
        if name == "text":
            assert each.text is not None
            x, reach = float(each.attrib["x"]), 6.8 * len(each.text)
            kind = each.attrib.get("class", "")
            left = x - (reach if "end" in kind else reach / 2 if "mid" in kind else 0)
            assert left > -5, each.text
            assert left + reach < width + 25, each.text
    assert "prefers-color-scheme:dark" in FILES[path]


def test_the_page_says_where_dvm_is_behind() -> None:
    """Of all that is compared to it, whichever was faster is named."""
    text = FILES[page.DOCS / "benchmarks.md"]
    assert not re.search(r"[{}]", text)
    timings = {(t["workload"], t["n"], t["contender"]): t["microseconds"] for t in FOUND["peers"]}
    for (workload, n, contender), taken in timings.items():
        if taken < timings[workload, n, "dvm"]:
            assert workload.replace(" k=8", "") in text, (contender, n)
    for row in FOUND["models"]:
        if min(row["seconds"], key=row["seconds"].__getitem__) in ("inductor", "eager"):
            assert row["model"] in text


def test_numbers_are_written_short() -> None:
    found = [charts.number(value) for value in (0.254, 0.1, 1, 9.466, 12.4, 1000, 1e5, 1e7)]
    assert found == ["0.25", "0.1", "1", "9.47", "12", "1k", "100k", "10M"]
