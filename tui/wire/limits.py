"""How much of a response the console keeps in memory."""

from __future__ import annotations

from typing import NamedTuple


class SizeLimits(NamedTuple):
    """Bytes. 1,000 connectors with their configs and statuses need 1 MB, so a response may have 26 times what 10,000
    connectors need."""

    response: int = 1 << 28
    event: int = 1 << 24  # of an event stream


ENCODINGS = ("", "identity", "gzip", "deflate")  # each at most once, so that a read grows at most a thousandfold


class TooLarge(OSError):
    """More bytes than the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the response is larger than {limit / (1 << 20):g} MiB")


class Room:
    """Counts bytes up to a limit."""

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit

    def take(self, size: int) -> None:
        """Raises TooLarge."""
        self.left -= size
        if self.left < 0:
            raise TooLarge(self.limit)
