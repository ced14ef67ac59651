"""Reads a stream: a poll after each interval, and in it the responses as they arrive."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from runtime.connectors.http.endpoint import HttpEndpoint
from runtime.connectors.http.failures import RejectedError, RetryPolicy, TemporaryError
from runtime.connectors.http.settings import URL, EndpointSettings
from runtime.connectors.http.source.config import (
    IN_FLIGHT,
    INFER,
    INTERVAL,
    MISSING,
    PARENT_FIELDS,
    SAMPLE,
    SCHEMA,
    SKIP,
    TOPIC,
)
from runtime.connectors.http.source.inference import SCHEMA_LEVEL, Inference
from runtime.connectors.http.source.level import Level
from runtime.connectors.http.source.parents import MissingParents, ParentFields
from runtime.connectors.http.source.positions import StreamPositions
from runtime.connectors.http.source.requests import Reply, StreamRequests
from runtime.connectors.http.source.server_clock import ServerClock
from runtime.connectors.http.source.stream import Stream
from runtime.connectors.http.source.walk import StreamRows, Walk

_VANISHED = (404, 410)
_BATCH = 2000  # records of one batch


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
        self._missing, self._server_clock = MissingParents(config[URL]), ServerClock(config[URL])
        open_parents = settings[IN_FLIGHT] if stream.parent else 1
        self._endpoint = HttpEndpoint(EndpointSettings.of(settings, config, stream.origin), open_parents)
        self._requests = StreamRequests(self._endpoint, executor, RetryPolicy.of(settings), clock)
        self._walk = Walk(stream, positions, self._endpoint.without_secrets, now, open_parents)
        self.inference: Inference | None = None
        self._sample: Walk | None = None  # reads the first pages, for the schema only
        self._wanted = settings[SAMPLE]  # records of the sample
        if settings[SCHEMA] == INFER:
            self.inference = Inference(stream.partition_of(SCHEMA_LEVEL), settings[TOPIC], positions)
            if self._wanted and not self.inference.is_known:
                self._sample = Walk(stream, positions.apart(), self._endpoint.without_secrets, now, open_parents)

    def close(self) -> None:
        """Ends the connections."""
        self._endpoint.close()

    @property
    def responses(self) -> list[Future[Reply]]:
        """Those that are awaited."""
        return self._requests.responses

    @property
    def wait(self) -> float:
        """Seconds until the next request is due; 0 while one is under way."""
        return 0.0 if self.responses else self._requests.wait

    def advance(self) -> StreamRows | None:
        """The next records, if they have arrived; sends the next requests if they are due."""
        for level, response in self._requests.arrived():
            self._receive(level, response)
        rows = self._take()
        if self._requests.wait == 0:
            self._continue()
        return rows

    @property
    def _current(self) -> Walk:
        return self._walk if self._sample is None else self._sample

    def _take(self) -> StreamRows | None:
        taken = self._current.take(_BATCH)
        if taken is None:
            return None
        rows = self._parent_fields.added(taken)
        if self._sample is None or self.inference is None:
            self._end_poll()
            return rows
        self.inference.observe(rows.rows)
        self._wanted -= len(rows.rows)
        if self._wanted <= 0:
            self._sample = None
            self._requests.drop()
        else:
            self._end_poll()
        return None

    def _continue(self) -> None:
        """Sends the next requests, of a new poll if the last one has ended."""
        if self._current.ended:
            self._current.begin()
            self._end_poll()
        for level in self._current.waiting:
            if not self._requests.is_sent(level):
                self._requests.send(level, *self._current.request(level))

    def _receive(self, level: Level, response: Future[Reply]) -> None:
        try:
            url, reply = response.result()
            if level.is_child:
                self._missing.read()
            if (next_poll := level.after_slice) is not None:
                self._server_clock.check(next_poll, reply.headers)
            self._current.receive(level, reply, url)
        except TemporaryError as error:
            self._requests.failed(level, error)
            return
        except RejectedError as error:
            if not (self._skips and level.is_child and error.status in _VANISHED):
                raise
            self._missing.missing(error)
            self._current.vanished(level)
        self._requests.succeeded(level)
        self._end_poll()

    def _end_poll(self) -> None:
        if not self._current.ended:
            return
        self._missing.poll_ended()
        if self._sample is None:
            self._requests.pause(self._interval)
        self._sample = None
