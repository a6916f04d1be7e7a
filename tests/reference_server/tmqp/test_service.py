"""The service as a whole: patches, its configuration file, and that it drops everything at its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.reference_server.tmqp.simulated import Server, produce
from wireproof.protocols.tmqp import DOC, ResultCode
from wireproof.protocols.tmqp.replies import Pong
from wireproof.protocols.tmqp.requests import ListChannels, Ping
from wireproof.reference_server.tmqp import Patch


def test_a_patch_of_handlers_is_known_by_its_requests() -> None:
    patch = Patch(handlers=lambda correct, state: {Ping: lambda *given: state.codec.encode(Pong())})
    server = Server(mutant=patch)

    assert server.service.touched == frozenset({"PING"})
    assert server.client("me").send(Ping())[0] == Pong()


def test_other_patches() -> None:
    patch = Patch(
        rules={"answers_protocol_at_once": False},
        options={"client_limit": 1},
        profile=lambda profile: profile.derive("other"),
    )
    server = Server(mutant=patch)

    assert server.service.touched is None
    assert server.service.state.codec.profile.name == "other"
    assert patch.patched_profile(DOC) is patch.patched_profile(DOC)
    assert Patch().patched_profile(DOC) is DOC


def test_the_end_drops_everything(server: Server) -> None:
    line = server.client("me")
    server.queue(line, Status=3, MessageTimeout=1000)
    line.send(produce(b"a"))
    server.service.close()
    state: Any = server.service.state

    assert (list(state.clients), state.channels, state.sessions) == ([], {}, {})
    assert server.clock.next_ns is None


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("delivery: other", "delivery: expected one of just-allow, "),
        ("routers: {a: {method: x}}", "Invalid enum value 'x'"),
        ("nothing: 1", "unknown field `nothing`"),
        ("{", "while parsing"),
        ("routers: {a: {method: distribute, bindings: [{name: q, kind: queue, target: c}, "
         "{name: q, kind: queue, target: d}]}}", "router a: two bindings have the same name"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_used(tmp_path: Path, text: str, detail: str) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(text)

    with pytest.raises(ValueError, match=detail):
        Server(config=config)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No such file"):
        Server(config=tmp_path / "none")


def test_a_config_that_is_read_again_counts_for_who_comes_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("admins: []")
    server = Server(config=str(file))
    early = server.client("early")
    file.write_text("admins: null")
    server.service.reload()
    late = server.client("late")

    assert server.service.can_reload
    assert not Server().service.can_reload
    asked = ListChannels(pending_response=1, id=b"l")
    assert early.send(asked)[0].content_type == ResultCode.UNAUTHORIZED
    assert late.send(asked)[0].content_type == ResultCode.OK

    file.write_text("{")
    server.service.reload()
    assert "the config is not reloaded: " in caplog.text
    assert server.client("later").send(asked)[0].content_type == ResultCode.OK
