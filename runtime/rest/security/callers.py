"""The caller of a forwarded request: the worker that received the request vouches for the user and the address.

The header `Headrace-Caller` has the caller as JSON and its signature with the session key (KIP-507), both in base64:

    <base64 of {"worker", "recipient", "id", "user", "role", "address", "time", "digest", "algorithm"}>.<base64 of the
    signature>

The signature also covers the method and the target, and `digest` is the SHA-256 of the body, so that the header is
valid for one method, target and body, at the recipient (host:port of its advertised URL), for MAX_AGE, and once. The
recipient may be hostile: any member of the group receives such headers.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import secrets
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runtime.herder.errors import Forbidden, HerderError
from runtime.herder.group.session_keys import SessionKeys
from runtime.rest.http.responses import error
from runtime.rest.security.access import PRINCIPAL, ROLE, Role

HEADER = "Headrace-Caller"

WORKER = "headrace.worker"
"""Key of the id of the worker that forwarded or sent a request in the request's scope; absent for clients."""

MAX_AGE = 60.0
"""Seconds for which a signed caller is valid. The clocks of the workers may differ by as much."""

_INVALID = "Forwarded request has an invalid caller"


@dataclass(frozen=True, slots=True)
class Caller:
    """The user, if the request was authenticated, the role, and the address of the client, as `worker` reports them."""

    worker: str
    user: str | None = None
    role: Role = Role.ADMIN
    address: str = ""

    @classmethod
    def of(cls, scope: Scope, worker: str) -> Caller:
        """The caller of a request that this worker has received."""
        address = (scope.get("client") or ("", 0))[0]
        return cls(worker, scope.get(PRINCIPAL), scope.get(ROLE, Role.ADMIN), address)


class SignedCallers:
    """Signs callers for other workers, and verifies those that other workers send. Event loop only."""

    def __init__(self, keys: SessionKeys, worker_id: str, clock: Callable[[], float] = time.time) -> None:
        """`worker_id`: host:port of this worker's advertised URL."""
        self._keys, self._worker_id, self._clock = keys, worker_id, clock
        self._used: dict[str, float] = {}  # ids of verified callers, and when they can be forgotten; the oldest first

    def sign(self, caller: Caller, recipient: str, method: str, target: str, body: bytes) -> str:
        """The value of the header, for the worker with this id. Unavailable while there is no session key."""
        content = json.dumps({
            "worker": caller.worker,
            "recipient": recipient,
            "id": secrets.token_hex(8),
            "user": caller.user,
            "role": caller.role.name,
            "address": caller.address,
            "time": int(self._clock() * 1000),
            "digest": hashlib.sha256(body).hexdigest(),
            "algorithm": self._keys.algorithm,
        }).encode()  # fmt: skip
        signature = self._keys.sign(_signed(method, target, content))
        return f"{b64encode(content).decode()}.{signature.text}"

    async def verify(self, header: str, method: str, target: str) -> tuple[Caller, str]:
        """The caller, and the digest that the body must have. Forbidden if the signature is wrong, too old, for another
        worker, or has been used before."""
        encoded, _, signature = header.partition(".")
        try:
            content = b64decode(encoded, validate=True)
            document = json.loads(content)
            caller = _caller(document)
            age, digest, algorithm = (
                self._clock() - document["time"] / 1000,
                str(document["digest"]),
                document["algorithm"],
            )
            recipient, number = document["recipient"], str(document["id"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise Forbidden(f"{_INVALID}: it is malformed") from None
        try:
            await self._keys.verify(_signed(method, target, content), signature, str(algorithm))
        except HerderError as e:
            raise Forbidden(f"{_INVALID}: {e}") from None
        if abs(age) > MAX_AGE:
            raise Forbidden(
                f"{_INVALID}: it was signed {age:.0f} s ago by the clock of this worker, more than {MAX_AGE:.0f} s; "
                f"compare the clocks of this worker and of {caller.worker}"
            )
        if recipient != self._worker_id:
            raise Forbidden(f"{_INVALID}: it was signed for worker {recipient}, and this is worker {self._worker_id}")
        self._use(number)
        return caller, digest

    def _use(self, number: str) -> None:
        """Raises Forbidden if the caller with this id has been used. Ids are kept while their signatures may be valid:
        twice MAX_AGE, since the sender's clock may be ahead by that."""
        now = self._clock()
        for old in list(itertools.takewhile(lambda number: self._used[number] < now, self._used)):
            del self._used[old]
        if number in self._used:
            raise Forbidden(f"{_INVALID}: it has been used before")
        self._used[number] = now + 2 * MAX_AGE


class ForwardedCallers:
    """Puts the signed caller of a forwarded request into the scope; refuses requests with an invalid one."""

    def __init__(self, app: ASGIApp, callers: SignedCallers) -> None:
        self._app, self._callers = app, callers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        header = Headers(scope=scope).get(HEADER) if scope["type"] == "http" else None
        if header is None:
            await self._app(scope, receive, send)
            return
        try:
            caller, digest = await self._callers.verify(header, scope["method"], target_of(scope))
        except HerderError as e:
            await error(e.status, str(e))(scope, receive, send)
            return
        scope[WORKER], scope["client"] = caller.worker, (caller.address, 0)
        if caller.user is not None:
            scope[PRINCIPAL], scope[ROLE] = caller.user, caller.role
        await self._app(scope, _with_digest(receive, digest), send)


def target_of(scope: Scope) -> str:
    """Path and query of a request as sent."""
    path: str = scope["raw_path"].decode("ascii", "replace")
    query: str = scope["query_string"].decode("ascii", "replace")
    return f"{path}?{query}" if query else path


def check_from_worker(scope: Scope) -> None:
    """Raises Forbidden for requests that no worker has signed."""
    if WORKER not in scope:
        raise Forbidden("Only other workers of the group may send this request")


def _with_digest(receive: Receive, digest: str) -> Receive:
    """Raises Forbidden at the end of a body that does not have this digest."""
    hashed = hashlib.sha256()

    async def receiving() -> Message:
        message = await receive()
        if message["type"] == "http.request":
            hashed.update(message.get("body", b""))
            if not message.get("more_body", False) and hashed.hexdigest() != digest:
                raise Forbidden(f"{_INVALID}: the body is not the one that was signed")
        return message

    return receiving


def _signed(method: str, target: str, content: bytes) -> bytes:
    return f"{method} {target}\n".encode() + content


def _caller(document: Mapping[str, Any]) -> Caller:
    user = document["user"]
    return Caller(
        str(document["worker"]), None if user is None else str(user), Role[document["role"]], str(document["address"])
    )
