"""Symbols: every form of bytes and numbers, keys of a case's own, saved values, choices, and errors that help."""

from dataclasses import replace
from typing import Any

import pytest

from tests.conformance.scripted import make_symbols
from wireproof.conformance.suite import declared
from wireproof.conformance.suite.symbolic import message_of, steps_of, value_of
from wireproof.conformance.suite.symbols import SymbolError, Symbols
from wireproof.conformance.suite.written import as_written
from wireproof.protocols import protocol
from wireproof.protocols.throttr.requests import Insert, Query

BYTES = [
    ("abc", b"abc"),
    (7, b"7"),
    (b"raw", b"raw"),
    ({"hex": "00ff"}, b"\x00\xff"),
    ({"hex": ""}, b""),
    ({"fill": 0x61, "size": 3}, b"aaa"),
    ({"fill": 0x61, "size": 4, "prefix": "xy"}, b"xyaa"),
    ({"fill": 0x61, "size": 1, "prefix": "xy"}, b"x"),
    ({"fill": 0x61, "size": "N + 1"}, b"aaa"),
    ({"join": ["a", {"hex": "00"}, "b"]}, b"a\x00b"),
    ({"hex_of": {"hex": "0aff"}}, b"0aff"),
    ({"uint": 5, "size": 2}, b"\x05\x00"),
    ({"uint": "MAX - 1", "size": "N"}, b"\xfe\xff"),
    ({"message": {"QUERY": {"key": "k"}}}, b"\x02\x01k"),
    ("v{i}", b"v3"),
    ({"hex": "0{i}"}, b"\x03"),
    ("@id", b"saved"),
    ("@count", b"12"),
]


@pytest.mark.parametrize(("spec", "data"), BYTES, ids=[str(spec) for spec, _ in BYTES])
def test_every_form_of_bytes(spec: Any, data: bytes) -> None:
    symbols = make_symbols(i=3)
    symbols.saved.update(id=b"saved", count=12)

    assert data == symbols.data(spec if isinstance(spec, bytes) else value_of(spec))


def test_nested_messages_go_from_the_inside_out() -> None:
    nest = {"nest": {"message": {"EVENT": {"channel": ""}}, "field": "payload"}, "times": 2, "around": {"hex": "18"}}

    assert bytes.fromhex("19000500" + "19000100" + "18") == make_symbols("7.3.2").data(value_of(nest))


@pytest.mark.parametrize(
    "spec",
    [None, True, 1.5, [], {}, {"hex": "0"}, {"hex": "zz"}, {"uint": 300, "size": 1}, {"fill": -1, "size": 9}],
)  # fmt: skip
def test_what_is_no_bytes_is_a_symbol_error(spec: Any) -> None:
    with pytest.raises(SymbolError):
        make_symbols().data(value_of(spec))


def test_keys_differ_by_case_namespace_and_name() -> None:
    keys = {
        make_symbols(case=case, namespace=space).data(name)
        for case in ("a/b", "a/c") for space in ("1", "2") for name in ("$k", "$l")
    }  # fmt: skip

    assert len(keys) == 8


def test_a_key_is_the_same_each_time_and_short_enough_for_a_size_byte() -> None:
    assert make_symbols().data("$k") == make_symbols().data("$k")
    assert len(make_symbols(namespace="abcdef").data("$k")) < 20


def test_what_was_not_saved_is_reported() -> None:
    with pytest.raises(SymbolError, match="nothing was saved as 'id'"):
        make_symbols().data("@id")


def test_an_unknown_variable_in_a_text_is_reported_with_the_known_ones() -> None:
    with pytest.raises(SymbolError, match=r"TOLERANCE.*i"):
        make_symbols(i=1).data("x{j}")


NUMBERS = [
    (7, "quota", 7), ("MAX", "quota", 65535), ("N", "", 2), ("seconds", "ttl_type", 4), ("t", "ttl_type", 5),
    ("q", "quota", 65533), ("@seen + 1", "quota", 41), ("seen", "", 40), ("TOLERANCE * 2", "", 0.5),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "field", "number"), NUMBERS)
def test_every_form_of_numbers(spec: Any, field: str, number: float) -> None:
    symbols = make_symbols(t="minutes", q="MAX - 2")
    symbols.saved["seen"] = 40

    assert number == symbols.number(value_of(spec), field)


@pytest.mark.parametrize("spec", [None, True, [], "nonsense", "seconds", "MAX -"])
def test_what_is_no_number_is_a_symbol_error_naming_the_field(spec: Any) -> None:
    with pytest.raises(SymbolError, match="quota"):
        make_symbols().number(spec, "quota")


def test_choices_are_taken_at_any_depth() -> None:
    value = {"by_profile": {"7.1.0": {"by_variant": {"uint8": "x", "else": "y"}}, "7.3.2": "z"}}
    spec = steps_of(
        [{"send": [{"GET": {"key": {"join": [value]}}}, {"by_profile": {"7.1.0": "INFO", "else": ["LIST", "INFO"]}}]}]
    )

    def here(profile: str, variant: str) -> Any:
        return as_written(make_symbols(profile, variant).here(spec))

    assert here("7.1.0", "uint16") == [{"send": [{"GET": {"key": {"join": ["y"]}}}, "INFO"]}]
    assert here("7.1.0", "uint8") == [{"send": [{"GET": {"key": {"join": ["x"]}}}, "INFO"]}]
    assert here("7.3.2", "uint8") == [{"send": [{"GET": {"key": {"join": ["z"]}}}, "LIST", "INFO"]}]


def test_a_choice_without_mine_is_reported() -> None:
    with pytest.raises(SymbolError, match=r"by_profile: nothing for 7\.1\.0; it has 7\.3\.2"):
        make_symbols().here(steps_of([{"wait": {"by_profile": {"7.3.2": 1}}}]))


def test_a_message_needs_every_field_or_a_star() -> None:
    symbols = make_symbols()

    assert Query(b"k") == symbols.message(message_of({"QUERY": {"key": "k"}}))
    assert Insert(9, 0, 0, b"k") == symbols.message(message_of({"INSERT": {"quota": 9, "key": "k", "*": 0}}))
    with pytest.raises(SymbolError, match=r"INSERT\.ttl_type is missing"):
        symbols.message(message_of({"INSERT": {"quota": 9, "key": "k"}}))


@pytest.mark.parametrize(
    ("spec", "detail"),
    [
        ({"QUERRY": {}}, "no message 'QUERRY'; it has .*QUERY"),
        ({"QUERY": {"kee": "k"}}, "QUERY has no field kee; it has key"),
        ({"QUERY": {}, "GET": {}}, "expected one message"),
        (7, "expected a mapping or a text, got 7"),
        ({"QUERY": [1]}, "expected"),
    ],
)
def test_a_message_that_is_none_is_reported_with_what_there_is(spec: Any, detail: str) -> None:
    with pytest.raises(SymbolError, match=detail):
        make_symbols().message(message_of(spec))


def test_short_values_of_fixed_size_fields_are_padded_with_zeros() -> None:
    assert b"ab" + bytes(14) == make_symbols("7.3.2").message(message_of({"CONNECTION": {"id": "ab"}})).id  # type: ignore[attr-defined]


def test_functions_of_the_protocol_compute_bytes() -> None:
    asked: list[dict[str, object]] = []

    def joined(**arguments: object) -> bytes:
        asked.append(arguments)
        return b"made"

    known = make_symbols(v=5)
    known.protocol = replace(known.protocol, functions={"joined": joined})
    inner = {"message": {"QUERY": {"key": "k"}}}
    spec = {"call": "joined", "key": {"hex": "0001"}, "ttl_type": "seconds", "of": inner, "n": 3}

    assert known.data(value_of(spec)) == b"made"
    assert asked == [{"key": b"\x00\x01", "ttl_type": 4, "of": b"\x02\x01k", "n": 3}]
    with pytest.raises(SymbolError, match="no function 'seal'; there is joined"):
        known.data(value_of({"call": "seal"}))


def test_parameters_of_the_protocol_have_a_usual_value_and_the_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declared, "parameters", lambda name: {"DEPTH": 3})
    detail: Any = {"case": "made/up", "namespace": "t"}
    usual = Symbols(protocol("throttr"), "7.1.0", "uint16", **detail)
    mine = Symbols(protocol("throttr"), "7.1.0", "uint16", **detail, parameters={"DEPTH": 7})

    assert (usual.number("DEPTH + 1"), mine.number("DEPTH + 1")) == (4, 8)
    assert mine.number("ANSWER_TIME") == declared.DEFAULT_PARAMETERS["ANSWER_TIME"]
