"""Server-sent events: lines into events (the format of the HTML standard, section 9.2.6)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple


class ServerEvent(NamedTuple):
    """One event; `id` is the last one seen, as a reconnecting client sends it back."""

    name: str
    data: str
    id: str


async def parse(lines: AsyncIterator[str], last_id: str = "") -> AsyncIterator[ServerEvent]:
    """Events, each completed by a blank line; comments and `retry` are not events. Ids continue from `last_id`."""
    name = "message"
    data: list[str] = []
    async for line in lines:
        if not line:
            if data:
                yield ServerEvent(name, "\n".join(data), last_id)
            name, data = "message", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value
        elif field == "id" and "\0" not in value:
            last_id = value
