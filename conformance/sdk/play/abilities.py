"""What an SDK says that it cannot do: a play that needs it is unsupported, not failed."""

from __future__ import annotations

from collections.abc import Sequence

from wireproof.conformance.model.outcome import Stopped
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.sdk.driver_protocol import DriverAnswer, FailureKind, Hello
from wireproof.conformance.sdk.play.operation_check import SdkRefusal, error_text
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import Message
from wireproof.protocols.messages import Request

__all__ = ["SdkAbilities"]


class SdkAbilities:
    """What the driver's `hello` names; a play stops where that is too little."""

    def __init__(self, symbols: Symbols, hello: Hello) -> None:
        self._hello = hello
        self._codec, self._names = symbols.codec, symbols.protocol.names

    def has(self, features: Sequence[str]) -> None:
        """Stop where the SDK lacks a feature. Raises `Stopped` (unsupported)."""
        lacking = [one for one in features if one not in self._hello.features]
        if lacking:
            raise Stopped(Verdict.UNSUPPORTED, f"the feature {lacking[0]}", "hello does not name it")

    def asks(self, requests: Sequence[Request]) -> None:
        """Stop where the SDK has no such operation, or carries no such bytes. Raises `Stopped` (unsupported)."""
        lacking = [one.NAME.lower() for one in requests if one.NAME.lower() not in self._hello.operations]
        if lacking:
            raise Stopped(Verdict.UNSUPPORTED, f"the operation {lacking[0]}", "hello does not name it")
        self.carries(requests)

    def carries(self, messages: Sequence[Message]) -> None:
        """Stop where messages hold bytes that are no text and the SDK says that it carries text only.

        Raises `Stopped` (unsupported).
        """
        if self._refusal(messages).bytes:
            raise Stopped(Verdict.UNSUPPORTED, "an SDK that takes any bytes", "hello says binary_safe false")

    def excuse(self, answer: DriverAnswer, messages: Sequence[Message]) -> None:
        """Stop where an error is about what the SDK declared that it cannot do. Raises `Stopped` (unsupported)."""
        if answer.error is None:
            return
        beyond = self._refusal(messages)
        if answer.kind is FailureKind.UNSUPPORTED or beyond.numbers or beyond.bytes:
            raise Stopped(Verdict.UNSUPPORTED, "an SDK that can do this", error_text(answer))

    def _refusal(self, messages: Sequence[Message]) -> SdkRefusal:
        return SdkRefusal.of(self._codec, self._hello, self._names, messages)
