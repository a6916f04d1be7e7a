"""What mkdocs does not do: links where a page names another one, pages from the root, and a search without a server."""

from __future__ import annotations

import json
import posixpath
import re
from html import unescape
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
FROM_ROOT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
MENTION = re.compile(r"(?<!\]\()(?<![\w\[/`])(?:docs/)?((?:[\w-]+/)?[\w-]+\.md)\b(?![`\]])")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
MOST = 40_000
"""Characters of a page that are searched."""
found: list[dict[str, str]] = []


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that stand in the root of the repository."""
    for name in FROM_ROOT:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make links of the names of pages, code apart."""
    here = posixpath.dirname(page.file.src_uri)

    def link(mention: re.Match[str]) -> str:
        known = files.get_file_from_path(mention[1])
        return f"[{known_title(mention[1])}]({posixpath.relpath(mention[1], here or '.')})" if known else mention[0]

    parts = FENCE.split(markdown)
    return "".join(part if part.startswith("```") else MENTION.sub(link, part) for part in parts)


def known_title(name: str) -> str:
    """Return what a link to a page says: its file, without folder."""
    return name.removesuffix(".md")


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Note what the page says, for the search."""
    text = " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())[:MOST]
    found.append({"title": str(page.title), "url": page.file.url, "text": text})
    return html


def on_post_build(config: MkDocsConfig) -> None:
    """Write what is searched as a script: a page that is opened as a file may load scripts and nothing else."""
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    Path(config.site_dir, "site", "pages.js").write_text(f"window.wireproofPages = {text};\n", encoding="utf-8")
    found.clear()
