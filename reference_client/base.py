"""What every SDK here does alike: it is awaited or used with `async with`, and refuses what its profile lacks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from types import TracebackType
from typing import TypeVar

__all__ = ["BaseClient"]

C = TypeVar("C", bound="BaseClient")


class BaseClient(ABC):
    """A client that `await` opens, and `async with` opens and closes."""

    @abstractmethod
    async def _open(self) -> None:
        """Connect. Raises ClientError."""

    @abstractmethod
    async def close(self) -> None:
        """Close; pending calls fail with ClosedError. May be called again."""

    async def __aenter__(self: C) -> C:
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __await__(self: C) -> Generator[None, None, C]:
        return self.__aenter__().__await__()
