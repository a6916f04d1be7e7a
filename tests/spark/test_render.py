"""The pages: cells are there, every string is escaped, nothing is fetched from anywhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from wireproof.spark.matrix import Collected, matrix_document
from wireproof.spark.render import markdown, octets, under, write_pages
from wireproof.spark.schemas import COUNTED

HOSTILE = '<script>alert("x")</script>|`*&'
COLUMN = {
    "protocol": "throttr",
    "profile": "7.1.0",
    "variant": "uint16",
    "role": "server",
    "implementation": HOSTILE,
    "implementation_version": "1.0",
}
COUNTS: dict[str, Any] = {verdict: 0 for verdict in COUNTED}
COUNTS |= {"pass": 2, "fail": 1, "untestable": 4, "k": 2, "n": 3, "plays": 9, "differing": ["bytes", HOSTILE]}
FAILED = COLUMN | {
    "group": "INSERT",
    "level": "MUST",
    "charged": "THR-1",
    "clauses": ["THR-1", HOSTILE],
    "number": 1,
    "of": 9,
    "case": "c1",
    "title": HOSTILE,
    "verdict": "fail",
    "delivery": "whole",
    "record_id": "0123456789ab",
    "run_id": "r",
    "blamed": "THR-1",
    "guilty": "target",
    "step": 1,
    "byte": 2,
    "expected": "010700",
    "got": "0107ff",
    "extra": {"history": f"before: {HOSTILE}\n> p1 ├──┤  #1 QUERY"},
    "exchange": [
        {"at_us": 1500, "connection": HOSTILE, "direction": "received", "hex": "0107ff" * 1000, "text": HOSTILE},
        {"at_us": None, "connection": None, "direction": None, "hex": None, "text": None},
    ],
}


PAIR = {
    **{name: COLUMN[name] for name in ("protocol", "profile", "variant")},
    "client": HOSTILE,
    "client_version": "1",
    "server": "a server",
    "server_version": HOSTILE,
    "agree": 5,
    "client_broke": 1,
    "server_broke": 2,
    "not_judged": 3,
}


@pytest.fixture
def pages(tmp_path: Path) -> dict[str, str]:
    """File name -> text of every page written for one column that fails one case."""
    run = COLUMN | {"run_id": HOSTILE, "run_started_at": "2026-01-01T10:00:00.000Z", "records": 7, "kept": True}
    may = COLUMN | {"group": "G", "case": "m", "title": HOSTILE, "clauses": ["A"], "answer": HOSTILE, "count": 1}
    corrupt = {"source": "/f", "kind": "corrupt", "reason": "not one JSON object", "count": 2, "example": HOSTILE}
    collected = Collected(
        clause_cells=[COLUMN | COUNTS | {"group": "INSERT", "level": "MUST", "clause": "THR-1"}],
        group_cells=[COLUMN | COUNTS | {"group": "INSERT", "level": "MUST"}],
        may_answers=[may],
        evidence=[FAILED],
        pairs=[PAIR],
        runs=[run],
        line_counts=[corrupt],
        files={"/f": True},
    )
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "stale.html").touch()
    write_pages(matrix_document(collected), collected.evidence, tmp_path)
    return {path.name: path.read_text() for path in tmp_path.rglob("*.*")}


def page(pages: dict[str, str], beginning: str) -> str:
    return next(text for name, text in pages.items() if name.startswith(beginning))


def test_a_cell_shows_k_of_n_what_is_left_out_a_symbol_and_a_link(pages: dict[str, str]) -> None:
    cell = re.search(r'<td class="cell fail.*?</td>', page(pages, "index").split("INSERT")[1], re.DOTALL)

    assert cell
    assert re.search(r'<a href="evidence/[^"]+#e[0-9a-f]+">', cell[0])
    assert "<i>✗</i>2/3 <small>+4</small>" in cell[0]
    assert 'title="2 of 3: 2 pass, 4 untestable, 1 fail; fails only under ' in cell[0]


def test_a_cell_names_the_segmentations_in_which_only_it_fails(pages: dict[str, str]) -> None:
    cell = re.search(r'<td class="cell fail.*?</td>', page(pages, "index").split("INSERT")[1], re.DOTALL)

    assert cell
    assert 'bytes (1 case)"' in cell[0]
    assert re.search(r'<small class="differing">≠ .*, bytes</small>', cell[0])
    assert re.search(r"\| INSERT \| MUST \| ✗ 2/3 \+4 ≠ .*, bytes \|", page(pages, "matrix.md"))
    assert under({"differing": {"a": 1, "b": 1, "c": 9}}) == "3 segmentations"
    assert under({"differing": {}}) == ""


@pytest.mark.parametrize("beginning", ["index", "throttr"])
def test_strings_of_records_are_escaped(pages: dict[str, str], beginning: str) -> None:
    html = page(pages, beginning)

    assert "<script" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("beginning", ["index", "throttr"])
def test_pages_stand_alone(pages: dict[str, str], beginning: str) -> None:
    html = page(pages, beginning)

    assert "default-src 'none'" in html
    assert not re.search(r"(src=|url\(|https?://|<link)", html)


def test_evidence_shows_both_sides_the_byte_and_the_exchange(pages: dict[str, str]) -> None:
    html = page(pages, "throttr")

    assert re.search(r'01 07 <mark title="byte 2">00</mark>', html)
    assert re.search(r'01 07 <mark title="byte 2">ff</mark>', html)
    assert "1.500 ms" in html
    assert "and 1976 bytes more" in html
    assert "8 more like these" in html
    assert "\n&gt; p1 ├──┤  #1 QUERY</pre>" in html


def test_evidence_of_an_earlier_matrix_goes(pages: dict[str, str]) -> None:
    assert "stale.html" not in pages


def test_the_footer_reports_what_did_not_count(pages: dict[str, str]) -> None:
    footer = page(pages, "index").split("<footer>")[1]

    assert "<b>2 corrupt</b>" in footer
    assert "1 damaged file" in footer


def test_markdown_keeps_its_table_whatever_the_names(pages: dict[str, str]) -> None:
    for table in pages["matrix.md"].split("\n## ")[1:]:
        rows = [line for line in table.splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
    lines = pages["matrix.md"].splitlines()
    assert any(line.startswith("| INSERT | MUST | ✗ 2/3 +4 ≠ ") for line in lines)


def test_markdown_text_stays_on_one_line_and_says_nothing_to_a_renderer() -> None:
    assert markdown("a|b\n<i>*c*&") == r"a\|b &lt;i&gt;\*c\*&amp;"


@pytest.mark.parametrize(
    ("hex_", "byte", "expected"),
    [
        ("01 0203", None, ("01 02 03", "", "", 0)),
        ("010203", 1, ("01", "02", "03", 0)),
        ("010203", 9, ("01 02 03", "", "", 0)),
        ("", 0, ("", "", "", 0)),
    ],
)
def test_octets_are_split_around_the_byte(hex_: str, byte: int | None, expected: tuple[Any, ...]) -> None:
    assert expected == octets(hex_, byte)


def test_both_roles_have_their_section_and_say_what_they_compare(tmp_path: Path) -> None:
    client = COLUMN | {"role": "client", "implementation": "an SDK"}
    cells = COUNTS | {"group": "INSERT", "level": "MUST"}
    run = {"run_id": "r", "run_started_at": "2026-01-01T10:00:00.000Z", "records": 7, "kept": True}
    collected = Collected(
        clause_cells=[],
        group_cells=[COLUMN | cells, client | cells],
        may_answers=[],
        evidence=[FAILED, FAILED | client],
        pairs=[],
        runs=[COLUMN | run, client | run],
        line_counts=[],
        files={},
    )

    write_pages(matrix_document(collected), collected.evidence, tmp_path)

    index, markdown_page = (tmp_path / "index.html").read_text(), (tmp_path / "matrix.md").read_text()
    of_client, of_server = index.split("<section")[1:]
    evidence = {"client" in path.name: path.read_text() for path in (tmp_path / "evidence").iterdir()}
    assert ">throttr 7.1.0 clients</a>" in index
    assert ">throttr 7.1.0 servers</a>" in index
    assert "an SDK" in of_client
    assert "what they report" in of_client
    assert "an SDK" not in of_server.split("<footer")[0]
    assert "What servers answer" in of_server
    assert "## throttr 7.1.0 clients" in markdown_page
    assert "## throttr 7.1.0 servers" in markdown_page
    assert "byte 2 of what it sent" in evidence[True]
    assert "byte 2 of the reply" in evidence[False]


def test_a_pair_says_who_broke_the_protocol_and_what_was_not_judged(pages: dict[str, str]) -> None:
    assert "clients with servers" in pages["index.html"]
    cell = pages["index.html"].split('class="pairs"')[1].split("</table>")[0]
    assert "5/8 <small>+3</small>" in cell
    assert "client broke 1" in cell
    assert "server broke 2" in cell
    assert "5/8 +3, client broke 1, server broke 2" in pages["matrix.md"]
