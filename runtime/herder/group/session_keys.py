"""Session keys: the secret with which the workers of a group sign their requests to each other (KIP-507).

The leader writes the key to the config topic, in Connect's own record, and replaces it when it has expired. Every
worker reads it there, so read access to the config topic is enough to sign requests.

A replaced key remains valid for PREVIOUS_KEY_TIME: workers read a new key at slightly different times, and a request
that was signed with the old key may still be under way. Apache's workers refuse such a request, and its sender retries.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.config.session_keys import ALGORITHMS, SessionKeySettings
from runtime.herder.errors import BadRequest, Forbidden, Unavailable
from runtime.kafka.errors import KafkaProblem
from runtime.storage.configs import ConfigStore
from runtime.system.repeating import repeat

log = logging.getLogger(__name__)

PREVIOUS_KEY_TIME = 30.0
"""Seconds for which a replaced key is still accepted."""

MAX_SKEW = 60.0
"""Seconds by which the clock of the leader that has written a key may be ahead."""

READ_INTERVAL = 1.0
"""Minimum seconds between two attempts to read a newer key after a signature that does not match."""

CHECK_INTERVAL = 0.5
"""Seconds between two checks whether the leader has to write a key."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of a request, in base64, and its algorithm."""

    text: str
    algorithm: str


@dataclass(frozen=True, slots=True)
class SessionKey:
    """A key as stored. `created` is in seconds since 1970."""

    secret: bytes = field(repr=False)
    algorithm: str
    created: float

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> SessionKey | None:
        """The key in a record of the config topic; None if the record is malformed."""
        text, algorithm, created = (record.get(name) for name in ("key", "algorithm", "creation-timestamp"))
        if not isinstance(text, str) or not isinstance(algorithm, str) or not isinstance(created, int):
            return None
        try:
            secret, at = _decoded(text), created / 1000
        except (ValueError, OverflowError):
            return None
        return cls(secret, algorithm, at) if secret else None

    @property
    def record(self) -> dict[str, Any]:
        """The value of the key's record, with the order of fields as Java's workers write them."""
        created = int(self.created * 1000)
        return {"key": b64encode(self.secret).decode(), "algorithm": self.algorithm, "creation-timestamp": created}


class SessionKeys:
    """Signs and verifies requests between workers, and writes the keys. Event loop only."""

    def __init__(
        self, configs: ConfigStore, settings: SessionKeySettings, clock: Callable[[], float] = time.time,
        every: float = CHECK_INTERVAL,
    ) -> None:  # fmt: skip
        self._configs, self._settings, self._clock, self._every = configs, settings, clock, every
        self._key: SessionKey | None = None
        self._previous: SessionKey | None = None
        self._previous_until = 0.0
        self._read_at = float("-inf")  # when the config topic was last read for a newer key
        self._writing: asyncio.Task[None] | None = None
        configs.subscribe(session_keys=self._replaced)

    # signing and verifying

    @property
    def algorithm(self) -> str:
        """The algorithm of this worker's own signatures."""
        return self._settings.signature

    def sign(self, content: bytes) -> Signature:
        """The signature of a request's content. Unavailable while the leader has not written a key."""
        if self._key is None:
            raise Unavailable(
                "This worker cannot send requests to other workers yet: the leader has not written a session key to "
                "the config topic; try again"
            )
        return Signature(b64encode(_digest(self._key, content, self.algorithm)).decode(), self.algorithm)

    async def verify(self, content: bytes, signature: str | None, algorithm: str | None) -> None:
        """Verify the signature of a request. BadRequest as check_given(), Forbidden if the signature does not match the
        content."""
        given, algorithm = self.check_given(signature, algorithm)
        if not self._matches(content, given, algorithm):
            await self._read_newer_key()
            if not self._matches(content, given, algorithm):
                raise Forbidden("Internal request contained invalid signature.")

    def check_given(self, signature: str | None, algorithm: str | None) -> tuple[bytes, str]:
        """The signature and its algorithm. BadRequest if the signature is missing, malformed or of an algorithm that is
        not accepted."""
        if signature is None or algorithm is None:
            raise BadRequest("Internal request missing required signature")
        if algorithm.lower() not in ALGORITHMS:
            raise BadRequest(f"Algorithm {algorithm} not available")
        accepted = self._settings.verification
        if algorithm not in accepted:
            raise BadRequest(
                f"This worker does not support the '{algorithm}' key signing algorithm used by other workers. "
                f"This worker is currently configured to use: [{', '.join(accepted)}]. Check that all workers' "
                "configuration files permit the same set of signature algorithms, and correct any misconfigured worker "
                "and restart it."
            )
        try:
            return _decoded(signature), algorithm
        except ValueError as e:
            raise BadRequest(f"The signature is not base64: {e}") from None

    def _matches(self, content: bytes, given: bytes, algorithm: str) -> bool:
        keys = [self._key, self._previous if self._clock() < self._previous_until else None]
        return any(key is not None and hmac.compare_digest(_digest(key, content, algorithm), given) for key in keys)

    async def _read_newer_key(self) -> None:
        """The sender may have read a new key before this worker. At most once a second, so that requests without a
        valid signature cannot keep the worker busy."""
        if 0 <= self._clock() - self._read_at < READ_INTERVAL:  # negative: the clock was set back
            return
        self._read_at = self._clock()
        try:
            await self._configs.read_to_end()
        except KafkaProblem as e:
            log.warning("Cannot check for a newer session key: %s", e)

    # writing

    def start(self, leads: Callable[[], bool]) -> None:
        """Write a key whenever one is due and `leads()` is true."""
        self._writing = asyncio.create_task(
            repeat(lambda: self._write_when_due(leads), self._every, "write a session key"), name="session keys"
        )

    def close(self) -> None:
        """Stop writing keys."""
        if self._writing is not None:
            self._writing.cancel()

    @property
    def due(self) -> bool:
        """Whether a key is missing, has expired, or does not fit this worker's configuration. A key from the future
        would never expire: whoever had WRITE on the config topic for a moment could sign requests for ever."""
        key, settings = self._key, self._settings
        if key is None or (key.algorithm, len(key.secret)) != (settings.algorithm, settings.size):
            return True
        age = self._clock() - key.created
        return settings.ttl > 0 and (age >= settings.ttl or age < -MAX_SKEW)

    async def rotate(self) -> None:
        """Write a new key to the config topic."""
        key = SessionKey(secrets.token_bytes(self._settings.size), self._settings.algorithm, self._clock())
        await self._configs.put_session_key(key.record)
        log.info("Distributed a new session key for requests between workers")

    async def _write_when_due(self, leads: Callable[[], bool]) -> None:
        if leads() and self.due:
            try:
                await self.rotate()
            except KafkaProblem as e:
                log.warning("Cannot write a session key, retrying: %s", e)

    def _replaced(self, record: Mapping[str, Any] | None) -> None:
        key = None if record is None else SessionKey.of(record)
        if record is not None and key is None:
            log.warning("Ignoring a malformed session key in the config topic")
            return
        if self._key is not None and key != self._key:
            replaced = self._clock() if key is None else min(self._clock(), key.created)  # read later by a new worker
            self._previous, self._previous_until = self._key, replaced + PREVIOUS_KEY_TIME
        self._key = key


def _digest(key: SessionKey, content: bytes, algorithm: str) -> bytes:
    return hmac.digest(key.secret, content, algorithm.lower().removeprefix("hmac"))


def _decoded(text: str) -> bytes:
    """Base64 whose padding may be missing, as in Java."""
    return b64decode(text + "=" * (-len(text) % 4), validate=True)
