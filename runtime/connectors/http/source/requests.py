"""The requests of a stream that are under way, one for each level of its walk at most."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from runtime.api.errors import ConnectError
from runtime.connectors.http.endpoint import HttpEndpoint, HttpReply
from runtime.connectors.http.failures import RetryPolicy, TemporaryError
from runtime.connectors.http.source.level import Level
from runtime.connectors.http.source.pages import PageRequest

_log = logging.getLogger(__name__)

Reply = tuple[str, HttpReply]
"""The URL of a request and its response."""


class StreamRequests:
    """Each request is repeated after temporary failures. No request is sent during the delay before that, since rate
    limits apply to all of them."""

    def __init__(
        self, endpoint: HttpEndpoint, executor: ThreadPoolExecutor, retry: RetryPolicy, clock: Callable[[], float]
    ) -> None:
        """Requests run on threads of the executor. `clock`, in seconds, is for delays."""
        self._endpoint, self._executor, self._retry, self._clock = endpoint, executor, retry, clock
        self._sent: dict[Level, Future[Reply]] = {}
        self._attempts: dict[Level, int] = {}
        self._due = clock()

    @property
    def responses(self) -> list[Future[Reply]]:
        """Those that are awaited."""
        return list(self._sent.values())

    @property
    def wait(self) -> float:
        """Seconds until requests may be sent."""
        return max(0.0, self._due - self._clock())

    def pause(self, seconds: float) -> None:
        """No request is sent in this time."""
        self._due = max(self._due, self._clock() + seconds)

    def send(self, level: Level, request: PageRequest, conditions: Mapping[str, str]) -> None:
        """Sends a request with headers that ask whether the page has changed."""
        headers = {"Accept": "application/json", **conditions}
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        send = self._endpoint.send
        self._sent[level] = self._executor.submit(
            lambda: (request.url, send(request.method, request.url, request.body, headers))
        )

    def is_sent(self, level: Level) -> bool:
        """Whether the response to a request of the level is awaited."""
        return level in self._sent

    def arrived(self) -> list[tuple[Level, Future[Reply]]]:
        """The responses that have arrived since the last call."""
        done = [(level, response) for level, response in self._sent.items() if response.done()]
        for level, _ in done:
            del self._sent[level]
        return done

    def succeeded(self, level: Level) -> None:
        """The response was of use."""
        self._attempts.pop(level, None)

    def failed(self, level: Level, error: TemporaryError) -> None:
        """The request is to be sent again after a delay; ConnectError if it has failed too often."""
        attempts = self._attempts[level] = self._attempts.get(level, 0) + 1
        if self._retry.exhausted(attempts):
            raise ConnectError(f"{error} ({attempts} attempts)") from error
        delay = self._retry.delay(attempts, error)
        _log.warning("%s; repeated in %.1f s", error, delay)
        self.pause(delay)

    def drop(self) -> None:
        """Ignores the responses to the requests so far."""
        self._sent.clear()
        self._attempts.clear()
