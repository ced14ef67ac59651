"""Receives request bodies: bounded in size, time and total memory; large bodies are parsed in a thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from starlette.requests import Request
from starlette.types import Scope

from runtime.herder.errors import BadRequest, Unavailable
from runtime.rest.http.answers import JSON, RouterError
from runtime.rest.http.media import content_type

_T = TypeVar("_T")

LIMIT, LARGE = 2 * 1024 * 1024, 32 * 1024 * 1024
"""Largest accepted bodies in bytes: for configurations (Kafka accepts records of 1 MB), and for long data such as
offsets."""

PATIENCE = 60.0
"""Seconds that a body may take to arrive."""

SMALL = 64 * 1024
"""Bodies up to this size are parsed on the event loop and do not count."""

MOST_VALUES = {LIMIT: 200_000, LARGE: 1_000_000}
"""Values that a body may have: each takes about a hundred bytes once it is parsed."""

MOST_BYTES = 256 * 1024 * 1024
"""Memory of all large bodies together, from their first byte until their requests are answered."""

_CHARGE = "headrace.body"
_VALUE = 100  # bytes of a parsed value
_SLOWEST = 1.0  # seconds after which the rate of a body counts


@dataclass(eq=False, slots=True)
class Charge:
    """The part of the memory for bodies that one request takes."""

    budget: Budget
    bytes: int = 0
    since: float = field(default_factory=time.monotonic)
    timeout: asyncio.Timeout | None = None  # while the body is being received

    @property
    def rate(self) -> float:
        return self.bytes / (time.monotonic() - self.since)

    def grow(self, count: int) -> None:
        """Take `count` more bytes; Unavailable if the memory for bodies is used up."""
        self.bytes += count
        if self.bytes > SMALL:
            self.budget.charge(self, count if self in self.budget.charges else self.bytes)

    def release(self) -> None:
        self.budget.release(self)


class Budget:
    """Memory for bodies. If it is used up, the body that arrives most slowly is dropped. Event loop only."""

    def __init__(self, most: int | None = None) -> None:
        self.most = MOST_BYTES if most is None else most
        self.used = 0
        self.charges: set[Charge] = set()
        self.turn = asyncio.Semaphore(1)  # one at a time, since parsing mostly holds the interpreter

    def charge(self, charge: Charge, count: int) -> None:
        self.charges.add(charge)
        self.used += count
        while self.used > self.most:
            now = time.monotonic()
            slow = [c for c in self.charges if c.timeout is not None and now - c.since > _SLOWEST]
            victim = min(slow, key=lambda c: c.rate, default=charge)
            timeout = victim.timeout
            self.release(victim)
            if victim is charge:
                raise Unavailable("The worker is receiving too many large request bodies; try again")
            if timeout is not None:
                timeout.reschedule(0)

    def release(self, charge: Charge) -> None:
        if charge in self.charges:
            self.charges.remove(charge)
            self.used -= charge.bytes
        charge.bytes, charge.timeout = 0, None


_budget = Budget()


async def parsed(request: Request, convert: Callable[[bytes], _T], limit: int = LIMIT) -> _T:
    """The body converted by `convert`, in a thread if the body is large, since that takes seconds."""
    body = await read(request, limit)
    if len(body) <= SMALL:
        return convert(body)
    values = await asyncio.to_thread(_check_values, body, limit)
    charge: Charge = request.scope[_CHARGE]
    charge.grow(values * _VALUE)
    async with _budget.turn:
        return await asyncio.to_thread(convert, body)


async def read(request: Request, limit: int = LIMIT) -> bytes:
    """The whole body, within the limit and PATIENCE; 415 unless its declared type is JSON."""
    kind = content_type(request.headers)
    if kind is not None and kind.subtype == "*":
        raise _untyped()
    body = await _receive(request, limit)
    if body and kind is None:
        raise _untyped()
    return body


async def _receive(request: Request, limit: int) -> bytes:
    if int(request.headers.get("content-length", "0")) > limit:
        raise RouterError(413)
    body = bytearray()
    charge = request.scope[_CHARGE] = Charge(_budget)
    try:
        async with asyncio.timeout(PATIENCE) as charge.timeout:
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
    """The request has been answered: release the memory of its body."""
    charge = scope.pop(_CHARGE, None)
    if charge is not None:
        charge.release()


def _check_values(body: bytes, limit: int) -> int:
    """An upper bound of the number of values in the body; too many are refused before parsing."""
    values = body.count(b",") + body.count(b"[") + body.count(b"{")
    most = MOST_VALUES[limit]
    if values > most and (values := _exactly(body)) > most:
        raise BadRequest(f"The request body has more than {most:,} values")
    return values


def _exactly(body: bytes) -> int:
    """The same body without the contents of strings."""
    count, outside = 0, True
    for part in body.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"'):
        if outside:
            count += part.count(b",") + part.count(b"[") + part.count(b"{")
        outside = not outside
    return count


def _untyped() -> RouterError:
    """The resource accepts any type and produces none; this refusal has a type, as in Connect."""
    return RouterError(415, {"Content-Type": JSON})
