"""Both readers of namechan and TMQP agree on the parser's seeds, and find a codec that reads something else."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import pytest

from tests.fuzz.planting import plant
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.parser_input import check_one, combinations, rebuild_codecs, seeds
from wireproof.protocols import packed, sexp_messages
from wireproof.protocols.sexp import SexpReader
from wireproof.reference_server.registry import reader_of, texts_of


@cache
def texts() -> tuple[bytes, ...]:
    """Return the seeds that spell what the document allows in ways that no codec writes."""
    known = {text for link in ("lines", "hook") for text in texts_of("namechan", link)}
    return tuple(one for one in seeds("namechan") if not one[1] and one[3:] in known)


def test_each_text_is_a_seed_of_each_server_that_reads_it() -> None:
    servers = [one for one in combinations("namechan") if one.reader and not one.is_client]

    assert len(servers) == 8
    assert len(texts()) == sum(len(texts_of("namechan", one.link_name)) for one in servers) > 300
    check_all(texts())


def test_throttr_has_no_second_reader() -> None:
    assert reader_of("throttr", link="", role="server", is_new=True) is None
    assert texts_of("throttr", "") == ()


WRONG: list[tuple[Any, str, str, str]] = [
    (SexpReader, "_escape", "self._parts.append(_ESCAPES[first])", "self._parts.append(_ESCAPES[first] & 0x3F)"),
    (SexpReader, "_escape", 'digits, 16 if first == ord("x") else 10', "digits, 16"),
    (SexpReader, "_escape", "number > 255", "number > 254"),
    (SexpReader, "_escape", "self._mode = _Mode.INDENT", "pass"),
    (SexpReader, "_block", '1 if mark[0] == b"#|" else -1', '0 if mark[0] == b"#|" else -1'),
    (SexpReader, "_take", "self._due[-1] -= 1", "self._due[-1] = 0"),
    (SexpReader, "_bare", 'b"#|" in value or b"|#" in value', 'b"#|" in value'),
    (sexp_messages, "_zone", '-away if text[:1] == b"-" else away', 'away if text[:1] == b"-" else -away'),
    (sexp_messages, "_zone", '> b"59"', '> b"60"'),
    (sexp_messages, "_time", '.ljust(6, b"0")', '.rjust(6, b"0")'),
    (sexp_messages, "_time", "int(digits) > LAST_SECOND", "int(digits) >= LAST_SECOND"),
    (sexp_messages, "_word", "_constructor(head.value) if", "head.value if"),
]
"""What reads wrong, and writes the same bytes again -> found by no round trip."""


@pytest.mark.parametrize(("where", "name", "old", "new"), WRONG, ids=[f"{one[1]} {one[3]}" for one in WRONG])
def test_what_no_round_trip_shows_is_found(
    where: type | ModuleType, name: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = texts()
    plant(monkeypatch, where, name, old, new)

    with pytest.raises(InvariantError, match="a second reader reads the same"):
        check_all(some)


@cache
def texts_of_tmqp() -> tuple[bytes, ...]:
    known = set(texts_of("tmqp", "messages"))
    return tuple(one for one in seeds("tmqp") if not one[1] and one[3:] in known)


def test_each_text_of_tmqp_is_a_seed_of_each_profile() -> None:
    assert len({one[0] for one in texts_of_tmqp()}) == 2
    check_all(texts_of_tmqp(), "tmqp")


@pytest.mark.parametrize(
    ("old", "new"),
    [("if name and colon", "if name"), ("if name and colon", "if colon"), ("line.partition", "line.rpartition")],
)
def test_headers_of_tmqp_that_both_directions_take_for_others(
    old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = texts_of_tmqp()
    plant(monkeypatch, packed, "_rows_of", old, new)
    rebuild_codecs("tmqp")

    with pytest.raises(InvariantError, match="a second reader reads the same"):
        check_all(some, "tmqp")
    monkeypatch.undo()
    rebuild_codecs("tmqp")


def check_all(some: tuple[bytes, ...], spoken: str = "namechan") -> None:
    for one in some:
        check_one(spoken, one)
