"""The reference client's driver, wrong in the one way that is named: `wrong_driver.py FAULT PROTOCOL --driver`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from wireproof.reference_client.cli import main
from wireproof.reference_client.driver import CommandError, Connection, Driver

Object = Mapping[str, Any]
ASK, CONNECT = Connection.ask, Driver._connect


async def sends_another_quota(self: Connection, operation: str, given: Object) -> Object:
    """Ask with a quota of 1, whatever it was told."""
    return await ASK(self, operation, {**given, "quota": "1"} if "quota" in given else given)


async def reports_another_quota(self: Connection, operation: str, given: Object) -> Object:
    """Report a quota one higher than came."""
    result = await ASK(self, operation, given)
    return {**result, "quota": str(int(result["quota"]) + 1)} if "quota" in result else result


async def never_answers_a_query(self: Connection, operation: str, given: Object) -> Object:
    """Ask, and keep the answer."""
    result = await ASK(self, operation, given)
    if operation == "query":
        await asyncio.sleep(60)
    return result


async def dies_at_stat(self: Connection, operation: str, given: Object) -> Object:
    """End the process where it should report."""
    result = await ASK(self, operation, given)
    if operation == "stat":
        os._exit(3)
    return result


async def lacks_stat(self: Connection, operation: str, given: Object) -> Object:
    """Know no STAT."""
    if operation == "stat":
        raise CommandError("unsupported", "no operation 'stat'")
    return await ASK(self, operation, given)


async def lacks_subscribe(self: Connection, operation: str, given: Object) -> Object:
    """Know no SUBSCRIBE."""
    if operation == "subscribe":
        raise CommandError("unsupported", "no operation 'subscribe'")
    return await ASK(self, operation, given)


async def asks_on_connect(self: Driver, given: Object) -> Object:
    """Ask who it is as soon as it is connected, as some SDKs do."""
    result = await CONNECT(self, given)
    await self._connection(given).ask("whoami", {})
    return result


WRONG = (sends_another_quota, reports_another_quota, never_answers_a_query, dies_at_stat, lacks_stat, lacks_subscribe)
MUTANTS: Mapping[str, Callable[[Connection, str, Object], Awaitable[Object]]] = {one.__name__: one for one in WRONG}

if __name__ == "__main__":
    mutant = sys.argv.pop(1)
    if mutant == "keeps_messages":
        Connection.pushed = lambda self, message: None  # type: ignore[method-assign]
    elif mutant == "legal-asks_on_connect":
        Driver._connect = asks_on_connect  # type: ignore[method-assign]
    else:
        Connection.ask = MUTANTS[mutant]  # type: ignore[method-assign, assignment]
    main()
