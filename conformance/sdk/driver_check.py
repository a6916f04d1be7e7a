"""A driver held against the driver protocol, line by line, while its author writes it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from wireproof.conformance.sdk.check_results import CheckResult
from wireproof.conformance.sdk.driver_checks import at_the_end, connecting, each_operation, pushes, refusals, together
from wireproof.conformance.sdk.driver_process import DriverEndedError, DriverProcess, NoAnswerError
from wireproof.conformance.sdk.driver_protocol import NONSENSE, DriverMessageError, FailureKind, Hello
from wireproof.conformance.sdk.operation import OperationContext
from wireproof.conformance.sdk.operation_fields import number_names
from wireproof.conformance.sdk.recording_server import recording_server
from wireproof.conformance.sdk.samples import Samples
from wireproof.conformance.sdk.transports import DriverStartError
from wireproof.conformance.suite.declared import load_features
from wireproof.conformance.suite.documents import vectors_root
from wireproof.protocols import Profile, protocol, protocol_names
from wireproof.protocols.plain import Plain
from wireproof.protocols.registry import Protocol

__all__ = ["DriverCheck"]

TROUBLE = (NoAnswerError, DriverMessageError)


@dataclass(slots=True)
class DriverCheck:
    """One check of a driver that is not started yet; whoever makes it closes the driver."""

    driver: DriverProcess
    protocol: str | None = None
    """None: the one that the driver speaks."""
    profile: str | None = None
    variant: str | None = None
    """None: what the driver speaks, the protocol's usual one if it can."""
    restarts: bool = True
    """Whether a driver that answers nothing any more is started again."""
    hello: Hello = field(init=False)
    spoken: Protocol = field(init=False)
    plain: Plain = field(init=False)

    async def run(self) -> AsyncIterator[CheckResult]:
        """Yield what becomes of each thing tried; ends early when the driver is of no use any more."""
        try:
            async for one in self._run():
                yield one
        except DriverEndedError as error:
            yield CheckResult("the driver runs on", (error.detail, *error.last_words, "what follows was not tried"))
        for line in self.driver.wrong_lines:
            yield CheckResult("stdout is for the protocol only", (line,))

    async def _run(self) -> AsyncIterator[CheckResult]:
        hello = await self._hello()
        yield hello
        if hello.wrong:
            return
        yield await self._nonsense()
        async with recording_server(self.spoken.name, self.plain.profile.name, self.plain.variant.name) as stage:
            ground = OperationContext(self.driver, stage, self.plain, Samples(self.plain), "a", restarts=self.restarts)
            connected = await connecting(ground, "connect")
            yield connected
            trials = () if connected.wrong else (each_operation, together, refusals, pushes, at_the_end)
            for trial in trials:
                async for one in trial(ground, self.hello):
                    yield one
        if not connected.wrong:
            async for one in self._extremes():
                yield one
        yield await self._quit()

    async def _hello(self) -> CheckResult:
        try:
            self.hello = hello = await self.driver.start()
        except (*TROUBLE, DriverStartError) as error:
            return CheckResult("hello", (str(error),))
        sdk = f"{hello.sdk.name} {hello.sdk.version} ({hello.sdk.language})"
        wrong = self._unknown(hello)
        if not wrong:
            profile, variant = self._spoken(hello)
            self.plain = Plain(self.spoken, profile, variant)
            sdk += f", tried with profile {profile}, variant {variant}"
        return CheckResult(f"hello from {sdk}", tuple(wrong))

    def _unknown(self, hello: Hello) -> list[str]:
        """Return what hello names that there is not, and what is asked for and it does not name."""
        tried = (self.protocol,) if self.protocol else protocol_names()
        if hello.protocol not in tried:
            return [f"protocol: expected {' or '.join(map(repr, tried))}, got {hello.protocol!r}"]
        self.spoken = known = protocol(hello.protocol)
        profiles = list(known.profiles)
        wrong = _strangers("profiles", hello.profiles, profiles)
        mine = [known.profiles[one] for one in hello.profiles if one in profiles]
        wrong += _strangers("variants", hello.variants, [name for one in mine for name in one.variants])
        wrong += _strangers("operations", hello.operations, [*_operations(known, mine), "batch"])
        numbers = {name for one in mine for each in one.variants for name in number_names(Plain(known, one.name, each))}
        wrong += _strangers("largest_numbers", list(hello.largest_numbers), sorted(numbers))
        wrong += _strangers(
            "features", hello.features, list(load_features(vectors_root() / known.name / "features.yaml"))
        )
        for name, wanted, has in (
            ("profiles", self.profile, hello.profiles),
            ("variants", self.variant, hello.variants),
        ):
            if wanted is not None and wanted not in has:
                wrong.append(f"{name}: expected {wanted!r} among them, got {', '.join(has)}")
        return wrong

    def _spoken(self, hello: Hello) -> tuple[str, str]:
        known = self.spoken
        profile = self.profile or _usual(known.default_profile, hello.profiles)
        return profile, self.variant or _usual(known.default_variant, hello.variants)

    async def _nonsense(self) -> CheckResult:
        title = f"{NONSENSE}, which no driver knows"
        try:
            answer = await self.driver.ask(NONSENSE, connection="a")
        except TROUBLE as error:
            return CheckResult(title, (f"expected the error unsupported; {error}",))
        if answer.kind is FailureKind.UNSUPPORTED:
            return CheckResult(title)
        got = f"the error {answer.kind}" if answer.kind else f"the result {answer.result}"
        return CheckResult(title, (f"expected the error unsupported, got {got}",))

    async def _extremes(self) -> AsyncIterator[CheckResult]:
        """Try bytes of all kinds and the largest numbers, under the widest variant there is."""
        variants = [self.variant] if self.variant else list(self.hello.variants)
        plain = max((Plain(self.plain.protocol, self.plain.profile.name, one) for one in variants), key=_width)
        samples = Samples(plain, self.hello.largest, binary=self.hello.binary_safe)
        most = max(map(samples.largest, plain.operations.values()), default=0)
        kinds = f", for the number {most}" * bool(most) + ", bytes of all kinds" * self.hello.binary_safe
        async with recording_server(self.spoken.name, plain.profile.name, plain.variant.name) as stage:
            ground = OperationContext(self.driver, stage, plain, samples, "b", restarts=self.restarts)
            connected = await connecting(ground, f"connect under {plain.variant.name}{kinds}")
            yield connected
            if not connected.wrong:
                async for one in each_operation(ground, self.hello, extreme=True):
                    yield one
        if not self.hello.binary_safe:
            yield CheckResult("bytes of all kinds", note="not tried: hello says binary_safe false")

    async def _quit(self) -> CheckResult:
        try:
            how = await self.driver.quit()
        except (*TROUBLE, DriverEndedError) as error:
            return CheckResult("quit", (f"expected an answer, then the end; {error}",))
        right = how.endswith(("exit code 0", "closed its stdout"))
        return CheckResult("quit", () if right else (f"expected exit code 0; {how}", *self.driver.last_words()))


def _strangers(name: str, got: Sequence[str], known: Sequence[str]) -> list[str]:
    wrong = [one for one in got if one not in known]
    some = ", ".join(dict.fromkeys(known))
    return [f"{name}: expected {f'some of {some}' if some else 'none'}; got {', '.join(wrong)}"] if wrong else []


def _operations(spoken: Protocol, profiles: Sequence[Profile]) -> list[str]:
    hidden = spoken.own_messages
    return [request.NAME.lower() for one in profiles for request in one.replies if request not in hidden]


def _usual(wanted: str, has: Sequence[str]) -> str:
    return wanted if wanted in has else has[0]


def _width(plain: Plain) -> int:
    return max(plain.variant.sizes.values(), default=1)
