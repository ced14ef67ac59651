"""Decodes the list of connectors at each poll: only connectors whose part of the response has changed are decoded
again.

A response with 1,000 connectors has 1 MB of text and 5 MB of objects. If each poll created all of them, most of the
time would be spent on connectors that are the same as before, and the objects that are kept would fragment the memory.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, NamedTuple

SLICE_SIZE = 500  # connectors compared or decoded before other tasks of the event loop run
_NOT_AN_OBJECT = (ValueError, IndexError, RecursionError)  # of text that `loads` may report better


class _Part(NamedTuple):
    """A connector's text, `"NAME":{…}`, with its name and decoded value."""

    text: str
    name: str
    value: Any

    def is_at(self, text: str, at: int) -> bool:
        """Whether the text has this part at this place."""
        return text.startswith(self.text, at) and text[at + len(self.text)] in ",}"


class ListDecoder:
    """Decodes bodies `{"NAME":{…},…}`. The values of unchanged connectors are the same objects as before; so is the
    whole response if no connector has changed. `loads` decodes the first body, and bodies that are not such objects."""

    def __init__(self, loads: Callable[[bytes], Any]) -> None:
        self._loads = loads
        self._digest = b""
        self._response: Any = None
        self._parts: list[_Part] = []

    async def decoded(self, body: bytes) -> Any:
        """The decoded body. Raises as `loads` does."""
        digest = await asyncio.to_thread(_digest, body)  # other tasks run meanwhile: 10 MB take 10 ms
        if digest == self._digest:
            return self._response
        parts = await self._split(body) if self._digest else []  # the first one is decoded at once, to be shown sooner
        response = {part.name: part.value for part in parts} if parts else self._loads(body)
        self._digest, self._response, self._parts = digest, response, parts
        return response

    async def _split(self, body: bytes) -> list[_Part]:
        """The parts of the body; none if it is not an object with connectors."""
        try:
            return await self._split_text(body.decode())
        except _NOT_AN_OBJECT:
            return []

    async def _split_text(self, text: str) -> list[_Part]:
        """The parts of the text. The order of connectors is mostly that of the previous response."""
        known, places = self._parts, {part.name: place for place, part in enumerate(self._parts)}
        parts: list[_Part] = []
        at, place = 1, 0
        while text[at - 1] != "}":
            part = known[place] if place < len(known) else None
            if part is None or not part.is_at(text, at):
                name, _ = _decoder.raw_decode(text, _beyond_blanks(text, at))
                if type(name) is not str:
                    raise ValueError("not an object")
                place = places.get(name, place - 1)
                part = known[place] if name in places and known[place].is_at(text, at) else _part(text, at)
            parts.append(part)
            if not len(parts) % SLICE_SIZE:
                await asyncio.sleep(0)
            place += 1
            at += len(part.text) + 1
        if text[0] != "{" or at != len(text):
            raise ValueError("not one object")
        return parts


def _digest(body: bytes) -> bytes:
    return blake2b(body).digest()


_decoder = json.JSONDecoder()


def _part(text: str, at: int) -> _Part:
    """Decodes the connector that begins at this place."""
    name, end = _decoder.raw_decode(text, _beyond_blanks(text, at))
    colon = _beyond_blanks(text, end)
    value, end = _decoder.raw_decode(text, _beyond_blanks(text, colon + 1))
    end = _beyond_blanks(text, end)
    if text[colon] != ":" or text[end] not in ",}":
        raise ValueError("not an object")
    return _Part(text[at:end], name, value)


def _beyond_blanks(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at
