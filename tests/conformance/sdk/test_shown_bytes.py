"""How bytes are shown: short ones whole, long ones around the byte that differs."""

from __future__ import annotations

from wireproof.conformance.sdk.reported_values import differences
from wireproof.conformance.sdk.shown_bytes import first_difference, shown


def test_short_bytes_are_shown_whole() -> None:
    assert shown(b"") == "nothing"
    assert shown(bytes(range(16)), 9) == bytes(range(16)).hex()


def test_long_bytes_that_differ_at_the_beginning_are_cut_behind_it() -> None:
    assert shown(b"ab" * 200, 3) == f"{'6162' * 80}… (400 bytes)"


def test_of_long_bytes_what_is_around_the_difference_is_shown() -> None:
    wanted, came = b"v" * 65535, b"v" * 60000 + b"w" + b"v" * 5534

    at = first_difference(wanted, came)

    assert at == 60000
    assert shown(came, at) == f"{'76' * 32}… from byte 59968 {'76' * 32}77{'76' * 31}… (65535 bytes)"


def test_bytes_that_end_too_early_say_so() -> None:
    cut = b"v" * 60000

    assert shown(cut, first_difference(b"v" * 65535, cut)) == f"{'76' * 32}… from byte 59968 {'76' * 32} (60000 bytes)"


def test_a_long_value_that_is_reported_wrong_is_shown_where_it_differs() -> None:
    (found,) = differences({"value": {"hex": "76" * 5000}}, {"value": {"hex": "76" * 4096}})

    assert found.startswith(f"result.value: expected {'76' * 32}… from byte 4064 ")
    assert found.endswith("(4096 bytes): they differ at byte 4096")
