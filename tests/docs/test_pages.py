"""The pages under docs/ say what the code and the data say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.places import ROOT
from wireproof.conformance.commands.docs import rendered

OUTSIDE = [ROOT / one for one in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "tests/README.md")]
PAGES = [*OUTSIDE, *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)\)")
FOLDERS = "docs|vectors|protocols|conformance|reference_server|reference_client|mutants|fuzz|spark|reports|tests"
MENTION = re.compile(rf"`((?:{FOLDERS})/[\w./-]+\.\w+)`")
PAGE = re.compile(r"\b(docs/[\w/-]+\.md)\b")


@pytest.mark.parametrize(("name", "text"), rendered().items(), ids=rendered().keys())
def test_a_rendered_page_is_what_the_data_says(name: str, text: str) -> None:
    assert text == (ROOT / "docs" / name).read_text(encoding="utf-8"), "run: wireproof docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_and_every_file_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [target for target in LINK.findall(text) if "://" not in target]

    missing = [one for one in links if not (page.parent / one).exists()]
    missing += [one for one in MENTION.findall(text) + PAGE.findall(text) if not (ROOT / one).exists()]

    assert missing == []
