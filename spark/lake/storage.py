"""Files of any Hadoop file system (local, HDFS, object stores), through the JVM of the session."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from wireproof.spark.inputs import SCHEME


class NotWrittenError(Exception):
    """Raised when a numbered file exists already: somebody else wrote it meanwhile."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder: its URI, its name, its bytes (0 for a folder) and when it was changed, in ms since 1970."""

    uri: str
    name: str
    size: int
    changed_ms: int
    is_folder: bool


def absolute(uri: str) -> str:
    """Return a URI: a plain path becomes `file:` and absolute, so that no default of a cluster changes its meaning."""
    if SCHEME.match(uri):
        return uri.rstrip("/")
    return f"file:{Path(uri).resolve()}"


class Storage:
    """One root folder on a Hadoop file system. Methods take paths relative to it and raise py4j's errors."""

    def __init__(self, session: SparkSession, root: str) -> None:
        self.session = session
        self.root = absolute(root)
        jvm: Any = session.sparkContext._jvm
        self._jvm = jvm
        self._system = self._path("").getFileSystem(session.sparkContext._jsc.hadoopConfiguration())

    def uri(self, path: str) -> str:
        """Return the URI of a path below the root."""
        return f"{self.root}/{path}" if path else self.root

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.uri(path))

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists."""
        return bool(self._system.exists(self._path(path)))

    def is_folder(self, path: str) -> bool:
        """Return whether a folder exists."""
        return self.exists(path) and bool(self._system.getFileStatus(self._path(path)).isDirectory())

    def entries(self, path: str) -> list[Entry]:
        """Return what a folder holds, sorted by name; nothing if it does not exist."""
        if not self.exists(path):
            return []
        found = [
            Entry(
                one.getPath().toString(),
                one.getPath().getName(),
                one.getLen(),
                one.getModificationTime(),
                one.isDirectory(),
            )
            for one in self._system.listStatus(self._path(path))
        ]
        return sorted(found, key=lambda entry: entry.name)

    def files(self, path: str) -> Iterator[Entry]:
        """Yield every file below a folder, at any depth."""
        iterator = self._system.listFiles(self._path(path), True)
        while iterator.hasNext():
            one = iterator.next()
            name = one.getPath().getName()
            yield Entry(one.getPath().toString(), name, one.getLen(), one.getModificationTime(), False)

    def read(self, path: str) -> str:
        """Return a small text file."""
        stream = self._system.open(self._path(path))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write_once(self, path: str, text: str) -> None:
        """Write a small text file whole or not at all. Raises `NotWrittenError` if it exists."""
        fresh = f"{path}.{uuid.uuid4().hex[:8]}.tmp"
        stream = self._system.create(self._path(fresh), False)
        try:
            stream.write(text.encode())
        finally:
            stream.close()
        if self.exists(path) or not self._system.rename(self._path(fresh), self._path(path)):
            self.delete(fresh)
            raise NotWrittenError(self.uri(path))

    def delete(self, path: str) -> None:
        """Delete a file or a folder with what is in it, if it exists."""
        self._system.delete(self._path(path), True)

    def make(self, path: str) -> None:
        """Make a folder and those above it."""
        self._system.mkdirs(self._path(path))
