"""The page of a run: causes, every play, its exchange in words; nothing that a target sends becomes markup."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.browser import NEEDS_BROWSER, dumped
from tests.conformance.report.test_outputs import HOSTILE, RUN, record
from wireproof.cli import command
from wireproof.conformance.report.decoded_exchange import MOST_BYTES, MOST_EVENTS, decoded_exchange, in_words
from wireproof.conformance.report.outputs import KeptEvidence, RunFolder

PLACE = {"role": "server", "protocol": "throttr", "profile": "7.1.0", "variant": "uint16"}


def event(direction: str, data: str = "", text: str = "", **more: Any) -> dict[str, Any]:
    return {"at_us": 1500, "connection": "a", "direction": direction, "hex": data, "text": text, **more}


ASKED = [
    event("event", text="opened: 4711"),
    event("sent", "02016b"),
    event("received", "010500"),
    event("received", "040100"),
]
WRONG = record("query/quota", "fail", exchange=ASKED, expected="QUERY_REPLY.quota = 7", got="5", byte=1, **PLACE)


def data_of(page: Path) -> dict[str, Any]:
    found = re.search(r"window\.wireproof = \{data: (.*)\};\n", page.read_text(encoding="utf-8"))
    assert found
    return json.loads(found[1])  # type: ignore[no-any-return]


def written(folder: Path, *records: dict[str, Any], evidence: KeptEvidence = KeptEvidence.FAILURES) -> dict[str, Any]:
    with RunFolder(folder, evidence=evidence) as run:
        for one in records:
            run.add(one)
        run.finish(RUN.summary(list(records), 1), list(records))
    return data_of(folder / "index.html")


def test_an_exchange_is_read_and_the_byte_that_differs_is_marked() -> None:
    opened, sent, half, rest = decoded_exchange(WRONG)

    assert opened == {"at": 1.5, "on": "a", "way": "event", "text": "opened: 4711"}
    assert sent["reads"] == ['QUERY(key=6b "k"), bytes 0 to 2']
    assert half["reads"] == ["3 bytes of a message that is not whole"]
    assert rest["reads"] == ["QUERY_REPLY(quota=5, ttl_type=4, ttl=1), bytes 0 to 5"]
    assert "mark" not in rest  # byte 1 came with the bytes before
    whole = decoded_exchange({**WRONG, "exchange": [*ASKED[:2], event("received", "010500040100")]})
    assert whole[-1]["mark"] == 1


def test_each_connection_is_read_as_its_link_and_inside_tls() -> None:
    greeting, reply = "eeaa00", "eeaa0100"
    place = {"protocol": "psrt", "profile": "1", "variant": "standard"}
    found = decoded_exchange(
        {
            **WRONG,
            **place,
            "exchange": [
                event("event", text="opened: 1"),
                event("sent", greeting),
                event("received", reply),
                {**event("event", text="opened: 2", link="data"), "connection": "d"},
                {**event("sent", "eeab00"), "connection": "d"},
            ],
        }
    )

    assert [one["reads"] for one in found if "reads" in one] == [
        ["GREETING(mode=0), bytes 0 to 2"],
        ["GREETING_REPLY(version=1), bytes 0 to 3"],
        ["DATA_GREETING(mode=0), bytes 0 to 2"],
    ]


def test_the_first_byte_that_differs_is_found_within_a_number() -> None:
    wrong = {
        **WRONG,
        "expected": "QUERY_REPLY.quota = 1285",
        "exchange": [*ASKED[:2], event("received", "010500040100")],
    }

    assert {name: decoded_exchange(wrong)[-1][name] for name in ("mark", "wanted")} == {"mark": 2, "wanted": "05"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "In the answer to QUERY the field quota must be 7, and was 5."),
        ({"got": "5; rests on a/b, which fails"}, "In the answer to QUERY the field quota must be 7, and was 5."),
        ({"expected": "STATUS(ok=1)", "got": "00"}, "The answer to QUERY must be STATUS(ok=1); what came: 00."),
        ({"expected": "STATUS", "verdict": "hang"}, "The answer to QUERY must be STATUS, and did not come in time."),
        ({"verdict": "pass"}, ""),
        ({"extra": {}}, ""),
    ],
)
def test_the_expectation_is_reported_in_words(changes: dict[str, Any], words: str) -> None:
    assert in_words({**WRONG, "extra": {"reply_to": "QUERY", "field": "quota", "asked": "QUERY"}, **changes}) == words


def test_what_cannot_be_read_says_so_and_the_other_side_is_read_on() -> None:
    events = decoded_exchange({**WRONG, "exchange": [event("sent", "ffff"), event("received", "05")]})

    assert events[0]["reads"][0].startswith("not to be read: ")
    assert events[0]["hex"] == "ffff"


def test_of_an_sdk_what_it_sends_is_received() -> None:
    events = decoded_exchange(
        {**WRONG, "role": "client", "exchange": [event("received", "02016b"), event("sent", "00")]}
    )

    assert events[0]["reads"] == ['QUERY(key=6b "k"), bytes 0 to 2']
    assert events[1]["reads"] == ["STATUS(ok=False), bytes 0 to 0"]


def test_long_exchanges_are_cut_and_say_so() -> None:
    long = [event("received", "00" * (MOST_BYTES + 3))] + [event("event", text=str(one)) for one in range(300)]
    found = decoded_exchange({**WRONG, "exchange": long})

    assert found[0]["more"] == 3
    assert len(found) == MOST_EVENTS + 1
    assert found[MOST_EVENTS // 2]["text"] == "101 events left out"


def test_the_page_has_every_play_and_the_sentences_of_its_clauses(tmp_path: Path) -> None:
    data = written(tmp_path, WRONG, record(**PLACE, record_id="ba9876543210"))

    assert [(one["case"], one["verdict"]) for one in data["records"]] == [
        ("query/quota", "fail"),
        ("insert/one", "pass"),
    ]
    assert data["causes"][0]["case"] == "query/quota"
    assert data["clauses"]["THR-INSERT-1"]["text"]
    assert set(data["files"]) == {"INSERT"}


def test_no_text_of_a_target_becomes_markup(tmp_path: Path) -> None:
    data = written(tmp_path, record(verdict="fail", **PLACE))
    page = (tmp_path / "index.html").read_text(encoding="utf-8")

    assert data["records"][0]["got"] == HOSTILE.replace("\ud800", "?")
    assert page.count("</script>") == 2
    assert "<script>&" not in page
    assert "\\u003cscript>&" in (tmp_path / "exchanges" / "INSERT.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("evidence", "kept"), [(KeptEvidence.FAILURES, {"fail"}), (KeptEvidence.ALL, {"fail", "pass"})]
)
def test_exchanges_of_passing_plays_are_kept_only_where_asked_for(
    evidence: KeptEvidence, kept: set[str], tmp_path: Path
) -> None:
    written(tmp_path, WRONG, record(**PLACE, record_id="ba9876543210"), evidence=evidence)
    lines = map(json.loads, (tmp_path / "records.jsonl").read_text(encoding="utf-8").splitlines())
    script = (tmp_path / "exchanges" / "INSERT.js").read_text(encoding="utf-8")

    assert {one["verdict"] for one in lines if one.get("exchange")} == kept
    assert ("ba9876543210" in script) is ("pass" in kept)


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, ["test", "throttr", "simulation", "-k", "query/fields", "--out", str(tmp_path)])

    assert done.exit_code == 0, done.output
    assert data_of(tmp_path / "index.html")["run"]["protocol"] == "throttr"


@pytest.mark.nightly
@NEEDS_BROWSER
def test_a_browser_shows_it_without_an_error(tmp_path: Path) -> None:
    written(tmp_path, WRONG, record(**PLACE, record_id="ba9876543210"))
    url = (tmp_path / "index.html").as_uri()
    start, play = dumped(url, str(tmp_path / "p")), dumped(f"{url}#{WRONG['record_id']}", str(tmp_path / "q"))

    assert "Cause 1 of 1" in start
    assert "2 of 2 plays" in start
    assert "wireproof test throttr tcp://h:1 --profile 7.1.0 --variant uint16 -k query/quota" in play
    assert "QUERY_REPLY(quota=5, ttl_type=4, ttl=1)" in play
    assert "INSERT" in dumped(f"{url}#group=INSERT", str(tmp_path / "r"))


@pytest.mark.nightly
@NEEDS_BROWSER
def test_a_browser_marks_the_byte_and_says_what_is_expected(tmp_path: Path) -> None:
    asked = [*ASKED[:2], event("received", "010500040100")]
    wrong = {**WRONG, "exchange": asked, "extra": {"reply_to": "QUERY", "field": "quota", "asked": "QUERY"}}
    written(tmp_path, wrong)
    play = dumped(f"{(tmp_path / 'index.html').as_uri()}#{wrong['record_id']}", str(tmp_path / "p"))

    assert "In the answer to QUERY the field quota must be 7, and was 5." in play
    assert '<mark title="byte 1">05</mark>' in play
    assert ">07</code>" in play


@pytest.mark.nightly
@NEEDS_BROWSER
def test_the_line_that_plays_it_again_starts_the_server_that_was_started(tmp_path: Path) -> None:
    written(tmp_path, WRONG)
    page = tmp_path / "index.html"
    text = page.read_text(encoding="utf-8")
    (found,) = [one for one in text.splitlines() if one.startswith("window.wireproof = {data:")]
    data = json.loads(found.removeprefix("window.wireproof = {data: ").removesuffix("};"))
    data["run"]["options"] = {"target_command": "it's mine --port {port}"}
    page.write_text(text.replace(found, f"window.wireproof = {{data: {json.dumps(data)}}};"), encoding="utf-8")

    play = dumped(f"{page.as_uri()}#{WRONG['record_id']}", str(tmp_path / "p"))

    assert "wireproof test throttr --target-command 'it'\\''s mine --port {port}' --profile 7.1.0" in play
