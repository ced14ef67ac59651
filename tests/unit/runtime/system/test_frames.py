"""Frames hold all values that may be stored, and are limited in size on both sides."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest

from runtime.system import frames

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


def test_the_sender_refuses_a_frame_over_the_limit() -> None:
    with pytest.raises(frames.FrameError, match=f"longer than the {frames.MAX_FRAME} bytes allowed"):
        frames.encode("x" * frames.MAX_FRAME)


HEADER = (frames.MAX_FRAME + 1).to_bytes(4, "big")


def test_a_blocking_reader_refuses_a_frame_over_the_limit_by_its_header() -> None:
    with pytest.raises(frames.FrameError, match="longer than"):
        list(frames.read_all(io.BytesIO(frames.encode(1) + HEADER)))


async def test_an_asyncio_reader_refuses_a_frame_over_the_limit_by_its_header() -> None:
    stream = asyncio.StreamReader()
    stream.feed_data(HEADER)
    with pytest.raises(frames.FrameError, match="longer than"):
        await frames.receive(stream)


@pytest.mark.parametrize("cut", [1, 3, 5])
def test_a_frame_that_ends_early_is_the_end_of_the_stream(cut: int) -> None:
    frame = frames.encode({"a": 1})
    assert list(frames.read_all(io.BytesIO(frame + frame[:cut]))) == [{"a": 1}]


@pytest.mark.parametrize("flag", [0, 1 << 31])
def test_a_body_that_is_not_json_is_refused(flag: int) -> None:
    with pytest.raises(frames.FrameError, match="not JSON"):
        frames.read(io.BytesIO((1 | flag).to_bytes(4, "big") + b"{"))


def _texts(text: str) -> tuple[str]:
    return (text,)


@pytest.mark.parametrize(
    ("texts", "parts"),
    [
        ([], []),
        (["aaaa"] * 3, [["aaaa", "aaaa"], ["aaaa"]]),  # by their number
        (["a" * 30, "b" * 30, "c"], [["a" * 30], ["b" * 30, "c"]]),  # by their size
        (["😀😀", "😀😀", "c"], [["😀😀", "😀😀"], ["c"]]),  # escaped, each has twelve bytes
        (["😀😀😀", "😀😀😀", "c"], [["😀😀😀"], ["😀😀😀", "c"]]),
    ],
)
def test_the_parts_of_a_list_fit_into_a_message_each(texts: list[str], parts: list[list[str]]) -> None:
    found = list(frames.parts(texts, _texts, 2, 65))
    assert found == parts
    assert all(len(frames.encode_exact(text)) - 6 <= 65 for part in found for text in part)


def test_a_text_that_fits_into_no_message_is_an_error_that_quotes_its_beginning() -> None:
    with pytest.raises(frames.FrameError, match=r"80,000 bytes are more than the 100 bytes allowed: a{200}…$"):
        list(frames.parts(["b", "a" * 40_000], _texts, 10, 100))
