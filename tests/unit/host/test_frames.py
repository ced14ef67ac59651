"""Frames to and from the plugin host hold all values that may be stored."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest

from runtime.host import frames

MESSAGES: list[Any] = [
    {"a": [1, "x", None, True, 1.5]},
    {"offset": 2**64, "negative": -(2**70)},
    {"file": "\ud83d", "\udc00": 1},
    {"text": "grün 😀" * 1000},
]


@pytest.mark.parametrize("message", MESSAGES)
def test_messages_arrive_as_they_were_sent(message: Any) -> None:
    assert list(frames.read_all(io.BytesIO(frames.encode(message) * 2))) == [message, message]


async def test_messages_arrive_unchanged_on_an_event_loop() -> None:
    stream = asyncio.StreamReader()
    stream.feed_data(b"".join(map(frames.encode, MESSAGES)))
    stream.feed_eof()
    assert [m async for m in frames.receive_all(stream)] == MESSAGES


def test_invalid_json_is_refused() -> None:
    with pytest.raises(TypeError):
        frames.encode({"a": object()})
