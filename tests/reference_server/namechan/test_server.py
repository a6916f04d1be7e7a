"""What cases cannot ask: restarts, kills, full disks, damaged files, slow readers, the command line's queues."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from shutil import copytree

import pytest

from tests.reference_server.namechan.simulated import Server, pushed, texts
from wireproof.protocols.namechan.requests import Ack, Blank, HookCreate, HookPublish, Publish, Subscribe
from wireproof.reference_server.namechan.store import CHUNK, Store, StoreError

PERSISTENT = 1
SYNCS = {"strong": 0, "weak": 1, "async": 2}


@pytest.mark.parametrize("sync", SYNCS.values(), ids=SYNCS)
def test_what_was_kept_is_there_after_a_restart(tmp_path: Path, sync: int) -> None:
    server = Server(data=tmp_path)
    server.queue(0, PERSISTENT, sync, topic=b"first")
    server.queue(0, PERSISTENT, sync)
    server.publish(b"one", b"two")
    _, more = server.subscriber(0)
    server.service.close()

    again = Server(data=tmp_path)
    line, more_again = again.subscriber(0)
    again.publish(b"three")

    assert pushed(more) == pushed(more_again) == [(1, b"one"), (2, b"two")]
    assert more[0].topic == more_again[0].topic == 2  # type: ignore[attr-defined]
    assert pushed(line.take()) == [(3, b"three")]


@pytest.mark.parametrize("sync", [0, 1])
def test_what_a_subscriber_saw_survives_a_kill(tmp_path: Path, sync: int) -> None:
    server = Server(data=tmp_path)
    server.queue(0, PERSISTENT, sync)
    line, _ = server.subscriber()
    server.publish(*(b"%d" % number for number in range(50)))
    seen = pushed(line.take())
    server.killed()

    again = Server(data=tmp_path)
    _, more = again.subscriber(0)
    assert len(seen) == 50
    assert pushed(more) == seen


def test_async_messages_are_written_within_moments(tmp_path: Path) -> None:
    server = Server(data=tmp_path)
    server.queue(0, PERSISTENT, 2)
    server.publish(b"one")
    server.wait(1)
    server.publish(b"lost")
    server.killed()

    _, more = Server(data=tmp_path).subscriber(0)
    assert pushed(more) == [(1, b"one")]


def test_a_round_robin_queue_goes_on_where_it_was(tmp_path: Path) -> None:
    server = Server(data=tmp_path)
    server.queue(1, PERSISTENT)
    server.publish(b"one", b"two")
    line, more = server.subscriber()
    assert pushed(more) == [(1, b"one"), (2, b"two")]
    line.session.connection_lost()
    server.publish(b"three")
    server.service.close()

    again = Server(data=tmp_path)
    line, more = again.subscriber()
    again.publish(b"four")
    assert pushed(more + line.take()) == [(3, b"three"), (4, b"four")]
    again.service.close()
    third = Server(data=tmp_path)
    third.publish(b"five")
    assert pushed(third.subscriber()[1]) == [(5, b"five")]


def test_many_publishers_share_one_transaction(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server = Server("1+publish", data=tmp_path)
    server.queue(0, PERSISTENT)
    lines = [server.client() for _ in range(64)]
    written: list[int] = []
    write = Store.write

    def counting(self: Store, rows: list[tuple[int, int, bytes]], positions: object, *, sync: bool) -> None:
        written.append(len(rows))
        write(self, rows, positions, sync=sync)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "write", counting)
    for line in lines:
        line.session.data_received(line.codec.send(Publish(b"t", b"x")))
    server.clock.advance(0)

    assert written == [64]


@pytest.mark.parametrize("sync", [0, 1])
def test_a_full_disk_is_an_error_and_nothing_is_lost(tmp_path: Path, sync: int) -> None:
    server = Server("1+publish", data=tmp_path)
    server.queue(0, PERSISTENT, sync)
    server.publish(b"kept")
    line, _ = server.subscriber()
    file = server.service.state.store._file
    (pages,) = file.execute("PRAGMA page_count").fetchone()
    file.execute(f"PRAGMA max_page_count = {pages}")

    refused = server.hook.send(*(HookPublish(b"t", bytes(2000)) for _ in range(10)))
    answered = line.send(Publish(b"t", bytes(60000)[:9000]))
    file.execute("PRAGMA max_page_count = 1000000")
    server.publish(b"after")

    assert texts(refused) == [b"error it cannot be stored: database or disk is full"] * 10
    assert texts(answered) == [b"PUBLISH: it cannot be stored: database or disk is full"]
    assert pushed(line.take()) == [(2, b"after")]
    server.service.close()
    assert pushed(Server(data=tmp_path).subscriber(0)[1]) == [(1, b"kept"), (2, b"after")]


def test_a_queue_that_cannot_be_stored_is_refused(tmp_path: Path) -> None:
    server = Server(data=tmp_path)
    server.queue(0, PERSISTENT, topic=b"first")
    server.service.state.store.close()

    assert texts(server.hook.send(HookCreate(b"t", 0, PERSISTENT)))[0].startswith(b"error it cannot be stored")
    assert texts(server.hook.send(HookPublish(b"first", b"x")))[0].startswith(b"error it cannot be stored")


def test_the_log_has_its_length_before_anything_is_written(tmp_path: Path) -> None:
    """An fsync of a file that grows takes several times as long."""
    store = Store(tmp_path)
    log = tmp_path / "namechan.sqlite3-wal"
    size = log.stat().st_size

    for number in range(1, 1500):
        store.write([(1, number, b"x" * 100)], (), sync=False)

    assert size >= 1000 * 4096
    assert log.stat().st_size == size
    copy = tmp_path / "killed"
    copytree(tmp_path, copy, ignore=lambda *_: ["killed"])
    left = Store(copy)
    found = [message for first in range(1, 1500, CHUNK) for message in left.read(1, first)]
    assert [number for number, _ in found] == list(range(1, 1500))
    assert not list(left.read(0, 0))
    left.close()
    store.close()


def test_a_log_that_cannot_be_lengthened_grows_as_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wireproof.reference_server.namechan.store.LOG_BYTES", 1 << 40)

    store = Store(tmp_path)
    store.write([(1, 1, b"x")], (), sync=True)

    assert list(store.read(1, 1)) == [(1, b"x")]
    store.close()


def test_a_damaged_message_is_left_out(tmp_path: Path) -> None:
    server = Server(data=tmp_path)
    server.queue(0, PERSISTENT)
    server.publish(b"one", b"two", b"three")
    server.service.close()
    with closing(sqlite3.connect(tmp_path / "namechan.sqlite3", isolation_level=None)) as file:
        file.execute("UPDATE message SET body = x'7477ef' WHERE id = 2")

    assert pushed(Server(data=tmp_path).subscriber(0)[1]) == [(1, b"one"), (3, b"three")]


@pytest.mark.parametrize("text", [b"no database at all, but longer than any header of one" * 40])
def test_a_file_that_is_no_store_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "namechan.sqlite3").write_bytes(text)
    with pytest.raises(ValueError, match="data: "):
        Server(data=tmp_path)


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        Store(tmp_path / "file")


@pytest.mark.parametrize(
    "text",
    [
        "t",
        "t:broadcast",
        ":broadcast:transient",
        "t:all:transient",
        "t:broadcast:transient:strong",
        "t:broadcast:persistent:strong:x",
    ],
)
def test_a_queue_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="queue"):
        Server(queue=(text,))


def test_queues_of_the_command_line(tmp_path: Path) -> None:
    names = ("a:broadcast:transient", "b:Round_Robin:persistent:weak", "c:broadcast:persistent")
    Server(data=tmp_path, queue=names).service.close()
    server = Server(data=tmp_path, queue=names)
    assert texts(server.hook.send(HookCreate(b"b", 1, 1, 1), HookCreate(b"b", 1, 1, 0))) == [
        b"ok",
        b"error it is there with other settings",
    ]
    assert pushed(server.subscriber(topic=b"c")[1]) == []
    with pytest.raises(ValueError, match="other settings"):
        Server(data=tmp_path, queue=("b:broadcast:transient",))


def test_topics_are_made_where_that_is_wanted() -> None:
    server = Server("1+publish", auto_create=True)
    line, _ = server.subscriber(topic=b"new")
    assert pushed(line.send(Publish(b"new", b"x"))) == [(1, b"x")]


def test_a_slow_reader_is_fed_as_it_reads_and_closed_when_too_much_waits() -> None:
    server = Server(push_limit=1000, high_water=500)
    server.queue(0, PERSISTENT)
    server.publish(*(bytes(100) for _ in range(600)))
    line = server.client()
    line.session.pause_writing()
    line.session.resume_writing()
    line.send(Subscribe(b"t", 0))
    line.session.pause_writing()
    before = len(line.raw)
    server.clock.advance(0)
    server.clock.advance(0)
    assert len(line.raw) == before
    line.session.resume_writing()
    found = pushed(line.take())
    while more := pushed(line.take()):
        found += more
    assert [number for number, _ in found] == sorted({number for number, _ in found})
    line.session.pause_writing()
    server.publish(*(bytes(100) for _ in range(30)))
    assert line.closed


def test_subscriptions_have_a_limit() -> None:
    server = Server(max_subscriptions=1)
    server.queue()
    server.queue(topic=b"u")
    line, _ = server.subscriber()
    assert [one.NAME for one in line.send(Subscribe(b"u"))] == ["ERROR"]


def test_pings_come_early_and_silence_ends() -> None:
    server = Server()
    line = server.client()
    server.wait(49.5)
    (ping,) = line.take()
    assert ping.NAME == "PING"
    line.send(Ack(ping.time * 1_000_000))  # type: ignore[attr-defined]
    server.wait(99)
    assert [one.NAME for one in line.take()] == ["PING", "PING"]
    assert not line.closed
    server.wait(1)
    assert [one.NAME for one in line.take()] == ["ERROR"]
    assert line.closed


def test_what_is_wrong_at_the_hook_is_said_in_one_line_whatever_it_quotes() -> None:
    server = Server()
    server.hook.session.data_received(b'(Create\n\n a" RoundCreate\n\n a" Round_robin nd_robin Transient)\n')

    assert server.hook.raw.startswith(b"error line ")
    assert server.hook.raw.endswith(b"\n")
    assert server.hook.raw.count(b"\n") == 1
    assert server.hook.closed


def test_the_hook_says_what_is_wrong_and_is_not_pinged() -> None:
    server = Server()
    server.wait(1000)
    assert server.hook.take() == []
    assert texts(server.hook.send(HookPublish(b"unknown", b"x"))) == [b"error unknown topic"]
    server.hook.session.data_received(b"\n(Nonsense)\n")
    assert b"error line 3, column 2: unknown constructor Nonsense\n" in server.hook.raw
    assert server.hook.closed


def test_requests_are_traced() -> None:
    server = Server()
    server.queue()
    line, _ = server.subscriber()
    line.send(Blank())
    assert any("> Subscribe(" in one for one in server.traced)
    assert any("< Subscribed(" in one for one in server.traced)


def test_more_requests_than_one_turn_takes() -> None:
    server = Server()
    line = server.client()
    names = [one.NAME for one in line.send(*[Subscribe(b"x")] * 1000)]
    assert names == ["ERROR"] * 1000
    line.session.data_received(line.codec.send(Subscribe(b"x")) * 600)
    line.session.eof_received()
    server.clock.advance(0)
    assert line.closed
