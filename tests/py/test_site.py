"""The documentation as a site: it builds, its links lead somewhere, and a phone shows it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from whole import some

ROOT = Path(__file__).resolve().parents[2]
#: what a link may lead to beside pages of the site
OUTWARD = re.compile(r"https?:|mailto:|data:|javascript:")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it as `make site` does: a warning, of a link that leads nowhere say, is an error."""
    pytest.importorskip("mkdocs", reason="the site is built with the requirements `site`")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


def pages_of(site: Path) -> list[Path]:
    return sorted(page for page in site.rglob("*.html") if page.name != "404.html")


def test_all_documents_are_pages(site: Path) -> None:
    documents = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/notebooks").glob("*.ipynb")]
    wanted = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in documents}
    examples = {path.name.replace(".", "_") for path in (ROOT / "examples").glob("*.*")}
    wanted |= {Path("examples", f"{name}.html") for name in examples if not name.endswith("_md")}
    wanted |= {Path("index.html"), Path("changelog.html"), Path("contributing.html")}
    assert wanted <= {page.relative_to(site) for page in pages_of(site)}


def test_links_lead_somewhere(site: Path) -> None:
    for page in pages_of(site):
        for link in re.findall(r'(?:href|src)="([^"]+)"', page.read_text("utf-8")):
            path, _, _ = link.partition("#")
            if path and not OUTWARD.match(path):
                assert (page.parent / path.partition("?")[0]).resolve().exists(), (page, link)


def test_the_reference_has_what_is_public(site: Path) -> None:
    import dvm

    text = (site / "api/dvm.html").read_text("utf-8")
    for name in dvm.__all__:
        if not name.startswith("__") and name not in ("lazy", "onnx", "passes", "torch"):
            assert f'id="dvm.{name}"' in text, name


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_its_window(site: Path, browser: Any, width: int) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    for page in some(pages_of(site), 12):
        browser.get(page.as_uri())
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, f"{page.relative_to(site)} is {wide} wide"
