"""How slots on other machines reach the worker, and prove that its driver has started them.

A slot has up to four kinds of connections to one TLS port: its channel (`slot`), the renewal of its lease (`lease`),
the download of archives (`archive`) and the Spark session (`session`). Each begins with a RemoteHello.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Literal, TypedDict

from runtime.engine.protocol.channel import encode
from runtime.engine.protocol.messages import VERSION
from runtime.system.tls_socket import TlsSocket

Kind = Literal["slot", "lease", "archive", "session"]

CONNECT_TIMEOUT = 10.0  # seconds


class RemoteHello(TypedDict):
    """The first message of every connection of a slot on another machine. The worker answers a `slot` like a local
    slot's hello. `room`, `pid` and `host` describe the slot."""

    op: Literal["hello"]
    version: int
    kind: Kind
    generation: int
    slot: int
    attempt: int
    token: str
    room: int | None
    pid: int
    host: str


@dataclass(frozen=True, slots=True)
class RemoteAccess:
    """The worker's address for slots, and the SHA-256 of its certificate. Not secret."""

    host: str
    port: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One start of a slot."""

    generation: int
    slot: int
    attempt: int

    def token(self, secret: str) -> str:
        """The token of this attempt. Nobody can derive the token of another attempt from it."""
        text = f"{self.generation}/{self.slot}/{self.attempt}"
        return hmac.new(bytes.fromhex(secret), text.encode(), hashlib.sha256).hexdigest()

    def is_proved_by(self, token: str, secret: str) -> bool:
        """Whether a token is that of this attempt, compared in constant time."""
        return hmac.compare_digest(token.encode(), self.token(secret).encode())


@dataclass(frozen=True, slots=True)
class SlotCaller:
    """A slot that opens connections to the worker."""

    access: RemoteAccess
    attempt: Attempt
    token: str
    host: str
    pid: int
    version: int = VERSION

    def connect(self, kind: Kind, room: int | None = None) -> TlsSocket:
        """A connection whose hello has been sent. OSError if the worker cannot be reached or is not the right one."""
        connection = TlsSocket(self.access.host, self.access.port, self.access.fingerprint, CONNECT_TIMEOUT)
        own = self.attempt
        hello: RemoteHello = {
            "op": "hello", "version": self.version, "kind": kind, "generation": own.generation, "slot": own.slot,
            "attempt": own.attempt, "token": self.token, "room": room, "pid": self.pid, "host": self.host,
        }  # fmt: skip
        connection.sendall(encode(hello))
        return connection
