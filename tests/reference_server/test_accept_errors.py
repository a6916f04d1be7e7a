"""At the limit of descriptors asyncio reports each connection it cannot accept; the log says so once in a while."""

from __future__ import annotations

import asyncio
import errno
import logging
from typing import Any

import pytest

from wireproof.reference_server.server import AcceptErrors

FULL = {
    "message": "socket.accept() out of system resource",
    "exception": OSError(errno.EMFILE, "Too many open files"),
}


def reported(caplog: pytest.LogCaptureFixture, *contexts: dict[str, Any]) -> list[str]:
    async def main() -> None:
        loop, handler = asyncio.get_running_loop(), AcceptErrors()
        for context in contexts:
            handler(loop, context)

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    return [one.getMessage() for one in caplog.records]


def test_a_thousand_connections_that_cannot_be_accepted_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    assert reported(caplog, *[FULL] * 1000) == ["no connection can be accepted now: Too many open files"]


@pytest.mark.parametrize(
    "other",
    [
        {"message": "socket.accept() out of system resource", "exception": OSError(errno.EBADF, "Bad descriptor")},
        {"message": "Task exception was never retrieved", "exception": OSError(errno.EMFILE, "Too many open files")},
        {"message": "something else"},
    ],
)
def test_all_else_is_reported_as_ever(caplog: pytest.LogCaptureFixture, other: dict[str, Any]) -> None:
    assert [one.splitlines()[0] for one in reported(caplog, other, other)] == [other["message"]] * 2
