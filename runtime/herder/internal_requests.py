"""Requests between the workers of a Connect cluster, signed with the session key (KIP-507).

The leader writes the session key to the config topic. This worker sends no such requests and writes no key: it
verifies signatures with the latest key of Apache's workers, and answers as they do.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode
from collections.abc import Mapping, Sequence

from runtime.herder.errors import BadRequest, Forbidden, HerderError, NotFound
from runtime.herder.herder import Herder
from runtime.model.states import ConnectorType, TargetState
from runtime.storage.configs import ConfigStore, StoredConnector

_OURS = "HmacSHA256"
_KNOWN = ("hmacsha1", "hmacsha224", "hmacsha256", "hmacsha384", "hmacsha512", "hmacmd5")


class InternalRequests:
    """Answers requests of other workers. Event loop only."""

    def __init__(self, herder: Herder, configs: ConfigStore) -> None:
        self._herder, self._configs = herder, configs

    def verify(self, body: bytes, signature: str | None, algorithm: str | None) -> None:
        """Verify the signature. BadRequest if the signature is missing or not base64, Forbidden if the signature does
        not match key and body."""
        if signature is None or algorithm is None:
            raise BadRequest("Internal request missing required signature")
        if algorithm.lower() not in _KNOWN:
            raise BadRequest(f"Algorithm {algorithm} not available")
        if algorithm != _OURS:
            raise BadRequest(
                f"This worker does not support the '{algorithm}' key signing algorithm used by other workers. "
                f"This worker is currently configured to use: [{_OURS}]. Check that all workers' configuration files "
                "permit the same set of signature algorithms, and correct any misconfigured worker and restart it."
            )
        try:
            given = _decoded(signature)
        except ValueError as e:
            raise BadRequest(f"The signature is not base64: {e}") from None
        key = self._key()
        if key is None or not hmac.compare_digest(hmac.digest(key, body, hashlib.sha256), given):
            raise Forbidden("Internal request contained invalid signature.")

    async def put_tasks(self, name: str, configs: Sequence[Mapping[str, str]]) -> None:
        """POST /connectors/{name}/tasks: the task configs that a connector on another worker has generated."""
        async with self._herder.exclusive(name):
            stored = self._stored(name)
            if configs and stored.target is TargetState.STOPPED:
                raise BadRequest(f"Cannot submit non-empty set of task configs for stopped connector {name}")
            await self._configs.put_tasks(name, configs)

    async def fence(self, name: str) -> None:
        """PUT /connectors/{name}/fence: fences earlier tasks of an exactly-once source. Refused if such tasks may have
        run, since this worker does not support exactly-once sources."""
        async with self._herder.exclusive(name):
            stored = self._stored(name)
            if await self._herder.type(stored.config) != ConnectorType.SOURCE:
                raise BadRequest(f"Connector {name} is not a source connector")
            await self._configs.read_to_end()
            earlier = self._configs.fencing_counts.get(name)
            if earlier is not None and (earlier, len(stored.tasks)) != (1, 1):
                raise HerderError(
                    f"Failed to perform zombie fencing: connector {name} has run {earlier} tasks with exactly-once "
                    "support, which this worker cannot fence out"
                )
            await self._configs.put_fencing_count(name, len(stored.tasks))

    def _stored(self, name: str) -> StoredConnector:
        stored = self._configs.connector(name)
        if stored is None:
            raise NotFound(f"Connector {name} not found")
        return stored

    def _key(self) -> bytes | None:
        text = (self._configs.session_key or {}).get("key")
        try:
            return _decoded(text) if isinstance(text, str) else None
        except ValueError:
            return None


def _decoded(text: str) -> bytes:
    """Base64 whose padding may be missing, as in Java."""
    return b64decode(text + "=" * (-len(text) % 4), validate=True)
