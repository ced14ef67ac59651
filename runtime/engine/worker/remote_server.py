"""The worker's TLS port for slots on other machines, with a thread of its own.

The thread renews leases while the worker's event loop is busy. Messages of slots are passed to the event loop, at most
`_BATCH` at a time, so that a slot that floods its worker waits, as on this machine.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import math
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar, cast

from runtime.engine.placement.remote_lease import RemoteLease
from runtime.engine.placement.slot_link import RemoteProcess, SlotLink
from runtime.engine.protocol.archives import ArchiveMessage
from runtime.engine.protocol.channel import MAX_HELLO, encode, read_message, read_sized
from runtime.engine.protocol.checks import check_from_slot, check_hello
from runtime.engine.protocol.messages import FromSlot, LeaseMessage
from runtime.engine.protocol.remote import Attempt, RemoteAccess, RemoteHello
from runtime.engine.worker.archives import WorkerArchives
from runtime.engine.worker.certificate import make_certificate
from runtime.engine.worker.server import CLOSE_REASONS, INVALID, SlotLinkListener, refusal
from runtime.logs.limited import LimitedWarnings
from runtime.system.frames import FrameError
from runtime.system.listening import listen

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

HELLO_TIMEOUT = 10.0
MAX_STRANGERS = 256  # connections at a time that have not proved their identity; further ones are closed
MAX_STRANGERS_OF_PEER = 64  # of these from one address, so that the others can connect
MAX_OF_SLOT = 512  # connections of a slot: each of its tasks that uses Spark needs one
_BACKLOG = 256  # connections that the system accepts before this process does
_ACCEPT_RETRY = 0.5  # seconds after which accept() is tried again
_BATCH, _BATCH_SIZE = 64, 1 << 20  # messages of a slot that wait for the event loop, and their bytes
_CHUNK = 1 << 18
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}  # seconds, seconds, attempts


class RemoteServer:
    """Started and closed by the event loop; all connections belong to the thread."""

    def __init__(
        self,
        listener: SlotLinkListener,
        clock: Callable[[], float],
        secret: str,
        archives: WorkerArchives,
        session: Callable[[int], Path],
        most: int = MAX_OF_SLOT,
    ) -> None:
        """`secret`: from which tokens are derived; `session`: the socket of a driver's Spark session; `most`:
        connections of a slot."""
        self._most = most
        self._listener, self._clock, self._secret = listener, clock, secret
        self._archives, self._session = archives, session
        self._worker = asyncio.get_running_loop()
        self._opened: concurrent.futures.Future[int] = concurrent.futures.Future()
        self._leases: dict[Attempt, RemoteLease] = {}
        self._last: dict[int, tuple[int, int]] = {}  # generation and attempt by slot: each token opens one channel
        self._strangers: Counter[str] = Counter()  # by address
        self._held: Counter[Attempt] = Counter()  # authenticated connections
        self._serving: set[asyncio.Task[None]] = set()
        self._refusals = LimitedWarnings(_log, clock)
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Event | None = None

    async def start(self, bind: str, host: str, port: int, folder: Path) -> RemoteAccess:
        """Listen on all addresses of `bind`; slots connect to `host`. OSError if that is not possible."""
        context, fingerprint = make_certificate(folder)
        work = self._serve_all(bind, port, context)
        self._thread = threading.Thread(target=asyncio.run, args=(work,), name="remote-slots", daemon=True)
        self._thread.start()
        port = await asyncio.wrap_future(self._opened)
        return RemoteAccess(host.strip("[]"), port, fingerprint)  # Spark writes IPv6 addresses in brackets

    async def close(self) -> None:
        """Close every connection: a slot ends when its connection closes."""
        if self._loop is not None and self._closing is not None and self._thread is not None:
            with contextlib.suppress(RuntimeError):  # the thread could not listen, and has ended
                self._loop.call_soon_threadsafe(self._closing.set)
            await asyncio.to_thread(self._thread.join, 2 * HELLO_TIMEOUT)

    async def _serve_all(self, bind: str, port: int, context: ssl.SSLContext) -> None:
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        try:
            listeners = await asyncio.to_thread(listen, bind, port, _BACKLOG)
        except OSError as error:
            self._opened.set_exception(error)
            return
        self._opened.set_result(listeners[0].getsockname()[1])
        accepting = [asyncio.create_task(self._accept(listener, context)) for listener in listeners]
        await self._closing.wait()
        for task, listener in zip(accepting, listeners, strict=True):
            task.cancel()
            listener.close()

    async def _accept(self, listener: socket.socket, context: ssl.SSLContext) -> None:
        """Connections count as strangers before their handshake, which costs more than anything that follows."""
        listener.setblocking(False)
        while True:
            try:
                connection, address = await asyncio.get_running_loop().sock_accept(listener)
            except OSError as error:  # no free file descriptors; the client waits in the queue
                self._refusals.warn("The port for slots cannot accept a connection: %s", error)
                await asyncio.sleep(_ACCEPT_RETRY)
                continue
            peer = str(address[0])
            if self._strangers[peer] >= MAX_STRANGERS_OF_PEER or self._strangers.total() >= MAX_STRANGERS:
                connection.close()
                self._refuse(peer, "too many connections at the same time have not been authenticated")
                continue
            self._strangers[peer] += 1
            self._serving.add(serving := asyncio.create_task(self._serve(connection, peer, context)))
            serving.add_done_callback(self._serving.discard)

    async def _serve(self, connection: socket.socket, peer: str, context: ssl.SSLContext) -> None:
        try:
            opened = await self._open(connection, context)
            hello = None if opened is None else await self._admit(*opened, peer)
        finally:
            self._strangers -= Counter([peer])  # drops addresses without connections
        if opened is None:
            return
        reader, writer = opened
        try:
            if hello is not None:
                await self._serve_slot(hello, reader, writer)
        except CLOSE_REASONS:
            pass
        finally:
            writer.close()

    async def _serve_slot(self, hello: RemoteHello, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        attempt = _attempt_of(hello)
        try:
            match hello["kind"]:
                case "slot":
                    await self._follow(hello, attempt, reader, writer)
                case "lease":
                    await self._renew(attempt, reader, writer)
                case "archive":
                    await self._send_archive(reader, writer)
                case "session":
                    await self._relay(attempt, reader, writer)
        finally:
            self._held -= Counter([attempt])  # drops those without connections

    async def _open(
        self, connection: socket.socket, context: ssl.SSLContext
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """The connection after its handshake; None if that fails."""
        _find_lost_peer(connection)
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol, connection, ssl=context,
                ssl_handshake_timeout=HELLO_TIMEOUT, ssl_shutdown_timeout=1.0,
            )  # fmt: skip
        except OSError:  # also ssl.SSLError: not a slot
            connection.close()
            return None
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    async def _admit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str) -> RemoteHello | None:
        try:
            async with asyncio.timeout(HELLO_TIMEOUT):
                hello = cast("RemoteHello", await read_message(reader, MAX_HELLO))
            check_hello(hello, RemoteHello)
            attempt = _attempt_of(hello)
            if not attempt.is_proved_by(hello["token"], self._secret):
                raise FrameError("the token is not that of a slot of this worker")
            if (reason := refusal(hello.get("version"))) is not None:
                writer.write(encode({"op": "refused", "reason": reason}))
                raise FrameError(reason)
            if hello["kind"] == "slot":
                self._use(attempt)
            elif attempt not in self._leases:
                raise FrameError(f"slot {attempt.slot} is not connected")
            elif self._held[attempt] >= self._most:
                raise FrameError(f"slot {attempt.slot} has {self._most} connections already")
        except (*CLOSE_REASONS, TimeoutError) as error:
            self._refuse(peer, error or type(error).__name__)
            return None
        self._held[attempt] += 1
        return hello

    def _refuse(self, peer: str, reason: object) -> None:
        self._refusals.warn("A connection to the port for slots from %s was refused: %s", peer, reason)

    def _use(self, attempt: Attempt) -> None:
        """A token opens one channel, and none after that of a later attempt."""
        if self._last.get(attempt.slot, (0, 0)) >= (attempt.generation, attempt.attempt):
            raise FrameError(f"the token of slot {attempt.slot} has been used before")
        self._last[attempt.slot] = attempt.generation, attempt.attempt

    async def _follow(
        self, hello: RemoteHello, attempt: Attempt, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        lease, room = RemoteLease(), hello["room"]
        link = SlotLink(
            slot=attempt.slot,
            attempt=attempt.attempt,
            generation=attempt.generation,
            process=RemoteProcess(hello["pid"], hello["host"]),
            writer=_ThreadWriter(asyncio.get_running_loop(), writer),
            heard=self._clock(),
            room=math.inf if room is None else room,
            cell=lease,
        )
        self._leases[attempt] = lease
        try:
            if not await self._on_worker(self._call(self._listener.link_up, link)):
                writer.write(encode({"op": "refused", "reason": "the worker does not need this slot"}))
                return
            await self._pass_on(link, reader)
        except FrameError as error:
            _log.error(INVALID, link.slot, error)
        finally:
            del self._leases[attempt]
            lease.revoke()
            self._worker.call_soon_threadsafe(self._listener.link_down, link)

    async def _pass_on(self, link: SlotLink, reader: asyncio.StreamReader) -> None:
        count = size = 0
        while True:
            message, length = await read_sized(reader)
            check_from_slot(message)
            self._worker.call_soon_threadsafe(self._handle, link, message)
            count, size = count + 1, size + length
            if count >= _BATCH or size >= _BATCH_SIZE:
                await self._on_worker(asyncio.sleep(0))
                count = size = 0

    def _handle(self, link: SlotLink, message: FromSlot) -> None:
        try:
            self._listener.link_message(link, message)
        except Exception:  # a message that cannot be handled must not end the slot
            _log.exception("A message from slot %d could not be handled: %.200r", link.slot, message)

    async def _renew(self, attempt: Attempt, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lease = self._leases[attempt]
        while True:
            await read_message(reader, MAX_HELLO)
            response: LeaseMessage = {"op": "lease", "seconds": lease.promise(self._clock())}
            writer.write(encode(response))
            await writer.drain()

    async def _send_archive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_message(reader, MAX_HELLO)
        file = self._archives.file(str(request.get("digest")))
        response: ArchiveMessage = {} if file is None else {"size": file.stat().st_size}
        writer.write(encode(cast("dict[str, object]", response)))
        if file is not None:
            with file.open("rb") as content:
                while data := content.read(_CHUNK):
                    writer.write(data)
                    await writer.drain()
        writer.write_eof() if writer.can_write_eof() else None
        await reader.read(1)  # the slot closes the connection

    async def _relay(self, attempt: Attempt, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect a task with the driver's Spark session."""
        to_session = await asyncio.open_unix_connection(str(self._session(attempt.generation)))
        ways = {
            asyncio.create_task(_pump(reader, to_session[1])),
            asyncio.create_task(_pump(to_session[0], writer)),
        }
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            to_session[1].close()

    async def _on_worker(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run on the worker's event loop."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._worker))

    async def _call(self, call: Callable[[SlotLink], _T], link: SlotLink) -> _T:
        return call(link)


class _ThreadWriter:
    """Writes to a connection of the thread from the worker's event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, writer: asyncio.StreamWriter) -> None:
        self._loop, self._writer = loop, writer
        self._closed = False

    def is_closing(self) -> bool:
        return self._closed or self._writer.is_closing()

    def write(self, data: bytes) -> None:
        with contextlib.suppress(RuntimeError):  # the thread has ended
            self._loop.call_soon_threadsafe(self._writer.write, data)

    def close(self) -> None:
        self._closed = True
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._writer.close)


def _attempt_of(hello: RemoteHello) -> Attempt:
    return Attempt(hello["generation"], hello["slot"], hello["attempt"])


def _find_lost_peer(connection: socket.socket) -> None:
    """Have the system end the connection to a machine that is gone, which closes nothing."""
    with contextlib.suppress(OSError):  # closed meanwhile
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            if (option := getattr(socket, name, None)) is not None:  # by the system
                connection.setsockopt(socket.IPPROTO_TCP, option, value)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
