"""The wheel: one import name, beside packages of the same names, with the base dependencies only and with extras."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.places import ROOT

OPTIONAL = ("atheris", "bcrypt", "cryptography", "hypothesis", "jinja2", "pyspark", "pytest", "scapy", "uvloop")
OWN = ("protocols", "conformance", "fuzz", "spark", "mutants", "vectors")
FEW = ("--profile", "7.1.0", "--variant", "uint8", "-k", "query/status")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as an installer lays it out."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Somebody's project, with packages of its own that bear the names of our folders."""
    for name in OWN:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"WHOSE = 'mine: {name}'\n")
    return tmp_path


def run(
    installed: Path, project: Path, *words: str, hidden: tuple[str, ...] = (), **more: str
) -> subprocess.CompletedProcess[str]:
    """Run Python in the project with the wheel installed; `hidden` modules are not installed."""
    site = project / "hidden"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(f"import sys\nfor one in {hidden!r}: sys.modules[one] = None\n")
    path = os.pathsep.join(map(str, (site, project, installed)))
    environment = {**os.environ, "PYTHONPATH": path, **more}
    return subprocess.run(
        [sys.executable, *words], cwd=project, env=environment, capture_output=True, text=True, timeout=100
    )


def test_the_wheel_adds_one_import_name_and_no_derived_vectors(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}

    assert {one for one in tops if not one.endswith(".dist-info")} == {"wireproof"}
    assert "wireproof/py.typed" in names
    assert "wireproof/vectors/throttr/clauses.yaml" in names
    assert [name for name in names if "/derived/" in name] == []
    assert wheel.stat().st_size < 3_000_000


def test_a_project_keeps_its_own_packages_and_wireproof_works_beside_them(installed: Path, project: Path) -> None:
    mine = "; ".join(f"import {name}; assert {name}.WHOSE == 'mine: {name}'" for name in OWN)
    code = f"{mine}; import wireproof.cli as cli; print(cli.__file__)"
    done = run(installed, project, "-c", code)
    tested = run(installed, project, "-m", "wireproof", "test", "throttr", "simulation", *FEW)

    assert done.stdout.strip() == str(installed / "wireproof" / "cli.py"), done.stderr
    assert tested.returncode == 0, tested.stderr


@pytest.mark.nightly
def test_the_plugin_runs_in_such_a_project(installed: Path, project: Path) -> None:
    (project / "test_mine.py").write_text("import protocols\n\ndef test_mine():\n    assert protocols.WHOSE\n")
    plugin = ("-p", "no:randomly", "-p", "wireproof.conformance.plugin.pytest_plugin", "-p", "no:cacheprovider")
    words = (
        "-m",
        "pytest",
        "-q",
        *plugin,
        "test_mine.py",
        "--pyargs",
        "wireproof.conformance",
        "-k",
        "mine or query/status",
    )
    done = run(installed, project, *words, "--wireproof-target", "simulation", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_the_base_installation_tests_servers(installed: Path, project: Path) -> None:
    done = run(installed, project, "-m", "wireproof", "test", "throttr", "simulation", *FEW, hidden=OPTIONAL)
    helped = run(installed, project, "-m", "wireproof", "serve", "--help", hidden=OPTIONAL)

    assert done.returncode == 0, done.stderr
    assert helped.returncode == 0, helped.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("explain", "THR-INSERT-399"), 2, "like it: THR-INSERT-"),
        (("show", "nothing"), 2, "no clause, case or vector has the id 'nothing'"),
        (("replay", "query/missing", "simulation"), 0, "GONE query/missing"),
        (("replay", "query/none", "simulation"), 2, "no finding, record or case 'query/none'"),
        (("check-capture", "mine.pcap"), 2, "mine.pcap is no capture"),
    ],
)
def test_what_searches_all_protocols_works_without_the_extra_of_one(
    installed: Path, project: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    (project / "mine.pcap").write_text("no capture at all")
    done = run(installed, project, "-m", "wireproof", *words, hidden=("cryptography", "bcrypt"))

    assert done.returncode == code, done.stdout + done.stderr
    assert message in done.stdout + done.stderr
    if "query/none" in words:
        assert "not looked at: psrt needs the package 'cryptography'" in done.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("test", "psrt", "simulation"), "psrt"),
        (("serve", "psrt"), "psrt"),
        (("serve", "throttr", "--loop", "uvloop"), "server"),
        (("fuzz", "machine", "throttr"), "fuzz"),
    ],
)
def test_what_an_extra_installs_is_named_where_it_is_missing(
    installed: Path, project: Path, words: tuple[str, ...], extra: str
) -> None:
    done = run(installed, project, "-m", "wireproof", *words, hidden=OPTIONAL)

    assert done.returncode == 2, done.stdout + done.stderr
    assert f"wireproof[{extra}]" in done.stderr
    assert "Traceback" not in done.stderr
