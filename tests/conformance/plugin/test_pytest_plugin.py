"""The pytest plugin: cases as items of the shipped test or of somebody's own suite, with pytest's own options."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conformance import servers, torn
from tests.conformance.relays import Line
from tests.conformance.threads import in_thread, in_thread_relay, in_thread_service
from wireproof.conformance.model.verdict import Level
from wireproof.conformance.run.processes import module_command, module_environment, running_server
from wireproof.conformance.run.selection import select
from wireproof.conformance.suite import requirement_sets
from wireproof.conformance.suite.cases import load_suite

pytest_plugins = ["pytester"]
OWN = """
import pytest

def test_wireproof(wireproof_case, wireproof):
    wireproof.check(wireproof_case)
"""


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def empty_folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\naddopts = -p wireproof.conformance.plugin.pytest_plugin -p no:cacheprovider\n")


@pytest.fixture(scope="module")
def reference() -> Iterator[str]:
    with running_server(module_command("wireproof.reference_server", "throttr")) as address:
        yield address


@pytest.fixture(scope="module")
def wrong() -> Iterator[str]:
    mutant = ("--profile", "7.1.0", "--variant", "uint16", "--mutant", "quota-low-byte")
    with running_server(module_command("wireproof.mutants", "throttr", *mutant)) as address:
        yield address


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("--pyargs", "conformance", *options)


def test_every_case_is_an_item_named_by_its_id(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--wireproof-target", "simulation", "-k", "query/status", "-v")

    result.stdout.fnmatch_lines(["*test_conformance?query/status? PASSED*"])
    result.assert_outcomes(passed=1, deselected=result.parseoutcomes()["deselected"])


def test_a_live_server_is_tested_in_parallel_with_junit(pytester: pytest.Pytester, reference: str) -> None:
    options = (
        "--wireproof-target",
        reference,
        "-k",
        "query/s or query/a or info/list",
        "-p",
        "xdist",
        "-n",
        "2",
        "--junitxml",
        "j.xml",
    )
    result = run(pytester, *options)
    suite = ElementTree.parse(pytester.path / "j.xml").getroot()[0]

    assert result.ret == 0
    assert suite.attrib["failures"] == suite.attrib["errors"] == "0"
    assert int(suite.attrib["tests"]) > 3
    assert suite.find(".//property[@name='clauses']") is not None


def test_x_stops_at_the_first_failure_which_shows_its_evidence(pytester: pytest.Pytester, wrong: str) -> None:
    result = run(pytester, "--wireproof-target", wrong, "-x", "-k", "query/fields or query/quota")

    assert (result.ret, result.parseoutcomes()["failed"]) == (1, 1)
    result.stdout.fnmatch_lines(["*clause THR-*(MUST), byte*", "expected *", "got *", "a > *"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_other_deliveries_are_items_of_their_own(pytester: pytest.Pytester, reference: str) -> None:
    options = ("--wireproof-delivery", "bytes,joined", "-k", "query/status or whoami/once", "-v")
    simulated = run(pytester, "--wireproof-target", "simulation", *options)
    live = run(pytester, "--wireproof-target", reference, *options)

    for result in (simulated, live):
        assert result.ret == 0
        result.stdout.fnmatch_lines(["*[[]query/status[]] PASSED*", "*[[]query/status bytes[]] PASSED*"])
        result.stdout.fnmatch_lines(["*[[]query/status joined[]] PASSED*"])


def test_a_failure_under_a_delivery_blames_what_asks_for_it(pytester: pytest.Pytester) -> None:
    with in_thread_service(torn.Piecemeal) as address:
        options = ("--wireproof-target", address, "--wireproof-delivery", "bytes,joined", "-k", "query/status")
        result = run(pytester, *options, "--wireproof-timeout", "0.5")

    outcomes = result.parseoutcomes()
    assert (outcomes["failed"], outcomes["passed"]) == (1, 2)
    result.stdout.fnmatch_lines(["*clause THR-ROBUSTNESS-6 (SHOULD), byte*"])


def test_what_does_not_pass_whole_reports_nothing_otherwise(pytester: pytest.Pytester, wrong: str) -> None:
    options = ("--wireproof-target", wrong, "--wireproof-delivery", "bytes", "-rs")
    result = run(pytester, *options, "-k", "query/fields-of or query/status")

    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(["*SKIPPED*bytes: it does not pass whole either*"])


def test_cases_that_need_what_is_not_declared_are_skipped(pytester: pytest.Pytester) -> None:
    options = ("--wireproof-protocol", "psrt", "--wireproof-target", "simulation", "-k", "datagram/by-hand", "-rs")
    declared, lacking = (run(pytester, *options, *more) for more in ((), ("--wireproof-feature", "tls")))

    assert set(declared.parseoutcomes()) & {"passed", "skipped", "failed"} == {"passed"}
    assert set(lacking.parseoutcomes()) & {"passed", "skipped", "failed"} == {"skipped"}
    lacking.stdout.fnmatch_lines(["*unsupported: expected udp, got the target does not declare*"])


def test_levels_select(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--wireproof-target", "simulation", "--collect-only", "-q", "--wireproof-level", "must")
    must = select(load_suite("throttr"), "7.1.0", "uint16", level=Level.MUST, heavy=False)

    result.stdout.fnmatch_lines([f"{len(must)} tests collected*"])


@pytest.mark.parametrize(
    ("option", "detail"),
    [
        (
            "--wireproof-target=nowhere",
            "--wireproof-target: expected tcp://HOST:PORT or unix:///PATH, got 'nowhere'; or simulation",
        ),
        ("--wireproof-protocol=mqtt", "--wireproof-protocol: unknown protocol 'mqtt'; known: "),
        ("--wireproof-profile=9", "--wireproof-profile: expected 7.1.0, 7.3.2; got '9'"),
        ("--wireproof-variant=u1", "--wireproof-variant: expected uint8, uint16, uint32, uint64; got 'u1'"),
        ("--wireproof-delivery=halves", "--wireproof-delivery: expected sample, all or some of whole, bytes, "),
        ("--wireproof-feature=tls", "--wireproof-feature: expected direct; got 'tls'"),
        ("--wireproof-level=all", "--wireproof-level: expected must, should or may; got 'all'"),
        ("--wireproof-timeout=soon", "--wireproof-timeout: expected seconds, more than 0; got 'soon'"),
        ("--wireproof-timeout=-1", "--wireproof-timeout: expected seconds, more than 0; got '-1'"),
        ("--wireproof-timeout=nan", "--wireproof-timeout: expected seconds, more than 0; got 'nan'"),
    ],
)
def test_a_wrong_option_is_a_usage_error_in_one_line(pytester: pytest.Pytester, option: str, detail: str) -> None:
    result = pytester.runpytest_inprocess("--pyargs", "conformance", option)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert detail in result.stderr.str()
    assert "Traceback" not in result.stderr.str()


def test_without_a_target_the_cases_are_skipped_and_say_why(pytester: pytest.Pytester) -> None:
    result = run(pytester, "-k", "query/status", "-rs")

    assert result.parseoutcomes()["skipped"] == 1
    result.stdout.fnmatch_lines(["*no target: name one with --wireproof-target*"])


def test_a_suite_of_one_s_own_starts_its_own_server(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest
        from wireproof.conformance.run.processes import module_command, running_server

        @pytest.fixture(scope="session")
        def wireproof_target():
            with running_server(module_command("wireproof.reference_server", "throttr")) as address:
                yield address
        """
    )
    pytester.makepyfile(OWN)
    result = pytester.runpytest_subprocess("-k", "query/status", timeout=60)

    assert result.ret == 0
    assert result.parseoutcomes()["passed"] == 1


def test_a_broken_address_from_one_s_own_fixture_is_reported(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(OWN + "@pytest.fixture(scope='session')\ndef wireproof_target(): return 'here'\n")
    result = pytester.runpytest_subprocess("-k", "query/status", timeout=60)

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*expected tcp://HOST:PORT or unix:///PATH, got 'here'*"])


DEAD = "tcp://127.0.0.1:1"


def test_a_dead_server_is_an_error_and_no_skip(pytester: pytest.Pytester) -> None:
    asked = run(pytester, "--wireproof-target", DEAD, "-k", "query/status")
    pytester.makepyfile(OWN + f"@pytest.fixture(scope='session')\ndef wireproof_target(): return '{DEAD}'\n")
    own = pytester.runpytest_subprocess("-k", "query/status", timeout=60)

    assert asked.ret == pytest.ExitCode.USAGE_ERROR
    assert f"wireproof: nothing to test at {DEAD}: Connection refused" in asked.stderr.str()
    assert (own.ret, own.parseoutcomes()["errors"]) == (1, 1)
    own.stdout.fnmatch_lines([f"wireproof: nothing to test at {DEAD}: *"])


def test_another_width_than_is_spoken_is_an_error_that_names_it(pytester: pytest.Pytester, reference: str) -> None:
    options = ("--wireproof-profile", "7.1.0", "--wireproof-variant", "uint64", "-k", "query/status")
    result = run(pytester, "--wireproof-target", reference, *options)

    assert (result.ret, result.parseoutcomes()["errors"]) == (1, 1)
    result.stdout.fnmatch_lines([f"wireproof: {reference} speaks variant uint16, not uint64"])


def test_profile_and_width_are_asked_of_the_target(pytester: pytest.Pytester) -> None:
    named = ("--profile", "7.3.2", "--variant", "uint8")
    with running_server(module_command("wireproof.reference_server", "throttr", *named)) as address:
        result = run(pytester, "--wireproof-target", address, "-k", "whoami/once or query/status")

    assert result.ret == 0
    assert result.parseoutcomes()["passed"] >= 1


def test_a_server_that_falls_silent_fails_what_is_left_at_once(pytester: pytest.Pytester) -> None:
    with in_thread(servers.falls_silent()) as address:
        options = ("--wireproof-profile", "7.1.0", "--wireproof-variant", "uint16", "--wireproof-timeout", "0.3")
        result = run(pytester, "--wireproof-target", str(address), *options, "-k", "query/")

    assert result.ret == 1
    assert set(result.parseoutcomes()) & {"passed", "skipped"} == set()
    result.stdout.fnmatch_lines(
        ["*the target answers nobody since query/*", "*not played: the target answers nobody *"]
    )


def test_a_server_of_one_client_at_a_time_fails_and_says_so(pytester: pytest.Pytester, reference: str) -> None:
    with in_thread_relay(reference, Line(most=1, over="close")) as address:
        result = run(pytester, "--wireproof-target", address, "-k", "stays-up or push/reaches-its-subscriber", "-rs")

    result.stdout.fnmatch_lines(["expected clients that are served side by side", "got *one client at a time: *"])
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(["*the target serves 1 at a time*"])


def test_nothing_is_loaded_for_suites_that_do_not_ask() -> None:
    seen = (
        "import sys, wireproof.conformance.plugin.pytest_plugin;"
        "print(*[one for one in sys.modules if one.startswith('wireproof.conformance.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", seen], env=module_environment(), capture_output=True, text=True, timeout=30, check=True
    )  # fmt: skip

    plugin = "wireproof.conformance.plugin"
    assert done.stdout.split() == [plugin, f"{plugin}.plugin_options", f"{plugin}.pytest_plugin"]


def test_the_limits_of_a_target_are_found_out(pytester: pytest.Pytester) -> None:
    command = module_command("wireproof.reference_server", "psrt", "--port", "0", "--max-topic-depth", "9")
    with running_server(command) as address:
        words = ("--wireproof-protocol", "psrt", "--wireproof-target", address, "-k", "depth-once or is-depth")
        result = run(pytester, *words)

    assert result.ret == 0
    assert result.parseoutcomes()["passed"] > 0


def test_a_failure_that_the_requirement_set_does_not_ask_for_is_skipped(
    pytester: pytest.Pytester, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (
        "--wireproof-target",
        wrong,
        "--wireproof-requirements",
        "throttr-7.1.0@1",
        "-k",
        "query/quota-last-stored",
    )
    strict = run(pytester, *words).parseoutcomes()
    found = requirement_sets.read_set("throttr-7.1.0@1", ["throttr"])
    monkeypatch.setattr(requirement_sets, "read_set", lambda name, protocols: replace(found, cases={}))
    lenient = run(pytester, *words).parseoutcomes()

    assert strict["failed"] > 0
    assert "failed" not in lenient
    assert lenient["skipped"] == strict["failed"]


@pytest.mark.parametrize(("name", "reported"), [("throttr-7@1", "did you mean"), ("throttr-7.3.2@1", "is of profile")])
def test_a_requirement_set_that_does_not_fit_is_reported(pytester: pytest.Pytester, name: str, reported: str) -> None:
    result = run(pytester, "--wireproof-target", "simulation", "--wireproof-requirements", name, "-k", "query/status")

    assert result.ret != 0
    assert reported in result.stdout.str() + result.stderr.str()
