"""The worker's end of the slots' channel: a Unix socket that only processes of this worker's driver may use.

The kernel reports the process at the other end; the peer's own claims are not trusted.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import Callable
from typing import Protocol, cast

from runtime.engine.placement.slot_link import SlotLink
from runtime.engine.protocol.channel import MAX_HELLO, encode, read_message
from runtime.engine.protocol.checks import check_from_slot, check_hello, check_unable
from runtime.engine.protocol.messages import VERSION, FromSlot, HelloMessage
from runtime.system.frames import FrameError
from runtime.system.processes import OwnProcess, peer

_log = logging.getLogger(__name__)

HELLO_TIMEOUT = 5.0
INVALID = "Slot %d is ended, since it has sent an invalid message: %s"
CLOSE_REASONS = (OSError, EOFError, FrameError)  # asyncio.IncompleteReadError is an EOFError


class SlotLinkListener(Protocol):
    """Events of the slots' connections."""

    def is_slot(self, pid: int) -> bool:
        """Whether a process of this user may be a slot."""

    def link_up(self, link: SlotLink) -> bool:
        """A slot has connected. Return False to refuse the connection."""

    def link_message(self, link: SlotLink, message: FromSlot) -> None:
        """A slot has sent a message."""

    def link_down(self, link: SlotLink) -> None:
        """The connection has closed: the slot's process has ended, or is about to."""


class OwnSlotsListener(SlotLinkListener, Protocol):
    """Also hears of slots on this machine that cannot run."""

    def slot_unable(self, slot: int, reason: str) -> None:
        """A slot cannot run, and ends."""


def refusal(version: int | None) -> str | None:
    """Why a slot that speaks this version of the messages is refused; None: it is not."""
    if version == VERSION:
        return None
    return f"the slot speaks version {version} of the worker's protocol, the worker version {VERSION}"


class SlotServer:
    """Accepts the connections of slots on a Unix socket."""

    def __init__(self, listener: OwnSlotsListener, clock: Callable[[], float]) -> None:
        self._listener = listener
        self._clock = clock
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def start(self, path: str) -> None:
        """Listen on a socket at `path`."""
        self._server = await asyncio.start_unix_server(self._serve, path)

    async def close(self) -> None:
        """Close every connection: a slot ends when its connection closes."""
        if self._server is not None:
            self._server.close()
        for writer in self._connections.values():
            writer.close()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = cast("asyncio.Task[None]", asyncio.current_task())
        self._connections[connection] = writer
        try:
            link = await self._admit(reader, writer)
            if link is not None:
                await self._follow(link, reader)
        finally:
            del self._connections[connection]
            writer.close()

    async def _admit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> SlotLink | None:
        try:
            pid, uid = peer(writer.get_extra_info("socket"))
            if uid != os.getuid() or not self._listener.is_slot(pid):
                raise FrameError(f"process {pid} of user {uid} is not a slot of this worker")
            async with asyncio.timeout(HELLO_TIMEOUT):
                first = await read_message(reader, MAX_HELLO)
            if first.get("op") == "unable":
                check_unable(first)
                self._listener.slot_unable(first["slot"], first["reason"])
                return None
            hello: HelloMessage = first
            check_hello(hello, HelloMessage)
            if (reason := refusal(hello.get("version"))) is not None:
                writer.write(encode({"op": "refused", "reason": reason}))
                raise FrameError(reason)
            link = SlotLink(
                slot=hello["slot"],
                attempt=hello["attempt"],
                generation=hello["generation"],
                process=OwnProcess(pid),
                writer=writer,
                heard=self._clock(),
                room=math.inf if hello["room"] is None else hello["room"],
            )
        except (*CLOSE_REASONS, TimeoutError) as error:
            _log.warning("A connection to the slots' channel was refused: %s", error or type(error).__name__)
            return None
        if self._listener.link_up(link):
            return link
        link.process.close()
        return None

    async def _follow(self, link: SlotLink, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                message: FromSlot = await read_message(reader)
                check_from_slot(message)
                try:
                    self._listener.link_message(link, message)
                except Exception:  # a message that cannot be handled must not end the slot
                    _log.exception("A message from slot %d could not be handled: %.200r", link.slot, message)
        except FrameError as error:
            _log.error(INVALID, link.slot, error)
        except CLOSE_REASONS:
            pass
        finally:
            self._listener.link_down(link)
