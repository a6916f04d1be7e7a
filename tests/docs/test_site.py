"""The site of the documentation: every page has its place, nothing comes from the network, the search finds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.browser import NEEDS_BROWSER, dumped
from tests.places import ROOT

NAV = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
GITHUB = ROOT / ".github"


def pages(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [page for one in (nav.values() if isinstance(nav, dict) else nav) for page in pages(one)]  # type: ignore[attr-defined]


def test_every_page_has_a_place() -> None:
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}

    assert set(pages(NAV)) - {"CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"} == there


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder


def test_a_page_loads_nothing_from_the_network(site: Path) -> None:
    loads = re.compile(r"<(?:link|script|img|iframe)\b[^>]*?(?:src|href)=\"(?:https?:)?//[^\"]*")
    for page in site.rglob("*.html"):
        assert loads.findall(page.read_text(encoding="utf-8")) == [], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_pages_are_searched_and_linked(site: Path) -> None:
    text = (site / "site" / "pages.js").read_text(encoding="utf-8")
    found = json.loads(text.removeprefix("window.wireproofPages = ").removesuffix(";\n"))
    index = (site / "index.html").read_text(encoding="utf-8")

    assert {one["url"] for one in found} >= {"index.html", "tutorial.html", "CHANGELOG.html", "drivers/index.html"}
    assert all((site / one["url"]).is_file() for one in found)
    assert 'href="tutorial.html"' in index
    assert "<code>docs/" not in index


@NEEDS_BROWSER
def test_a_browser_finds_a_page_without_a_server(site: Path, tmp_path: Path) -> None:
    typed = (
        'const f = document.getElementById("find"); f.value = "requirement set"; f.dispatchEvent(new Event("input"));'
    )
    page = (site / "tutorial.html").read_text(encoding="utf-8")
    (site / "try.html").write_text(
        page.replace("</body>", f"<script>setTimeout(() => {{{typed}}}, 200)</script></body>")
    )
    done = dumped((site / "try.html").as_uri(), str(tmp_path))

    (listed,) = re.findall(r'<ol id="found".*?</ol>', done, re.DOTALL)
    assert 'requirement-sets.html">' in listed


@pytest.mark.parametrize("path", sorted(GITHUB.rglob("*.yml")), ids=lambda path: path.name)
def test_a_workflow_or_template_is_yaml(path: Path) -> None:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))

    assert isinstance(found, dict)
    if path.parent.name == "workflows":
        assert found["permissions"]
        assert all("timeout-minutes" in job for job in found["jobs"].values())
