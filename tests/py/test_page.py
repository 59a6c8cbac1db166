"""The page of a profile, as text and in a browser (where there is one), and the magics."""

import base64
import itertools
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import dvm
from dvm import __main__ as command_line
from dvm import _dvm
from dvm.profiling.chrome_trace import EVENTS, columns
from dvm.profiling.page.graph import boxes_of
from dvm.profiling.page.layout import GAP, LAYER, Layout, lay_out
from dvm.profiling.page.picture import Bar, Row, of_launch, svg
from dvm.profiling.subjects import FunctionSubject

Array = np.ndarray[Any, Any]
X = np.linspace(-1, 1, 200 * 300, dtype=np.float32).reshape(200, 300)
SIM = "ascend910b3"


def softmax_of_sorted(x: Array) -> Array:
    top = np.sort(np.tanh(x))
    e = np.exp(top - top.max(axis=1, keepdims=True))
    return e / e.sum(axis=0)


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    dvm.set_stance("force_capture")
    made = {
        target: dvm.profile(softmax_of_sorted, target=target)(X).page() for target in (SIM, "cpu")
    }
    dvm.set_stance("default")
    return made


@pytest.mark.parametrize("target", [SIM, "cpu"])
def test_a_page_is_one_small_file_without_requests(pages: dict[str, str], target: str) -> None:
    text = pages[target]
    assert len(text.encode()) < 1_000_000
    assert "default-src 'none'" in text
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", text)
    data = json.loads(re.search(r'id="profile">(.*?)</script>', text, re.S)[1])  # type: ignore[index]
    assert data["schema"] == 1
    assert "top.max(axis=1" in text
    assert 'id="timeline"' in text
    # A machine that is busy has no roofs, and the page says so.
    assert 'id="roofline"' in text or (target == "cpu" and "roofs of this machine are unk" in text)
    assert "dvm.program" in text


# Whatever memory the allocator has at hand: addresses say nothing of a simulated cache.
@pytest.mark.parametrize("others", range(5))
def test_equal_profiles_have_equal_pages(pages: dict[str, str], others: int) -> None:
    arrays = [np.empty_like(X) for _ in range(others)]
    del arrays[::2]
    assert dvm.profile(softmax_of_sorted, target=SIM)(X).page() == pages[SIM]


def test_markup_in_a_program_stays_text() -> None:
    def tagged(x: Array) -> Array:
        return x * 2 < 1  # </script><b id="own">

    page = dvm.profile(tagged, target=SIM)(X).page()
    assert '<b id="own">' not in page
    assert page.count("</script>") == 3


def luminance(color: str) -> float:
    digits = color[1:] if len(color) == 7 else "".join(2 * c for c in color[1:])
    parts = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_colors_can_be_told_apart_in_both_themes(pages: dict[str, str]) -> None:
    themes = re.findall(r":root[^{]*\{([^}]*--back[^}]*)\}", pages[SIM])
    assert len(themes) == 3
    for theme in themes:
        colors = dict(re.findall(r"--(\w+): (#\w+)", theme))
        for name in ("text", "soft", "link"):
            for behind in ("back", "panel"):
                assert contrast(colors[name], colors[behind]) >= 4.5, (name, behind)
        assert contrast(colors["text"], colors["chosen"]) >= 4.5
        for name in ("line", "bar", "warm"):
            assert contrast(colors[name], colors["back"]) >= 3, name


def points_of(way: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return points along an edge as it is drawn: straight within layers, bent between them."""
    found = []
    for k, ((x0, y0), (x1, y1)) in enumerate(itertools.pairwise(way)):
        for t in np.linspace(0, 1, 25).tolist():
            s = 1 - t
            bent = (s**3 + 3 * s * s * t) * x0 + (3 * s * t * t + t**3) * x1
            middle = (y0 + y1) / 2
            down = s**3 * y0 + 3 * s * t * middle + t**3 * y1
            found.append((bent, down) if k % 2 else (x0, y0 + t * (y1 - y0)))
    return found


def assert_laid_out(
    layout: Layout, sizes: list[tuple[float, float]], before: dict[int, set[int]]
) -> None:
    boxes = [(*corner, *size) for corner, size in zip(layout.corners, sizes, strict=True)]
    for k, (x, y, width, height) in enumerate(boxes):
        assert x >= -1
        assert x + width <= layout.width + 1
        assert y + height <= layout.height
        assert all(boxes[b][1] + boxes[b][3] + LAYER <= y for b in before.get(k, ()))
        for other, top, wide, tall in boxes[k + 1 :]:
            beside = x + width + GAP / 2 <= other or other + wide + GAP / 2 <= x
            assert beside or y + height <= top or top + tall <= y
    for (source, target), way in layout.ways.items():
        for x, y in points_of(way):
            for k, (left, top, width, height) in enumerate(boxes):
                inside = left < x < left + width and top < y < top + height
                assert not inside or k in (source, target), (source, target, k)


@pytest.mark.parametrize("seed", range(30))
def test_edges_of_a_graph_run_beside_its_boxes(seed: int) -> None:
    draw = np.random.default_rng(seed)
    count = int(draw.integers(1, 40))
    sizes = [(210.0, float(26 + 16 * draw.integers(1, 9))) for _ in range(count)]
    before = {
        k: {int(b) for b in draw.integers(0, k, int(draw.integers(0, 4)))} for k in range(1, count)
    }
    layout = lay_out(sizes, before)
    assert layout.ways.keys() == {(b, k) for k, reads in before.items() for b in reads}
    assert_laid_out(layout, sizes, before)


def test_a_graph_of_many_kernels_is_laid_out_quickly() -> None:
    before = {k: {k // 2, k // 3, max(k - 7, 0)} for k in range(1, 400)}
    begin = time.process_time()
    lay_out([(210.0, 58.0)] * 400, before)
    assert time.process_time() - begin < 10


def test_the_page_keeps_kernels_apart_by_the_rules_that_why_not_fused_names() -> None:
    f = dvm.compile(softmax_of_sorted, target=SIM)
    with dvm.stance("force_capture"):
        f(X)
    boxes, refused = boxes_of(FunctionSubject(f))
    assert refused
    assert {op for box in boxes for op in box.lines}.isdisjoint(_dvm.view_ops)
    for edge in refused:
        a, b = edge.pair.split(" and ")
        assert {one.rule for one in f.why_not_fused(a, b)} >= {edge.rule}, edge
        assert edge.source in boxes[edge.target].before


def test_the_command_line_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "f.py", tmp_path / "page.html"
    file.write_text("import numpy as np\ndef f(x):\n    return np.tanh(x) * 2\n")
    asked = [f"{file}:f", "--arg", "f32[64,64]", "--target", SIM]
    assert command_line.main(["report", *asked, "-o", str(out)]) == 0
    assert "np.tanh(x) * 2" in out.read_text("utf-8")
    trace = tmp_path / "trace.json"
    assert command_line.main(["profile", *asked, "--trace", str(trace)]) == 0
    assert json.loads(trace.read_text())["traceEvents"]
    assert "g0.r0" in capsys.readouterr().out
    assert command_line.main(["report", *asked, "-o", str(tmp_path / "no" / "page.html")]) == 2


# ---- in a browser


def opened(browser: Any, page: str, folder: Path) -> None:
    path = folder / "page.html"
    path.write_text(page, "utf-8")
    browser.get(path.as_uri())
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 60).until(
        lambda b: b.execute_script("return 'ready' in document.documentElement.dataset")
    )


def view(browser: Any) -> tuple[int, int]:
    data = browser.find_element("id", "timeline")
    return int(data.get_attribute("data-from")), int(data.get_attribute("data-to"))


@pytest.mark.parametrize("target", [SIM, "cpu"])
@pytest.mark.parametrize("width", [1280, 700])
def test_a_page_in_a_browser(
    browser: Any, pages: dict[str, str], target: str, width: int, tmp_path: Path
) -> None:
    browser.set_window_size(width, 1000)
    opened(browser, pages[target], tmp_path)
    # It fits: what is wider scrolls by itself.
    inner, page = browser.execute_script("return [innerWidth, document.body.scrollWidth]")
    assert page <= inner
    # A kernel opens its source.
    browser.execute_script("document.querySelector('#graph a[data-k]').scrollIntoView()")
    name = browser.execute_script(
        "const a = [...document.querySelectorAll('#graph a[data-k]')]"
        ".find(a => a.dataset.k.includes('.r'));"
        "a.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true, view: window}));"
        "location.hash = a.getAttribute('href'); return a.dataset.k"
    )
    browser.execute_async_script("setTimeout(arguments[0], 50)")
    chosen = browser.find_elements("css selector", "#lines tr.chosen code")
    assert any("np." in code.text for code in chosen)
    assert name in browser.find_element("id", "said").text
    # A refused edge names its rule.
    browser.execute_script(
        "location.hash = document.querySelector('#graph a[data-e]').getAttribute('href')"
    )
    browser.execute_async_script("setTimeout(arguments[0], 50)")
    rule = browser.find_element("css selector", "#refused tr.chosen td:nth-child(3)").text
    assert rule
    assert rule in browser.find_element("id", "said").text
    # The timeline zooms, by keys and by the wheel, and says what is under a click.
    canvas = browser.find_element("id", "timeline")
    canvas.send_keys("0")
    begin, end = view(browser)
    canvas.send_keys("+")
    assert view(browser)[1] - view(browser)[0] < end - begin
    canvas.send_keys("0")
    assert view(browser) == (begin, end)
    browser.execute_script(
        "arguments[0].dispatchEvent(new WheelEvent('wheel',"
        "{ctrlKey: true, deltaY: -1, cancelable: true}))",
        canvas,
    )
    assert view(browser)[1] - view(browser)[0] < end - begin
    canvas.send_keys("n")
    assert "from" in browser.find_element("id", "shown").text
    # Nothing was asked for, and nothing complained.
    asked = browser.execute_script("return performance.getEntriesByType('resource').length")
    assert asked == 0
    assert [entry for entry in browser.get_log("browser") if entry["level"] != "INFO"] == []


def test_the_theme_button(browser: Any, pages: dict[str, str], tmp_path: Path) -> None:
    opened(browser, pages[SIM], tmp_path)
    back = "return getComputedStyle(document.body).backgroundColor"
    before = browser.execute_script(back)
    browser.find_element("id", "theme").click()
    assert browser.execute_script(back) != before


# ---- magics


class Shell:
    """What the magics use of IPython's shell."""

    execution_count = 1

    def __init__(self, **names: Any):
        self.user_ns: dict[str, Any] = names
        self.magics: dict[str, Any] = {}
        self.compile = SimpleNamespace(
            ast_parse=lambda text, _: compile(text, "<cell>", "exec", 1024), cache=lambda *_: ""
        )

    def register_magic_function(self, function: Any, kind: str, name: str) -> None:
        assert kind == "line_cell"
        self.magics[name] = function

    def transform_cell(self, cell: str) -> str:
        return cell


def test_magics() -> None:
    shell = Shell(f=softmax_of_sorted, x=X)
    dvm.load_ipython_extension(shell)
    magic = shell.magics["dvm"]
    assert magic("explain f(x)").outcome in ("captured", "hit")
    assert magic(f"profile --target {SIM} f(x)").target == SIM
    assert magic("profile f(x=x)").target == "cpu"
    page = magic(f"page --target {SIM} f(x)")
    html = page._repr_html_()
    assert html.index("<pre>") < html.index("<iframe")  # what is left where frames are dropped
    assert "sandbox" in html
    cell = magic(f"profile --target {SIM}", "y = x[:10].copy()\nf(y)")
    assert cell.value.shape == (10, 300)
    with pytest.raises(dvm.UnsupportedError, match="explain"):
        magic("explode f(x)")
    with pytest.raises(dvm.UnsupportedError, match="no call"):
        magic("explain f")
    with pytest.raises(NameError):
        magic("explain g(x)")
    with pytest.raises(SyntaxError):
        magic("explain f(")


@pytest.mark.captures
def test_magics_in_ipython() -> None:
    pytest.importorskip("IPython")
    source = (
        "%load_ext dvm\nimport numpy as np\ndef f(x):\n    return np.tanh(x) * 2\n\n"
        "line = 'profile --target ascend910b3 f(np.ones(9))'\n"
        "print(str(get_ipython().run_line_magic('dvm', line)))\n"
    )
    command = [sys.executable, "-m", "IPython", "--no-banner", "--quick", "-c", source]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert "bound by" in ran.stdout, ran.stderr


# ---- pictures


def added(x: Array, y: Array) -> Array:
    return x + y


def test_figure_6_of_the_paper_is_a_timeline() -> None:
    x = np.ones((32, 1024), np.float16)
    profile = dvm.profile(added, target=SIM)(x, x.copy())
    (kernel,) = profile.to_dict()["kernels"]
    assert (kernel["cores"], kernel["tiles"]) == (40, 40)
    ((_, timing),) = profile.timelines()  # type: ignore[attr-defined]
    done = columns(timing["events"], EVENTS)
    first = {key: column[done["core"] == 0] for key, column in done.items()}
    names = [one["name"] for one in timing["instructions"]]
    assert names == ["load.f16", "load.f16", "add.f16", "store.f16"]
    ran = {
        int(first["insn"][k]): (first["begin"][k], first["end"][k], first["done"][k])
        for k in np.flatnonzero((first["waits"] == 0) & (first["insn"] >= 0))
    }
    # Loads one behind the other; what comes next waits for their flag, 15 cycles and one for each
    # flag that it looks at.
    assert ran[1][0] == ran[0][1]
    assert ran[2][0] == pytest.approx(ran[1][2] + 15 + 2)
    assert ran[3][0] == pytest.approx(ran[2][2] + 15 + 1)
    picture = of_launch("Fig. 6", timing)
    rows = re.findall(r"<g><title>([^<]*)</title>", picture)
    assert [name for name in rows if not name.startswith("wait")] == names
    assert picture.count("<circle") == 2  # load to add, add to store


def test_pictures_stay_where_scripts_and_styles_go() -> None:
    for target in (SIM, "cpu"):
        html = dvm.profile(softmax_of_sorted, target=target)(X)._repr_html_()
        assert not re.search(r"<(script|style|svg|iframe)", html)
        (data,) = re.findall(r'<img alt="[^"]+" src="data:image/svg\+xml;base64,([^"]+)">', html)
        root = ElementTree.fromstring(base64.b64decode(data))
        assert len(root.findall(".//{*}rect")) > 3
        assert len(html) < 300_000


def test_pictures_merge_what_lies_on_one_pixel() -> None:
    bars = [Bar(k, k + 0.5, f"bar {k}") for k in range(100_000)]
    picture = svg("many", [Row("V", bars)], [], "cycles")
    assert 300 < picture.count("<rect") < 3000
