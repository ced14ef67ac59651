"""Turns records into requests, repeats failed requests and reports refused records."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from runtime.api.data.record import SinkRecord
from runtime.api.errors import ConnectError, DataError
from runtime.connectors.http.endpoint import HttpEndpoint
from runtime.connectors.http.failures import EndpointError, RejectedError, RetryPolicy, TemporaryError
from runtime.connectors.http.json_values import json_bytes
from runtime.connectors.http.sink.lanes import DeliveryStoppedError
from runtime.connectors.http.templates import TextTemplate, as_text, of_record

_log = logging.getLogger(__name__)

_LONGEST_URL = 65_536  # characters, the limit of the HTTP client
_GONE = frozenset({404, 410})
_FORBIDDEN = 403
_OF_URL = _GONE | {405}
"""Statuses that are about the URL and the method of a request, not about its content (RFC 9110, section 15.5)."""


class BodyFormat(StrEnum):
    """How the values of records form the body of a request."""

    SINGLE = "single"
    ARRAY = "json-array"
    LINES = "json-lines"


class NullValues(StrEnum):
    """What happens to records with a null value."""

    SKIP = "skip"
    SEND = "send"
    DELETE = "delete"


CONTENT_TYPES: Mapping[BodyFormat, str] = {
    BodyFormat.SINGLE: "application/json",
    BodyFormat.ARRAY: "application/json",
    BodyFormat.LINES: "application/x-ndjson",
}


class RequestForm(NamedTuple):
    """What requests look like."""

    url: TextTemplate
    method: str
    body: BodyFormat
    content_type: str
    nulls: NullValues


class RecordRequest(NamedTuple):
    """A request for consecutive records of a partition, and the body part of each record."""

    method: str
    url: str
    records: Sequence[SinkRecord]
    parts: Sequence[bytes | None]

    def half(self, first: bool) -> RecordRequest:
        middle = len(self.records) // 2
        part = slice(None, middle) if first else slice(middle, None)
        return self._replace(records=self.records[part], parts=self.parts[part])


class DeliveryOutcome:
    """Of the records of one delivery: whether the endpoint has accepted any, and the refused ones with their errors."""

    def __init__(self, tolerant: bool) -> None:
        """Unless `tolerant`, the error of the first refused record is raised."""
        self._tolerant = tolerant
        self.accepted = False
        self.refused: list[tuple[SinkRecord, Exception]] = []

    def refuse(self, record: SinkRecord, error: Exception) -> None:
        if not self._tolerant:
            raise error
        self.refused.append((record, error))

    def forbidden(self) -> RejectedError | None:
        """The last error if nothing was accepted, since all requests were forbidden."""
        errors = [error for _, error in self.refused if isinstance(error, RejectedError)]
        if self.accepted or not errors or any(error.status != _FORBIDDEN for error in errors):
            return None
        return errors[-1]


def _url_of(template: TextTemplate, record: SinkRecord) -> str:
    """The URL of a record. DataError if a value cannot be part of it: `.` and `..` are names of other resources."""
    try:
        url = template.fill(of_record(record))
    except UnicodeEncodeError as error:
        raise DataError(f"The record has a value for http.url that is not valid Unicode: {error}") from None
    has_dots = "/." in url and not {".", ".."}.isdisjoint(urlsplit(url).path.split("/"))
    if template.names and (has_dots or len(url) > _LONGEST_URL):
        raise DataError(f"The record has a value that http.url cannot have: . or .., or over {_LONGEST_URL} characters")
    return url


class Deliveries:
    """Delivers records to an endpoint. Thread-safe."""

    def __init__(
        self,
        endpoint: HttpEndpoint,
        form: RequestForm,
        retry: RetryPolicy,
        splits: bool,
        report: Callable[[SinkRecord, Exception], None] | None,
    ) -> None:
        """`splits`: a refused request for several records is repeated with parts of them. `report` takes refused
        records; None: they fail the task."""
        self._endpoint, self._form, self._retry, self._splits = endpoint, form, retry, splits
        self._report = report

    def deliver(self, records: Sequence[SinkRecord], stopped: threading.Event) -> None:
        """See lanes.Deliver."""
        outcome = DeliveryOutcome(self._report is not None)
        for request in self._requests(records, outcome):
            self._send(request, stopped, outcome)
        if not self._form.url.names and (forbidden := outcome.forbidden()) is not None:
            raise EndpointError(f"{forbidden}. Check http.url, and the rights that the credentials of http.auth.* have")
        if self._report is not None:
            for record, error in outcome.refused:
                self._report(record, error)

    def _requests(self, records: Sequence[SinkRecord], outcome: DeliveryOutcome) -> Iterator[RecordRequest]:
        """Requests in the order of the records; consecutive records with the same URL share one."""
        open_request: RecordRequest | None = None
        for record in records:
            try:
                made = self._request(record)
            except DataError as error:
                outcome.refuse(record, error)
                continue
            if made is None:
                continue
            if open_request is not None and self._joins(open_request, made):
                open_request = open_request._replace(
                    records=[*open_request.records, record], parts=[*open_request.parts, *made.parts]
                )
                continue
            if open_request is not None:
                yield open_request
            open_request = made
        if open_request is not None:
            yield open_request

    def _joins(self, first: RecordRequest, second: RecordRequest) -> bool:
        same = first.url == second.url and first.method == second.method == self._form.method
        return same and self._form.body is not BodyFormat.SINGLE

    def _request(self, record: SinkRecord) -> RecordRequest | None:
        """The request for one record; None for a skipped one. DataError if it cannot be formed."""
        form = self._form
        if record.value is None and form.nulls is NullValues.SKIP:
            return None
        url = _url_of(form.url, record)
        if record.value is None and form.nulls is NullValues.DELETE:
            return RecordRequest("DELETE", url, [record], [None])
        return RecordRequest(form.method, url, [record], [self._part(record.value)])

    def _part(self, value: Any) -> bytes:
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        if isinstance(value, str) and self._form.body is BodyFormat.SINGLE:
            return as_text(value).encode("utf-8", "replace")
        return json_bytes(value)

    def _body(self, request: RecordRequest) -> bytes | None:
        parts = [part for part in request.parts if part is not None]
        if not parts:
            return None
        if self._form.body is BodyFormat.ARRAY:
            return b"[" + b",".join(parts) + b"]"
        return b"\n".join(parts) + b"\n" if self._form.body is BodyFormat.LINES else parts[0]

    def _send(self, request: RecordRequest, stopped: threading.Event, outcome: DeliveryOutcome) -> None:
        body = self._body(request)
        headers = {} if body is None else {"Content-Type": self._form.content_type}
        attempts = 0
        while True:
            if stopped.is_set():
                raise DeliveryStoppedError
            try:
                self._endpoint.send(request.method, request.url, body, headers)
                outcome.accepted = True
                return
            except TemporaryError as error:
                attempts += 1
                if self._retry.exhausted(attempts):
                    raise ConnectError(f"{error} ({attempts} attempts)") from error
                delay = self._retry.delay(attempts, error)
                _log.warning("%s; repeated in %.1f s", error, delay)
                if stopped.wait(delay):
                    raise DeliveryStoppedError from error
            except RejectedError as error:
                self._rejected(request, error, stopped, outcome)
                return

    def _rejected(
        self, request: RecordRequest, error: RejectedError, stopped: threading.Event, outcome: DeliveryOutcome
    ) -> None:
        if request.method == "DELETE" and error.status in _GONE:
            return  # it has been deleted, perhaps by the same request before a restart
        if error.status in _OF_URL and not self._form.url.names:
            raise EndpointError(f"{error}. Check http.url and http.method") from error
        if len(request.records) > 1 and self._splits:
            self._send(request.half(True), stopped, outcome)
            self._send(request.half(False), stopped, outcome)
            return
        for record in request.records:
            outcome.refuse(record, error)
