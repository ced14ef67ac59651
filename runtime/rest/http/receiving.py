"""Receives request bodies within limits of size, time and total memory; large bodies are parsed in a thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from starlette.requests import Request
from starlette.types import Scope

from runtime.herder.errors import BadRequest, Unavailable
from runtime.rest.http.media import content_type
from runtime.rest.http.responses import JSON, RouterError
from runtime.system.json_size import max_values

_T = TypeVar("_T")

BODY_LIMIT, LARGE_BODY_LIMIT = 2 * 1024 * 1024, 32 * 1024 * 1024
"""Largest accepted bodies in bytes: of configurations (Kafka accepts records of 1 MB), and of offsets and previews."""

BODY_TIMEOUT = 60.0
"""Seconds that a body may take to arrive."""

INLINE_LIMIT = 64 * 1024
"""Bytes up to which a body is parsed on the event loop and does not count towards MAX_MEMORY."""

MAX_VALUES = {BODY_LIMIT: 200_000, LARGE_BODY_LIMIT: 1_000_000}
"""Values that a body may have, by its limit: a parsed value takes about a hundred bytes."""

MAX_MEMORY = 256 * 1024 * 1024
"""Bytes of memory for all large bodies together, from their first byte until their requests are answered."""

RATE_GRACE = 1.0
"""Seconds after which the rate at which a body arrives counts."""

_CHARGE, _RECEIVED = "headrace.body", "headrace.received"
_VALUE_SIZE = 100  # bytes of a parsed value


@dataclass(eq=False, slots=True)
class BodyCharge:
    """The share of the memory for bodies that one request takes."""

    memory: BodyMemory
    bytes: int = 0
    since: float = field(default_factory=time.monotonic)
    timeout: asyncio.Timeout | None = None  # while the body is being received

    @property
    def rate(self) -> float:
        return self.bytes / (time.monotonic() - self.since)

    def grow(self, count: int) -> None:
        """Takes `count` more bytes. Raises Unavailable if the memory for bodies is used up."""
        self.bytes += count
        if self.bytes > INLINE_LIMIT:
            self.memory.charge(self, count if self in self.memory.charges else self.bytes)

    def release(self) -> None:
        self.memory.release(self)


class BodyMemory:
    """The memory for bodies. If no memory is left, the body that arrives most slowly is dropped. Event loop only."""

    def __init__(
        self, limit: int = MAX_MEMORY, *, body_timeout: float = BODY_TIMEOUT, rate_grace: float = RATE_GRACE
    ) -> None:
        """`limit` is in bytes, `body_timeout` and `rate_grace` are in seconds."""
        self.limit, self.body_timeout, self._rate_grace = limit, body_timeout, rate_grace
        self.used = 0
        self.charges: set[BodyCharge] = set()
        self.turn = asyncio.Semaphore(1)  # parses one body after another, since parsing holds the interpreter

    def charge(self, charge: BodyCharge, count: int) -> None:
        self.charges.add(charge)
        self.used += count
        while self.used > self.limit:
            now = time.monotonic()
            slow = [c for c in self.charges if c.timeout is not None and now - c.since > self._rate_grace]
            victim = min(slow, key=lambda c: c.rate, default=charge)
            timeout = victim.timeout
            self.release(victim)
            if victim is charge:
                raise Unavailable("The worker is receiving too many large request bodies; try again")
            if timeout is not None:
                timeout.reschedule(0)

    def release(self, charge: BodyCharge) -> None:
        if charge in self.charges:
            self.charges.remove(charge)
            self.used -= charge.bytes
        charge.bytes, charge.timeout = 0, None


async def parsed(request: Request, convert: Callable[[bytes], _T], limit: int = BODY_LIMIT) -> _T:
    """The body converted by `convert`, in a thread if the body is large, since that takes seconds."""
    body = await read(request, limit)
    if len(body) <= INLINE_LIMIT:
        return convert(body)
    values = await asyncio.to_thread(count_values, body, limit)
    charge: BodyCharge = request.scope[_CHARGE]
    charge.grow(values * _VALUE_SIZE)
    async with charge.memory.turn:
        return await asyncio.to_thread(convert, body)


async def read(request: Request, limit: int = BODY_LIMIT) -> bytes:
    """The whole body. Raises RouterError: 413 beyond the limit, 408 when it is too slow, 415 if it is not JSON."""
    kind = content_type(request.headers)
    if kind is not None and kind.subtype == "*":
        raise _untyped()
    body = await _receive(request, limit)
    if body and kind is None:
        raise _untyped()
    return body


async def unread(request: Request) -> bytes:
    """The whole body without any check but the largest limit, to be passed on to another worker, which checks it."""
    return await _receive(request, LARGE_BODY_LIMIT)


async def _receive(request: Request, limit: int) -> bytes:
    """The body, which is kept: a request may be forwarded after its signature was verified, or carried out here after
    an attempt to forward it."""
    if _RECEIVED not in request.scope:
        request.scope[_RECEIVED] = await _received(request, limit)
    body = cast("bytes", request.scope[_RECEIVED])
    if len(body) > limit:
        raise RouterError(413)
    return body


async def _received(request: Request, limit: int) -> bytes:
    if int(request.headers.get("content-length", "0")) > limit:
        raise RouterError(413)
    body = bytearray()
    charge = request.scope[_CHARGE] = BodyCharge(request.app.state.body_memory)
    try:
        async with asyncio.timeout(charge.memory.body_timeout) as charge.timeout:
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise RouterError(413)
                charge.grow(len(chunk))
    except TimeoutError:
        raise RouterError(408, {"Connection": "close"}) from None
    finally:
        charge.timeout = None
    return bytes(body)


def release(scope: Scope) -> None:
    """Releases the memory of the body of an answered request."""
    scope.pop(_RECEIVED, None)
    charge = scope.pop(_CHARGE, None)
    if charge is not None:
        charge.release()


def count_values(body: bytes, limit: int) -> int:
    """An upper bound of the number of values in the body. Raises BadRequest, before parsing, if there are too many."""
    most = MAX_VALUES[limit]
    if (values := max_values(body, most)) > most:
        raise BadRequest(f"The request body has more than {most:,} values")
    return values


def _untyped() -> RouterError:
    """A response 415 with a Content-Type, which Connect sends for this refusal only."""
    return RouterError(415, {"Content-Type": JSON})
