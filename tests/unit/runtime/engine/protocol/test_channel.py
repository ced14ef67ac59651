"""Messages between the worker and its slots arrive unchanged, or are refused."""

from __future__ import annotations

import asyncio
import math
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from runtime.engine.protocol.channel import BlockingChannel, UnixConnection, encode, read_message
from runtime.engine.protocol.task_specs import spec_from_json
from runtime.model.task_spec import ConverterSpec, SourceOffset, TaskSpec
from runtime.system.frames import FrameError


def reader_of(data: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return reader


@pytest.mark.parametrize("value", [2**70, -(2**64), math.inf, "line \udcff", "\0", "日本", {"a": [None, 1.5]}])
async def test_values_arrive_as_they_were_sent(value: Any) -> None:
    assert await read_message(reader_of(encode({"op": "x", "value": value}))) == {"op": "x", "value": value}


async def test_a_specification_arrives_as_it_was_sent() -> None:
    spec = TaskSpec(
        connector="größe",
        task=3,
        epoch=7,
        type="source",
        task_class="a.b:C",
        config={"k": "v"},
        key_converter=ConverterSpec("K"),
        value_converter=ConverterSpec("V", {"schemas.enable": "false"}),
        header_converter=ConverterSpec("H"),
        offsets=[SourceOffset({"filename": "f"}, {"position": 2**63 - 1}, '["größe",{"filename":"f"}]')],
        plugin_path=["/plugins"],
    )
    message = await read_message(reader_of(encode({"op": "start", "spec": spec})))
    assert spec_from_json(message["spec"]) == spec


async def test_a_frame_over_the_limit_is_refused_by_its_header() -> None:
    with pytest.raises(FrameError, match="longer"):
        await read_message(reader_of((5000).to_bytes(4, "big")), limit=4096)


@pytest.mark.parametrize("cut", [0, 2, 6])
async def test_the_end_of_the_stream_is_an_eof(cut: int) -> None:
    with pytest.raises(EOFError):
        await read_message(reader_of(encode({"op": "x"})[:cut]))


@pytest.mark.parametrize("body", [b"[1]", b"{", b"\xff", b"null"])
async def test_a_body_that_is_not_a_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(FrameError):
        await read_message(reader_of(len(body).to_bytes(4, "big") + body))


def test_a_value_that_the_channel_does_not_support_is_refused() -> None:
    with pytest.raises(TypeError, match="object cannot be sent"):
        encode({"op": object()})


def test_the_blocking_side_reads_frames_in_pieces_and_then_the_end(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()

        def serve() -> None:
            peer, _ = server.accept()
            with peer:
                for byte in encode({"op": "a"}) + encode({"op": "b"}) + encode({"op": "c"})[:-1]:
                    peer.sendall(bytes([byte]))

        thread = threading.Thread(target=serve)
        thread.start()
        channel = BlockingChannel(UnixConnection(path, 5.0))
        assert [channel.receive() for _ in range(3)] == [{"op": "a"}, {"op": "b"}, None]
        thread.join()


def test_the_end_of_the_worker_is_seen_while_its_messages_are_unread(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        channel = BlockingChannel(UnixConnection(path, 5.0))
        peer, _ = server.accept()
        peer.sendall(encode({"op": "a"}))
        assert not channel.closed
        peer.close()
        assert channel.closed
        assert channel.receive() == {"op": "a"}
