"""Loading: what is wrong in a case file is told with file, case and what was expected; foreach makes named cases."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent, indent

import pytest

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.suite import case_documents, cases, documents
from wireproof.conformance.suite.cases import CaseError, Suite, load_suite
from wireproof.conformance.suite.documents import VERSIONS
from wireproof.conformance.suite.values import SymbolicMessage
from wireproof.conformance.suite.written import as_written

CLAUSES = """\
protocol: throttr
clauses:
  - {id: THR-QUERY-1, group: QUERY, level: MUST, profiles: [7.1.0, 7.3.2],
     text: This is a clause of both profiles., section: Query}
  - {id: THR-QUERY-2, group: QUERY, level: {7.1.0: MUST, 7.3.2: MAY}, profiles: [7.1.0, 7.3.2],
     text: The levels of this clause differ., section: Query}
  - {id: THR-EVENT-1, group: EVENT, level: MAY, profiles: [7.3.2], text: This is a newer clause., section: Event}
"""
GOOD = "{id: query/one, title: 'A title long enough', clauses: [THR-QUERY-1], steps: [{send: INFO}]}"
Load = Callable[[str], Suite]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Return a loader of a suite whose only file of cases is the text given."""
    real = documents.vectors_root()
    (tmp_path / "throttr" / "cases").mkdir(parents=True)
    (tmp_path / "throttr" / "clauses.yaml").write_text(CLAUSES)
    (tmp_path / "throttr" / "probe.yaml").write_text("protocol: throttr\n")
    (tmp_path / "schema").mkdir()
    for path in (real / "schema").iterdir():
        (tmp_path / "schema" / path.name).write_text(path.read_text())
    monkeypatch.setattr(documents, "vectors_root", lambda: tmp_path)
    monkeypatch.setattr(cases, "vectors_root", lambda: tmp_path)
    monkeypatch.setattr(case_documents, "vectors_root", lambda: tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def loaded(text: str) -> Suite:
        (tmp_path / "throttr" / "cases" / "query.yaml").write_text(text)
        load_suite.cache_clear()
        return load_suite("throttr")

    yield loaded
    load_suite.cache_clear()


def a_file(*found: str, key: str = "cases") -> str:
    return f"protocol: throttr\n{key}:\n" + "".join(f"  - {one}\n" for one in found)


def test_a_case_has_the_profiles_and_level_of_its_first_clause(load: Load) -> None:
    (case,) = load(a_file(GOOD)).cases

    assert (case.id, case.topic, case.clauses) == ("query/one", "query", ("THR-QUERY-1",))
    assert (case.profiles, case.variants, case.level, case.exclusive) == (("7.1.0", "7.3.2"), (), None, False)


def test_foreach_makes_a_case_of_each_combination(load: Load) -> None:
    text = GOOD.replace("A title", "A {t} title with {q}").replace(
        "steps", "foreach: {t: [x, y], q: [1, MAX - 1]}, steps"
    )
    found = load(a_file(text)).cases

    assert [case.id for case in found] == [
        "query/one.x.1", "query/one.x.MAX-1", "query/one.y.1", "query/one.y.MAX-1",
    ]  # fmt: skip
    assert found[1].title == "A x title with MAX - 1 long enough"
    assert found[1].variables == {"t": "x", "q": "MAX - 1"}


def test_on_stays_a_word_and_true_a_truth(load: Load) -> None:
    (case,) = load(a_file(GOOD.replace("send: INFO", "send: INFO, on: b, given: true"))).cases

    assert as_written(case.steps) == [{"send": "INFO", "on": "b", "given": True}]


def test_a_date_stays_a_word(load: Load) -> None:
    (case,) = load(a_file(GOOD.replace("send: INFO", "send: {GET: {key: 2024-01-01}}"))).cases

    assert as_written(case.steps) == [{"send": {"GET": {"key": "2024-01-01"}}}]


def test_levels_and_profiles_of_a_clause_may_differ(load: Load) -> None:
    clauses = load(a_file(GOOD)).clauses

    assert clauses["THR-EVENT-1"].levels == {"7.3.2": Level.MAY}
    assert clauses["THR-QUERY-2"].levels == {"7.1.0": Level.MUST, "7.3.2": Level.MAY}


WRONG = {
    "no YAML": ("protocol: [", "query.yaml: no YAML"),
    "a key twice": (a_file(GOOD.replace("{send: INFO}", "{send: INFO, send: LIST}")), "key 'send' twice"),
    "no mapping": ("- 1\n", "query.yaml:1: expected a mapping, got"),
    "empty": ("", "query.yaml:1: expected a mapping, got None"),
    "an unknown key": (
        a_file(GOOD.replace("title", "tittle")),
        r"query.yaml:3: query/one: tittle: unknown key 'tittle' \(did you mean title\?\)",
    ),
    "a missing key": (a_file(GOOD.replace("title", "tittle")), "query.yaml:3: query/one: 'title' is missing"),
    "a key that is no word": (a_file(GOOD.replace("send: INFO", "send: {1: 2}")), "key '1' is no word(?s:.)*line 3"),
    "a value that is no JSON": (a_file(GOOD.replace("send: INFO", "send: !!binary aaaa")), "no JSON: .*bytes"),
    "two wrong steps": (
        a_file(GOOD.replace("[{send: INFO}]", "[{sned: 1}, {}]")),
        r"(?s)query.yaml:3: query/one: steps.0.sned: .*query.yaml:3: query/one: steps.1: a step without a verb",
    ),
    "an unknown verb": (
        a_file(GOOD.replace("send", "sned")),
        r"query.yaml:3: query/one: steps.0.sned: unknown verb 'sned' \(did you mean send",
    ),
    "a bad id": (
        a_file(GOOD.replace("query/one", "Query One")),
        "query.yaml:3: Query One: id: expected `str` matching regex",
    ),
    "no steps": (
        a_file(GOOD.replace("[{send: INFO}]", "[]")),
        "query.yaml:3: query/one: steps: expected `array` of length >= 1",
    ),
    "an id twice": (a_file(GOOD, GOOD), "query.yaml: id 'query/one' is used twice"),
    "an unknown clause": (
        a_file(GOOD.replace("QUERY-1", "QUERY-9")),
        "query/one: clauses: no such clause: THR-QUERY-9",
    ),
    "an unknown clause of a step": (
        a_file(GOOD.replace("send: INFO", "send: INFO, clause: THR-QUERY-8")),
        "query/one: steps: no such clause: THR-QUERY-8",
    ),
    "another profile": (
        a_file(GOOD.replace("THR-QUERY-1", "THR-EVENT-1").replace("steps", "profiles: [7.1.0], steps")),
        r"query/one: clause THR-EVENT-1 does not apply to 7\.1\.0",
    ),
    "a title with unknown variables": (
        a_file(GOOD.replace("A title", "A {t}itle")),
        "query/one: title: title: .*of none",
    ),
    "a foreach that repeats": (a_file(GOOD.replace("steps", "foreach: {t: [1, 1]}, steps")), "'query/one.1' is used"),
    "another protocol": (a_file(GOOD).replace("throttr", "psrt"), "query.yaml:1: protocol: expected throttr, got psrt"),
    "a frame without bytes or message": (
        a_file("{id: frame/one, clauses: [THR-QUERY-1]}", key="frames"),
        "query.yaml:3: frame/one: expected either a message, or hex and error",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_reported_with_file_and_case(load: Load, wrong: str) -> None:
    text, detail = WRONG[wrong]

    with pytest.raises(CaseError, match=detail):
        load(text)


def test_a_protocol_without_cases_is_reported() -> None:
    with pytest.raises(CaseError, match="no folder of cases for 'nothing'"):
        load_suite("nothing")


def test_a_file_that_is_wrong_stays_wrong_and_a_right_one_is_kept(load: Load, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(CaseError):
            load(a_file(GOOD.replace("send", "sned")))
    first, second = load(a_file(GOOD)), load(a_file(GOOD))

    assert first == second
    assert len(list((tmp_path / "cache" / "wireproof").glob("query.yaml-*.json"))) == 1


def test_another_file_of_the_same_name_is_kept_beside_it_and_the_oldest_go(load: Load, tmp_path: Path) -> None:
    names = [f"query/number-{number}" for number in range(VERSIONS + 3)]
    files = [a_file(GOOD.replace("query/one", name)) for name in names]
    for one in files:
        load(one)
    kept = list((tmp_path / "cache" / "wireproof").glob("query.yaml-*.json"))

    assert len(kept) == VERSIONS
    assert not any(names[0] in one.read_text() for one in kept)
    assert any(names[-2] in one.read_text() for one in kept)


def test_what_was_used_last_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for number in range(VERSIONS):
        documents.keep("query.yaml", f"digest {number}", number)
        for one in (tmp_path / "wireproof").iterdir():
            os.utime(one, (one.stat().st_atime, one.stat().st_mtime - 60))

    assert documents.kept("query.yaml", "digest 0", int) == 0
    documents.keep("query.yaml", "another", VERSIONS)

    assert documents.kept("query.yaml", "digest 0", int) == 0
    assert documents.kept("query.yaml", "digest 1", int) is None


def test_a_cache_that_cannot_be_used_is_done_without(load: Load, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")

    assert len(load(a_file(GOOD)).cases) == 1


def test_a_kept_document_that_was_cut_is_read_anew(load: Load, tmp_path: Path) -> None:
    load(a_file(GOOD))
    for kept in (tmp_path / "cache" / "wireproof").iterdir():
        kept.write_text('{"protocol": ')

    assert len(load(a_file(GOOD)).cases) == 1


def test_frames_are_expanded_like_cases(load: Load) -> None:
    text = a_file(
        "{id: frame/one, clauses: [THR-QUERY-1], foreach: {m: [1, 2]}, message: {QUERY: {key: k}}}", key="frames"
    )
    found = load(text).frames

    assert [one.id for one in found] == ["frame/one.1", "frame/one.2"]
    assert found[0].body.message == SymbolicMessage("QUERY", {"key": "k"})


def test_a_whole_file_may_be_read_as_people_write_it(load: Load) -> None:
    text = "protocol: throttr\ncases:\n" + indent(dedent("""\
        - id: query/block
          title: A case in block style
          clauses: [THR-QUERY-1]
          steps:
            - send: {QUERY: {key: $k}}
              expect: refused
        """), "  ")  # fmt: skip

    assert as_written(load(text).cases[0].steps) == [{"send": {"QUERY": {"key": "$k"}}, "expect": "refused"}]


def test_a_retired_id_is_never_used_again(load: Load, tmp_path: Path) -> None:
    (tmp_path / "throttr" / "retired.txt").write_text("# gone\nquery/one  # said twice\n")

    with pytest.raises(CaseError, match=r"query.yaml: id 'query/one' is retired"):
        load(a_file(GOOD))


def test_a_case_needs_what_its_file_needs_and_what_it_says_itself(load: Load, tmp_path: Path) -> None:
    (tmp_path / "throttr" / "features.yaml").write_text("tls: TLS can be begun.\nudp: Datagrams are answered.\n")
    needy = GOOD.replace("steps:", "needs: [udp, tls], steps:").replace("query/one", "query/two")
    suite = load("needs: [tls]\n" + a_file(GOOD, needy))

    assert [case.needs for case in suite.cases] == [("tls",), ("tls", "udp")]
    assert suite.features == {"tls": "TLS can be begun.", "udp": "Datagrams are answered."}


def test_a_need_that_is_no_feature_is_reported(load: Load) -> None:
    with pytest.raises(CaseError, match=r"query.yaml:3: query/one: needs: no such feature: tls; there is none"):
        load(a_file(GOOD.replace("steps:", "needs: [tls], steps:")))


def test_sequences_are_performed_and_parameters_kept(load: Load, tmp_path: Path) -> None:
    (tmp_path / "throttr" / "sequences.yaml").write_text("ask: {with: {what: INFO}, steps: [{send: <what>}]}\n")
    (tmp_path / "throttr" / "parameters.yaml").write_text("LIMIT: {value: 3, text: A limit of the target.}\n")
    suite = load(
        a_file(GOOD.replace("{send: INFO}", "{perform: {ask: {what: LIST}}}, {perform: ask, clause: THR-QUERY-2}"))
    )

    asked = [{"given": True, "send": "LIST"}, {"given": True, "clause": "THR-QUERY-2", "send": "INFO"}]
    assert as_written(suite.cases[0].steps) == asked
    assert suite.parameters["LIMIT"].value == 3


def test_a_clause_named_beside_perform_must_be_one(load: Load, tmp_path: Path) -> None:
    (tmp_path / "throttr" / "sequences.yaml").write_text("ask: {steps: [{send: INFO}]}\n")
    with pytest.raises(CaseError, match="no such clause: THR-QUERY-9"):
        load(a_file(GOOD.replace("{send: INFO}", "{perform: ask, clause: THR-QUERY-9}")))


NEAR = {
    "a matcher": (
        "expect: {QUERY_REPLY: {ttl: {at_leest: 3}}}",
        "ttl.at_leest: unknown key 'at_leest' .did you mean at_least",
    ),
    "a message": ("expect: {QUERY_REPLAY: {ttl: 3}}", "unknown message 'QUERY_REPLAY' .did you mean QUERY_REPLY"),
    "a field": ("expect: {QUERY_REPLY: {quotta: 3}}", "unknown field of QUERY_REPLY 'quotta' .did you mean quota"),
    "a field of a request": ("send: {QUERY: {kee: k}}", "unknown field of QUERY 'kee' .did you mean key"),
    "a field of rows": (
        "expect: {STATS_REPLY: {rows: {contains: [{kei: k}]}}}",
        "unknown field of STATS_REPLY.rows 'kei' .did you mean key",
    ),
    "a profile": ("wait: {by_profile: {7.1.1: 1, else: 2}}", "unknown profile '7.1.1' .did you mean 7.1.0"),
    "a message of another profile": ("send: {EVENT: {channel: c}}", "unknown message 'EVENT'"),
}


@pytest.mark.parametrize("wrong", NEAR)
def test_what_is_misspelt_is_found_at_load_with_its_line_and_near_names(load: Load, wrong: str) -> None:
    step, detail = NEAR[wrong]
    text = f"protocol: throttr\ncases:\n  - {GOOD}\n  - id: query/two\n    title: A case in block style\n"
    text += f"    clauses: [THR-QUERY-1]\n    profiles: [7.1.0]\n    steps:\n      - send: INFO\n      - {{{step}}}\n"

    with pytest.raises(CaseError, match=f"query.yaml:10: query/two: steps.1.*{detail}"):
        load(text)


def test_all_that_is_wrong_in_a_file_is_reported_at_once(load: Load) -> None:
    with pytest.raises(CaseError) as error:
        load(a_file(GOOD.replace("send", "sned"), GOOD.replace("INFO", "INFOO").replace("one", "two")))

    assert [line.split(": ")[:2] for line in str(error.value).splitlines()] == [
        ["query.yaml:3", "query/one"],
        ["query.yaml:4", "query/two"],
    ]
