"""A broker that answers one request type with a fault: an error code, a damaged response, a late one, or none.

It stands between the clients and a real broker, whose responses it changes. Clients connect only to it: the addresses
in responses are its own."""

from __future__ import annotations

import asyncio
import importlib
import os
import pkgutil
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

PRODUCE, FETCH, LIST_OFFSETS, METADATA, OFFSET_FETCH, FIND_COORDINATOR = 0, 1, 2, 3, 9, 10
API_VERSIONS, CREATE_TOPICS, INIT_PRODUCER_ID, DESCRIBE_CLUSTER = 18, 19, 22, 60
_WITH_ADDRESSES = (METADATA, FIND_COORDINATOR, DESCRIBE_CLUSTER)
_PATIENCE = 120.0  # seconds for the thread of the broker, which thousands of clients keep busy
_LATE = 3.0  # seconds, more than the timeouts of the calls under test


class Damage(StrEnum):
    """What happens to a response."""

    CODE = "code"  # the error code of the response, or of each of its groups and topics
    INNER_CODE = "inner code"  # the error codes of the innermost parts: partitions, members
    TRUNCATED = "truncated"  # half of the response, in a frame of that length
    CUT = "cut"  # half of the frame, then the end of the connection
    CLOSED = "closed"  # the end of the connection
    SILENT = "silent"  # no response
    LATE = "late"
    WRONG_ID = "wrong id"  # the response to another request
    WRONG_VERSION = "wrong version"  # the body in the oldest version of the protocol
    UNSUPPORTED = "unsupported"  # the broker does not list the request among its versions
    NOISE = "noise"  # bytes that mean nothing


@dataclass(frozen=True, slots=True)
class Fault:
    """A damaged response. `times`: how often, 0 always. `after`: responses before the first damaged one."""

    api: int
    damage: Damage
    code: int = 0
    times: int = 0
    after: int = 0

    def __str__(self) -> str:
        what = f"{self.damage} {self.code}" if self.damage in (Damage.CODE, Damage.INNER_CODE) else str(self.damage)
        return f"{api_name(self.api)}: {what}" + (f", {self.times} time(s)" if self.times else "")


@dataclass(slots=True)
class Listener:
    """A port of the broker with a fault, and the API keys that clients have used there."""

    port: int
    fault: Fault | None
    left: int
    spared: int
    server: asyncio.Server
    seen: set[int] = field(default_factory=set)
    connections: set[asyncio.Task[None]] = field(default_factory=set)


class FaultyBroker:
    """Ports with different faults before the same broker. Has a thread of its own."""

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._broker = host, int(port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="faulty-broker", daemon=True)
        self._listeners: dict[int, Listener] = {}
        self._thread.start()

    def listen(self, fault: Fault | None = None) -> int:
        """A new port with this fault."""
        return asyncio.run_coroutine_threadsafe(self._listen(fault), self._loop).result(_PATIENCE)

    def seen(self, port: int) -> set[int]:
        """The API keys of the requests on this port."""
        return self._listeners[port].seen

    def unlisten(self, port: int) -> None:
        """End a port and its connections."""
        asyncio.run_coroutine_threadsafe(self._unlisten(port), self._loop).result(_PATIENCE)

    def close(self) -> None:
        for port in list(self._listeners):
            self.unlisten(port)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _listen(self, fault: Fault | None) -> int:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            listener.connections.add(task)
            try:
                await _Connection(listener, reader, writer).serve(*self._broker)
            except (OSError, asyncio.CancelledError):  # the broker is gone, or the port is closed
                pass
            finally:
                listener.connections.discard(task)
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = int(server.sockets[0].getsockname()[1])
        listener = self._listeners[port] = Listener(
            port, fault, fault.times if fault else 0, fault.after if fault else 0, server
        )
        return port

    async def _unlisten(self, port: int) -> None:
        listener = self._listeners.pop(port)
        listener.server.close()
        for connection in list(listener.connections):
            connection.cancel()
            await connection


class _Connection:
    """A client's connection, with one of its own to the broker. Responses keep the order of their requests."""

    def __init__(self, listener: Listener, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._listener, self._reader, self._writer = listener, reader, writer
        self._requests: dict[int, tuple[int, int]] = {}  # API key and version by correlation id

    async def serve(self, host: str, port: int) -> None:
        there, back = await asyncio.open_connection(host, port)
        try:
            async with asyncio.TaskGroup() as tasks:
                up = tasks.create_task(self._requests_up(back))
                down = tasks.create_task(self._responses_down(there))
                for task in (up, down):
                    task.add_done_callback(lambda _: (up.cancel(), down.cancel()))
        except* (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            back.close()

    async def _requests_up(self, back: asyncio.StreamWriter) -> None:
        while True:
            frame = await _frame(self._reader)
            api, version, correlation = struct.unpack(">hhi", frame[:8])
            self._listener.seen.add(api)
            self._requests[correlation] = api, version
            back.write(struct.pack(">i", len(frame)) + frame)
            await back.drain()

    async def _responses_down(self, there: asyncio.StreamReader) -> None:
        while True:
            frame = await _frame(there)
            correlation = struct.unpack(">i", frame[:4])[0]
            api, version = self._requests.pop(correlation)
            fault = self._due(api)
            if api in _WITH_ADDRESSES or api == API_VERSIONS:
                frame = self._redirected(api, version, frame)
            if fault is not None:
                frame = await self._damaged(fault, version, frame)
                if not frame:
                    continue
            self._writer.write(struct.pack(">i", len(frame)) + frame)
            await self._writer.drain()

    def _due(self, api: int) -> Fault | None:
        fault = self._listener.fault
        if fault is None or fault.api != api or fault.damage is Damage.UNSUPPORTED:
            return None
        if self._listener.spared:
            self._listener.spared -= 1
            return None
        if fault.times:
            self._listener.left -= 1
            if self._listener.left < 0:
                return None
        return fault

    def _redirected(self, api: int, version: int, frame: bytes) -> bytes:
        response = _decoded(api, version, frame)
        if api == API_VERSIONS:
            unsupported = self._listener.fault if self._unsupported else None
            for listed in response.api_keys:
                if listed.api_key in RESPONSES:
                    listed.max_version = min(listed.max_version, RESPONSES[listed.api_key].max_version)
            response.api_keys = [
                one for one in response.api_keys
                if one.api_key in RESPONSES and (unsupported is None or one.api_key != unsupported.api)
            ]  # fmt: skip
        for one in (response, *getattr(response, "brokers", ()), *(getattr(response, "coordinators", None) or ())):
            if "port" in one.fields and getattr(one, "port", -1) > 0:
                one.host, one.port = "127.0.0.1", self._listener.port
        return _encoded(response, version, frame)

    @property
    def _unsupported(self) -> bool:
        return self._listener.fault is not None and self._listener.fault.damage is Damage.UNSUPPORTED

    async def _damaged(self, fault: Fault, version: int, frame: bytes) -> bytes:
        """The response to send; empty for none."""
        match fault.damage:
            case Damage.CODE | Damage.INNER_CODE:
                response = _decoded(fault.api, version, frame)
                refuse(response, fault.code, fault.damage is Damage.INNER_CODE)
                return _encoded(response, version, frame)
            case Damage.TRUNCATED:
                return frame[: 4 + (len(frame) - 4) // 2]
            case Damage.CUT:
                self._writer.write(struct.pack(">i", len(frame)) + frame[: len(frame) // 2])
                await self._writer.drain()
                raise ConnectionResetError
            case Damage.CLOSED:
                raise ConnectionResetError
            case Damage.LATE:
                await asyncio.sleep(_LATE)
                return frame
            case Damage.WRONG_ID:
                return struct.pack(">i", struct.unpack(">i", frame[:4])[0] + 1_000) + frame[4:]
            case Damage.WRONG_VERSION:
                return _encoded(_decoded(fault.api, version, frame), 0, frame)
            case Damage.NOISE:
                return frame[:4] + os.urandom(len(frame) + 32)
            case _:
                return b""


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (length,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(length)


def refuse(response: Any, code: int, inner: bool) -> None:
    """Put an error code into a response: into its outermost parts that have one, without what they contain, as brokers
    do, or into the innermost."""
    has_code = "error_code" in response.fields and response.fields["error_code"].for_version_q(response.version)
    parts = list(_parts(response))
    if has_code and not (inner and any(_has_code(part) for part in parts)):
        response.error_code = code
        for name, item in response.fields.items():
            if item.is_struct_array() and not inner and getattr(response, name, None):
                setattr(response, name, [])
        return
    for part in parts:
        refuse(part, code, inner)


def _has_code(part: Any) -> bool:
    return "error_code" in part.fields or any(_has_code(inside) for inside in _parts(part))


def _parts(response: Any) -> Iterator[Any]:
    for name, item in response.fields.items():
        if item.is_struct_array():
            yield from getattr(response, name, None) or ()


def _decoded(api: int, version: int, frame: bytes) -> Any:
    kind = RESPONSES[api]
    return kind.decode(memoryview(frame)[_header_size(api, version) :], version=version)


def _encoded(response: Any, version: int, frame: bytes) -> bytes:
    response._header = None
    header = bytes(frame[:4]) + (b"\0" if _header_size(response.API_KEY, version) == 5 else b"")
    return header + bytes(response.encode(version=version))


def _header_size(api: int, version: int) -> int:
    """A correlation id, and tagged fields in the newer versions, but never in a response about versions (KIP-511)."""
    return 5 if api != API_VERSIONS and RESPONSES[api].flexible_version_q(version) else 4


def api_name(api: int) -> str:
    return RESPONSES[api].__name__.removesuffix("Response") if api in RESPONSES else f"API {api}"


def _responses() -> Mapping[int, Any]:
    import kafka.protocol
    from kafka.protocol.api_header import ResponseClassRegistry

    for module in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol."):
        if ".old" not in module.name and "generate" not in module.name:
            importlib.import_module(module.name)
    registry: Mapping[int, Any] = ResponseClassRegistry._response_class_registry
    return registry


RESPONSES: Mapping[int, Any] = _responses()
"""Responses by API key."""


def code_levels(api: int) -> int:
    """The number of levels of a response that have an error code: more than 1 if its parts have codes of their own."""
    return _levels(RESPONSES[api].fields, RESPONSES[api].max_version)


def _levels(fields: Mapping[str, Any], version: int) -> int:
    present = {name: item for name, item in fields.items() if item.for_version_q(version)}
    inside = [_levels(item.fields, version) for item in present.values() if item.is_struct_array()]
    return ("error_code" in present) + max(inside, default=0)


def error_codes() -> Iterable[int]:
    """All error codes of the protocol."""
    from kafka import errors

    return sorted(code for code in errors.kafka_errors if code is not None and (code > 0 or code == -1))
