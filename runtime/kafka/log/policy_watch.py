"""Checks the cleanup policies of the storage topics while the worker runs: Kafka would delete the worker's state."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from runtime.kafka.log.topics import POLICY, TopicSpec, request_settings, unsuitable_policy

_log = logging.getLogger(__name__)

_INTERVAL = 60.0  # seconds between two requests


class PolicyWatch:
    """Logs that a policy was changed. Requests are sent without waiting for the response. One thread."""

    def __init__(self, admin: Any, specs: Sequence[TopicSpec], every: float = _INTERVAL) -> None:
        """`every`: seconds between two requests, and until the first one: the start has checked the policies."""
        self._admin, self._specs, self._every = admin, specs, every
        self._pending: list[tuple[TopicSpec, Future[Any]]] = []
        self._unsuitable: set[str] = set()
        self._next = time.monotonic() + every

    def check(self) -> None:
        """Process the last response, and send the next request when it is due."""
        if self._pending and all(future.done() for _, future in self._pending):
            pending, self._pending = self._pending, []
            for spec, future in pending:
                self._process(spec, future)
        if not self._pending and time.monotonic() >= self._next:
            self._next = time.monotonic() + self._every
            self._pending = request_settings(self._admin, self._specs)

    def _process(self, spec: TopicSpec, future: Future[Any]) -> None:
        from confluent_kafka import KafkaException

        with suppress(KafkaException):  # no response, or no right to read the settings
            policy = future.result()[POLICY].value
            if policy == "compact":
                self._unsuitable.discard(spec.topic)
            elif spec.topic not in self._unsuitable:
                self._unsuitable.add(spec.topic)
                _log.error("%s. The worker does not start again until then", unsuitable_policy(spec, policy))
