"""Two readers agree on every text: the codec's, and a naive one that was written from the facts alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.protocols.namechan.fuzz_sexp import write_seeds
from tests.protocols.namechan.two_readers import CODEC, first_frame, naive_frame, named, read
from wireproof.fuzz import coverage_guided
from wireproof.fuzz.known_targets import dictionary
from wireproof.fuzz.strategies import messages
from wireproof.protocols import Message
from wireproof.protocols.namechan import V1, Codec
from wireproof.protocols.namechan.profiles import FRAMES, HOOK, LINES
from wireproof.protocols.namechan.requests import Blank, Version
from wireproof.reference_server.namechan.oracle.reader import NAMES, requests

PLAIN = Codec.of(V1, "standard")
EXAMPLES = settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
REQUESTS = [one for one in LINES if one not in (Version, Blank)]
MARKS = [
    b"(",
    b")",
    b'"',
    b";",
    b"#",
    b"|",
    b"#|",
    b"|#",
    b"#;",
    b"\\",
    b"\n",
    b" ",
    b"\t",
    b"\r\n",
    b"\\x",
    b"\\1",
    b"0",
]
WORDS = [
    b"Connect", b"subscribe", b"Ack", b"From_beginning", b"(From_message ", b"unsubscribe", b"Publish", b"-1", b".5",
    b"2013-01-01", b"12:00:00Z", b"+01:00", b"18446744073709551616", b"(Unsubscribe t)", b"(ack 5)\n",
]  # fmt: skip


@pytest.mark.parametrize("kind", [*REQUESTS, *HOOK], ids=lambda kind: kind.NAME)
@given(data=st.data())
@EXAMPLES
def test_every_spelling_is_read_by_both(kind: type[Message], data: st.DataObject) -> None:
    message = data.draw(messages(CODEC, kind))
    expected, hook = ([named(message)], "whole"), kind in HOOK
    for text in (CODEC.encode(message), *CODEC.spellings(message).values()):
        assert requests(text, hook=hook) == expected, text
        assert read(text, hook=hook) == expected, text


@pytest.mark.parametrize("kind", [*REQUESTS, *HOOK], ids=lambda kind: kind.NAME)
@given(data=st.data(), seed=st.integers(0, 1 << 32))
@EXAMPLES
def test_a_damaged_spelling_is_read_or_refused_by_both(kind: type[Message], data: st.DataObject, seed: int) -> None:
    message, hook, draw = data.draw(messages(CODEC, kind)), kind in HOOK, Random(seed)
    text = draw.choice([CODEC.encode(message), *CODEC.spellings(message).values()])
    for _ in range(draw.randint(1, 3)):
        at, size = draw.randint(0, len(text)), draw.choice([0, 0, 1, 2, 5])
        text = text[:at] + draw.choice([b"", *MARKS, *WORDS]) + text[at + size :]

    assert requests(text, hook=hook) == read(text, hook=hook), text
    assert requests(text, publishes=False) == read(text, PLAIN), text


@given(st.lists(st.sampled_from([*MARKS, *WORDS]) | st.binary(max_size=2), max_size=30).map(b"".join))
@settings(EXAMPLES, max_examples=250)
def test_any_text_is_read_or_refused_by_both(text: bytes) -> None:
    for hook in (False, True):
        assert requests(text, hook=hook) == read(text, hook=hook), text


DIGITS = st.text("0123456789", min_size=1, max_size=4)


@given(st.tuples(*[DIGITS, st.sampled_from(["-", " ", ":", ".", "Z", "+", "T"])] * 8), st.data())
@settings(EXAMPLES, max_examples=120)
def test_any_time_is_read_or_refused_by_both(parts: tuple[str, ...], data: st.DataObject) -> None:
    year, month, day, hour, second = (data.draw(st.integers(0, most)) for most in (10000, 13, 32, 25, 61))
    zone = data.draw(st.sampled_from(["", "Z", "+01:00", "-23:59", "+24:00", "+1:00", " Z", "z"]))
    fraction = data.draw(st.sampled_from(["", ".5", ".123456", ".1234567", "."]))
    whole = f"{year:04}-{month:02}-{day:02} {hour:02}:{second:02}:{second:02}{fraction}{zone}"
    for one in ("".join(parts), whole):
        for form in (f'(Ack "{one}")\n', f"(Ack ({one}))\n", f"(Ack {one})\n"):
            text = form.encode()
            assert requests(text) == read(text), text


@pytest.mark.parametrize("kind", FRAMES, ids=lambda kind: kind.NAME)
@given(data=st.data())
@EXAMPLES
def test_what_a_server_writes_is_read_by_both(kind: type[Message], data: st.DataObject) -> None:
    message = data.draw(messages(CODEC, kind))
    written = CODEC.encode(message)
    assert naive_frame(written) == first_frame(written) == (*named(message), len(written))
    assert message.NAME in NAMES


RECORDS = [
    b"((id 3)(topic a))", b"((topic a)(id 3))", b"(Subscribed((id 3)(topic a)))", b"(unsubscribed((id 3)(topic a)))",
    b"((id 3))", b"((id 3)(id 3))", b"((id 4294967296)(topic a))", b'( #; x (id 3)(topic "a b")) ; end',
]  # fmt: skip


@given(
    kind=st.integers(0, 5),
    payload=st.binary(max_size=20) | st.sampled_from(RECORDS),
    more=st.sampled_from([*MARKS, b""]),
    lie=st.sampled_from([0, 0, 0, 1, -1, 300]),
)
@settings(EXAMPLES, max_examples=200)
def test_any_frame_is_read_or_refused_by_both(kind: int, payload: bytes, more: bytes, lie: int) -> None:
    payload += more
    data = max(0, len(payload) + 1 + lie).to_bytes(4, "big") + bytes([kind]) + payload
    assert naive_frame(data) == first_frame(data), data


@pytest.mark.skipif(not coverage_guided.is_available(), reason="no atheris here")
def test_a_search_guided_by_coverage_finds_no_difference(tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_text(dictionary("namechan"))
    write_seeds(tmp_path / "corpus")
    command = [sys.executable, "-m", "tests.protocols.namechan.fuzz_sexp", str(tmp_path / "corpus"), f"-dict={words}"]
    done = subprocess.run(
        [*command, "-max_total_time=3", f"-artifact_prefix={tmp_path}/"], capture_output=True, timeout=100, check=False
    )

    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]


def test_the_dictionary_holds_what_expressions_are_made_of() -> None:
    found = dictionary("namechan")

    for word in (b"#|", b"From_message", b"Create"):
        assert "".join(f"\\x{one:02x}" for one in word) in found
