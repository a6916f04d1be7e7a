"""The model of the namechan document: it agrees with the correct server and with legal ones, and finds wrong ones."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from wireproof.fuzz import store_input, store_seeds
from wireproof.fuzz.commands.group import command as fuzz
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.server_transports import InProcess
from wireproof.fuzz.store_steps import AdvanceStep, ConnectStep, DisconnectStep, RequestStep
from wireproof.mutants.namechan.server import MUTANTS
from wireproof.protocols import Request
from wireproof.protocols.namechan.enums import Delivery, Persistence, Replay, Sync
from wireproof.protocols.namechan.requests import (
    Connect,
    HookCreate,
    HookPublish,
    Publish,
    Subscribe,
    Unsubscribe,
    Version,
)
from wireproof.reference_server.model import Window
from wireproof.reference_server.namechan.queue import Queue
from wireproof.reference_server.namechan.session import NamechanSession
from wireproof.reference_server.registry import server_model_of

S = 10**9
LEGAL = [name for name, one in MUTANTS.items() if one.is_legal and not one.live]
WRONG = {
    "ids-by-two": 100,
    "round-robin-to-all": 750,
    "from-message-is-exclusive": 150,
    "unknown-topic-closes": 0,
    "unknown-topic-silent": 0,
    "ids-of-all-topics": 100,
    "topic-of-the-server": 100,
    "one-topic-id": 100,
    "topic-id-by-subscription": 100,
    "all-topics": 750,
    "topics-without-case": 650,
    "no-block-comments": 0,
    "wire:MESSAGE.topic:wider": 100,
}
"""Wrong server -> the number of the input to begin with: those before it show nothing and take their time."""


def checked(profile: str = "1", mutant: str | None = None) -> StoreCheck:
    """Return a server and its model, with clients a and b and a harness h."""
    made = "namechan", profile, "standard"
    found = StoreCheck(FuzzContext(*made), InProcess(*made, mutant=mutant), tolerance_ns=0, shared=False)
    for name in "ab":
        found.do(ConnectStep(name))
        found.do(RequestStep(name, found.model.greeting()))
    found.do(ConnectStep("h", "hook"))
    return found


def ask(found: StoreCheck, name: str, *requests: Request) -> None:
    found.do(RequestStep(name, requests))


def inputs(seed: int) -> chain[bytes]:
    """Return the kept inputs, then drawn ones without end."""
    source = Random(seed)
    drawn = (bytes([source.randrange(2)]) + source.randbytes(source.choice((60, 200, 400))) for _ in iter(int, 1))
    return chain(store_seeds.seeds("namechan"), drawn)


def test_the_reference_agrees_in_what_is_drawn() -> None:
    for data in islice(inputs(1), 0, 500, 3):
        store_input.check("namechan", data)


@pytest.mark.parametrize("name", LEGAL)
def test_legal_servers_agree(name: str) -> None:
    for data in islice(inputs(2), 0, 300, 5):
        store_input.check("namechan", data, name)


def check_all(found: Iterable[bytes], name: str) -> None:
    for data in found:
        store_input.check("namechan", data, name)


@pytest.mark.parametrize(("name", "begin"), WRONG.items())
def test_wrong_servers_do_not(name: str, begin: int) -> None:
    with pytest.raises(InvariantError):
        check_all(islice(inputs(1), begin, 1500), name)


@pytest.mark.parametrize("sync", Sync)
def test_who_comes_in_the_write_of_a_message_may_get_it_or_not(sync: Sync) -> None:
    found = checked("1+publish")
    ask(found, "h", HookCreate(b"t", Delivery.BROADCAST, Persistence.PERSISTENT, sync))
    ask(found, "a", Publish(b"t", b"one"), Publish(b"t", b"two"))
    ask(found, "a", Subscribe(b"t", Replay.FROM_MESSAGE, 2), Unsubscribe(b"t"), Subscribe(b"t", Replay.FROM_BEGINNING))
    ask(found, "b", Subscribe(b"t"), Publish(b"t", b"three"))
    ask(found, "h", HookPublish(b"t", b"four"))
    ask(found, "b", Unsubscribe(b"t"), Unsubscribe(b"t"))


def test_another_topic_id_is_blamed_for_itself() -> None:
    """Not for the Error that answers what settles a step."""
    found = checked("1", "topic-id-by-subscription")
    ask(found, "h", HookCreate(b"t", Delivery.BROADCAST, Persistence.TRANSIENT, Sync.STRONG))
    ask(found, "a", Subscribe(b"t"))

    with pytest.raises(InvariantError, match=r"b gets Subscribed\(id=2"):
        ask(found, "b", Subscribe(b"t"))

    broken = found.model.unexpected(Window(0, 0))
    assert broken is not None
    assert broken.clause == "NCH-SUBSCRIBE-4"


def test_a_request_after_one_that_may_fail_waits_for_the_next_write() -> None:
    """An Error of the first would be taken for the answer to the second (N27)."""
    found = checked("1+publish")

    ask(found, "a", Publish(b"nobody", b"x"), Unsubscribe(b"t"))

    assert found.done[-1] == RequestStep("a", (Publish(b"nobody", b"x"), Unsubscribe(b"t")))
    assert found.connections == ["a", "b", "h"]


def test_a_replay_that_outlives_its_subscription_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message after Unsubscribed; one before it would be legal, so no case can say this."""

    def forgets(self: Queue, session: NamechanSession) -> None:
        del self.subscribers[session], session.subscriptions[self.name]

    monkeypatch.setattr(Queue, "unsubscribe", forgets)
    found = checked()
    ask(found, "h", HookCreate(b"t", Delivery.BROADCAST, Persistence.PERSISTENT), HookPublish(b"t", b"one"))

    with pytest.raises(InvariantError, match="gets Message"):
        ask(found, "a", Subscribe(b"t", Replay.FROM_BEGINNING), Unsubscribe(b"t"))


def test_turns_are_taken_anew_when_somebody_comes() -> None:
    found = checked()
    ask(found, "h", HookCreate(b"t", Delivery.ROUND_ROBIN), HookPublish(b"t", b"one"), HookPublish(b"t", b"two"))
    ask(found, "a", Subscribe(b"t"))
    ask(found, "b", Subscribe(b"t"))
    ask(found, "h", *(HookPublish(b"t", b"%d" % number) for number in range(5)))
    found.do(DisconnectStep("a"))
    ask(found, "h", *(HookPublish(b"t", b"%d" % number) for number in range(5)))


def test_a_silent_client_is_dropped_after_an_error_and_pinged_until_then() -> None:
    found = checked()

    for _ in range(3):
        found.do(AdvanceStep(4 * S))

    assert found.connections == ["h"]


def test_a_client_that_does_not_begin_is_dropped() -> None:
    found = checked()
    found.do(ConnectStep("c"))

    found.do(AdvanceStep(3 * S))

    assert found.connections == ["a", "b", "h"]


@pytest.mark.parametrize("first", [Version(2), Connect(2, b"x")])
def test_who_begins_wrongly_is_answered_and_ended(first: Request) -> None:
    found = checked()
    found.do(ConnectStep("c"))

    ask(found, "c", *((first,) if isinstance(first, Version) else (Version(), first)))

    assert "c" not in found.connections


@pytest.mark.parametrize("options", [{"auto_create": True}, {"queue": ("t:broadcast:transient",)}])
def test_what_the_model_does_not_follow_is_reported(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="begins without queues"):
        server_model_of("namechan", profile="1", variant="standard", tolerance_ns=0, shared=False, options=options)


def test_the_commands_use_it(tmp_path: Path) -> None:
    more = ["--examples", "3", "--findings", str(tmp_path)]
    done = CliRunner().invoke(fuzz, ["machine", "namechan", *more], catch_exceptions=False)

    assert done.exit_code == 0, done.output
    assert done.output.count("nothing found") == 2


def test_a_wrong_message_is_named_with_the_one_that_is_due() -> None:
    found = checked(mutant="from-message-is-exclusive")
    ask(found, "h", HookCreate(b"t", Delivery.BROADCAST, Persistence.PERSISTENT, Sync.STRONG))
    ask(found, "h", *(HookPublish(b"t", body) for body in (b"one", b"two", b"three")))

    with pytest.raises(InvariantError, match=r"Message\(id=3, .*expected message 2 of b't': b'two'"):
        ask(found, "a", Subscribe(b"t", Replay.FROM_MESSAGE, 2))


def test_a_wrong_line_at_the_hook_is_named_with_the_one_that_is_due() -> None:
    found = checked(mutant="create-with-any-settings")

    ask(found, "h", HookCreate(b"t", Delivery.BROADCAST, Persistence.PERSISTENT, Sync.STRONG))
    with pytest.raises(InvariantError, match=r"gets Outcome\(text=b'ok'\); expected OUTCOME\(.*is_ok=False"):
        ask(found, "h", HookCreate(b"t", Delivery.ROUND_ROBIN, Persistence.TRANSIENT, Sync.STRONG))
