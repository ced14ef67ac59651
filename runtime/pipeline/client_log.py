"""What Kafka clients report of their connections, told once and not with every try."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

_log = logging.getLogger(__name__)

_AGAIN = 300.0  # seconds after which the same text is told again


class ClientLog:
    """The error callback of one client; `dead` once it cannot go on."""

    def __init__(self, client: str) -> None:
        self._client = client
        self._told: dict[str, float] = {}
        self.dead = False

    def __call__(self, error: KafkaError) -> None:
        text = error.str()
        if error.fatal():
            self.dead = True
            _log.error("The %s cannot go on: %s", self._client, text)
        elif time.monotonic() - self._told.get(text, -_AGAIN) >= _AGAIN:
            self._told[text] = time.monotonic()
            _log.warning("The %s will try again: %s", self._client, text)

    @property
    def settings(self) -> dict[str, Any]:
        """Client settings: this callback, and no lines on standard error but critical ones."""
        return {"error_cb": self, "log_level": 2}
