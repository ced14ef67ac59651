"""Reads a stream: one request at a time, repeated after temporary failures, and a poll after each interval."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from runtime.api.errors import ConnectError
from runtime.connectors.http.endpoint import HttpEndpoint, HttpReply
from runtime.connectors.http.failures import RejectedError, RetryPolicy, TemporaryError
from runtime.connectors.http.settings import URL, EndpointSettings
from runtime.connectors.http.source.config import INFER, INTERVAL, MISSING, PARENT_FIELDS, SAMPLE, SCHEMA, SKIP, TOPIC
from runtime.connectors.http.source.inference import SCHEMA_LEVEL, Inference
from runtime.connectors.http.source.missing_parents import MissingParents
from runtime.connectors.http.source.parent_fields import ParentFields
from runtime.connectors.http.source.positions import StreamPositions
from runtime.connectors.http.source.stream import Stream
from runtime.connectors.http.source.walk import StreamRows, Walk

_VANISHED = (404, 410)
_BATCH = 2000  # records of one batch

_log = logging.getLogger(__name__)

Reply = tuple[str, HttpReply]
"""The URL of a request and its response."""


class HttpStreamReader:
    """The records of one stream, as they arrive. Requests run on threads of the executor."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        config: Mapping[str, str],
        positions: StreamPositions,
        executor: ThreadPoolExecutor,
        clock: Callable[[], float],
        now: Callable[[], dt.datetime],
    ) -> None:
        """`settings`: the typed values of the configuration; `clock`, in seconds, for waits, `now` for time slices.
        Raises ConnectError for an offset that does not fit the configuration."""
        stream = Stream.of(config)
        self._interval = settings[INTERVAL] / 1000
        self._parent_fields = ParentFields(settings[PARENT_FIELDS])
        self._skips = settings[MISSING] == SKIP
        self._missing = MissingParents(config[URL])
        self._retry = RetryPolicy.of(settings)
        self._executor, self._clock = executor, clock
        self._endpoint = HttpEndpoint(EndpointSettings.of(settings, config, stream.origin), 1)
        self._walk = Walk(stream, positions, self._endpoint.without_secrets, now)
        self.inference: Inference | None = None
        self._sample: Walk | None = None  # reads the first pages, for the schema only
        self._wanted = settings[SAMPLE]  # records of the sample
        if settings[SCHEMA] == INFER:
            self.inference = Inference(stream.partition_of(SCHEMA_LEVEL), settings[TOPIC], positions)
            if self._wanted and not self.inference.is_known:
                self._sample = Walk(stream, positions.apart(), self._endpoint.without_secrets, now)
        self._attempts, self._due = 0, clock()
        self.response: Future[Reply] | None = None

    def close(self) -> None:
        """Ends the connections."""
        self._endpoint.close()

    @property
    def wait(self) -> float:
        """Seconds until the next request is due; 0 while one is under way."""
        return 0.0 if self.response is not None else max(0.0, self._due - self._clock())

    def advance(self) -> StreamRows | None:
        """The next records, if they have arrived; sends the next request if it is due."""
        if self.response is not None and self.response.done():
            response, self.response = self.response, None
            self._receive(response)
        rows = None
        if self.response is None and not self._current.ended and not self._current.needs_page:
            rows = self._take()
        if self.response is None and self.wait == 0:
            self._continue()
        return rows

    @property
    def _current(self) -> Walk:
        return self._walk if self._sample is None else self._sample

    def _take(self) -> StreamRows | None:
        rows = self._parent_fields.added(self._current.take(_BATCH))
        if self._sample is None or self.inference is None:
            self._end_poll()
            return rows
        self.inference.observe(rows.rows)
        self._wanted -= len(rows.rows)
        if self._wanted <= 0:
            self._sample = None
        else:
            self._end_poll()
        return None

    def _continue(self) -> None:
        """Sends the next request, of a new poll if the last one has ended."""
        if self._current.ended:
            self._current.begin()
            self._end_poll()
        if self._current.needs_page:
            self._send()

    def _send(self) -> None:
        request, conditions = self._current.request()
        headers = {"Accept": "application/json", **conditions}
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        send = self._endpoint.send
        self.response = self._executor.submit(
            lambda: (request.url, send(request.method, request.url, request.body, headers))
        )

    def _receive(self, response: Future[Reply]) -> None:
        try:
            url, reply = response.result()
            if self._current.is_child:
                self._missing.read()
            self._current.receive(reply, url)
        except TemporaryError as error:
            self._failed(error)
            return
        except RejectedError as error:
            if not (self._skips and self._current.is_child and error.status in _VANISHED):
                raise
            self._missing.missing(error)
            self._current.vanished()
        self._attempts = 0
        self._end_poll()

    def _end_poll(self) -> None:
        if not self._current.ended:
            return
        self._missing.poll_ended()
        if self._sample is None:
            self._due = self._clock() + self._interval
        self._sample = None

    def _failed(self, error: TemporaryError) -> None:
        self._attempts += 1
        if self._retry.exhausted(self._attempts):
            raise ConnectError(f"{error} ({self._attempts} attempts)") from error
        delay = self._retry.delay(self._attempts, error)
        _log.warning("%s; repeated in %.1f s", error, delay)
        self._due = self._clock() + delay
