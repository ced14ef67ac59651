"""The HttpSink connector: configuration, task and offsets."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, ConfigValue, Importance, Width, grouped
from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.errors import ConfigError, ConnectError, RetriableError
from runtime.api.task import SinkTask
from runtime.connectors.checked_config import GroupSinkConnector
from runtime.connectors.http.endpoint import HttpEndpoint
from runtime.connectors.http.failures import RetryPolicy
from runtime.connectors.http.settings import (
    URL,
    EndpointSettings,
    add_conflicts,
    check_url,
    choice_key,
    connection_keys,
    number_key,
    required_settings,
    text_key,
)
from runtime.connectors.http.sink.deliveries import CONTENT_TYPES, BodyFormat, Deliveries, NullValues, RequestForm
from runtime.connectors.http.sink.lanes import PartitionLanes
from runtime.connectors.http.templates import RECORD_NAMES, TextTemplate

METHOD, BODY, BATCH, CONTENT_TYPE = "http.method", "http.body.format", "http.batch.size", "http.content.type"
NULLS, IN_FLIGHT, SPLIT = "http.null.values", "http.max.in.flight", "http.batch.split"


def _check_url(name: str, value: Any) -> None:
    check_url(name, value)
    TextTemplate(value).check(name, RECORD_NAMES)


def _check_content_type(name: str, value: Any) -> None:
    if not value or not value.isascii() or not value.isprintable():
        raise ConfigError(f"Invalid value {value} for configuration {name}: must be such as application/json")


SINK_KEYS = ConfigDef(
    *grouped("Requests", 1,
        ConfigKey(URL, ConfigType.STRING, importance=Importance.HIGH, doc="URL of the requests. Placeholders: "
             "`${topic}`, `${partition}`, `${offset}`, `${timestamp}`, `${key}`, `${key.field}`, `${value.field}`.",
             validator=_check_url, width=Width.LONG, display_name="Url"),
        choice_key(METHOD, ("POST", "PUT", "PATCH"), "POST", "Method of the requests."),
        choice_key(BODY, tuple(BodyFormat), BodyFormat.ARRAY, "`single`: a request for each record; `json-array` and "
             "`json-lines`: one for several records with the same URL. Bytes are sent as they are, strings too with "
             "`single`; other values are written as JSON."),
        number_key(BATCH, 500, 1, "Maximum number of records of a request."),
        text_key(CONTENT_TYPE, "Content-Type; by default that of the format.", _check_content_type),
        choice_key(NULLS, tuple(NullValues), NullValues.SKIP, "Records with a null value: `skip` them, `send` JSON's "
             "null, or send a `delete` request to their URL."),
        ConfigKey(IN_FLIGHT, ConfigType.INT, 4, Importance.MEDIUM, "Requests of a task at the same time. Those of one "
             "partition are sent one after another.", validators.between(1, 100), width=Width.SHORT,
             display_name="Max in flight"),
        ConfigKey(SPLIT, ConfigType.BOOLEAN, True, Importance.LOW, "Whether a request for several records that is "
             "refused (4xx) is repeated with parts of them, so that only the records at fault are reported. Otherwise "
             "all its records are.", width=Width.SHORT, display_name="Batch split"),
    ),
    *connection_keys(),
)  # fmt: skip


def sink_values(config: Mapping[str, str]) -> list[ConfigValue]:
    """The values of the keys with their errors, also across keys."""
    values = SINK_KEYS.validate(config)
    add_conflicts(values, config)
    return values


def sink_settings(config: Mapping[str, str]) -> dict[str, Any]:
    """The typed values of all keys; ConfigError for the first invalid one."""
    return required_settings(sink_values(config))


_WAIT = 0.5  # seconds that put() waits for room
_FLUSH_WAIT = 1.0  # seconds that a commit or a revocation waits for requests
_CHECK = 0.1  # seconds between checks for refused records while no records arrive
_QUEUED_BATCHES = 4  # batches of each request in flight that may wait


class HttpSinkTask(SinkTask):
    """Requests are sent by other threads, so that put() returns before its records are delivered."""

    _lanes: PartitionLanes | None = None
    _endpoint: HttpEndpoint | None = None

    def start(self, config: Mapping[str, str]) -> None:
        settings = sink_settings(config)
        in_flight: int = settings[IN_FLIGHT]
        batch: int = settings[BATCH]
        body = BodyFormat(settings[BODY])
        form = RequestForm(
            TextTemplate(settings[URL]),
            settings[METHOD],
            body,
            settings[CONTENT_TYPE] or CONTENT_TYPES[body],
            NullValues(settings[NULLS]),
        )
        self._refused: deque[tuple[SinkRecord, Exception]] = deque()
        reporter = self.context.errant_record_reporter
        report = None if reporter is None else lambda record, error: self._refused.append((record, error))
        self._endpoint = HttpEndpoint(EndpointSettings.of(settings, config), in_flight)
        deliveries = Deliveries(self._endpoint, form, RetryPolicy.of(settings), settings[SPLIT], report)
        self._lanes = PartitionLanes(deliveries.deliver, in_flight, batch)
        self._limit = max(batch * in_flight * _QUEUED_BATCHES, 1000)

    def put(self, records: Sequence[SinkRecord]) -> None:
        lanes = self._running()
        lanes.wait_below(self._limit, _WAIT)
        self._report_refused()
        if lanes.failure is not None:
            raise _failed(lanes.failure)
        if lanes.pending >= self._limit and len(records):
            raise RetriableError(f"The endpoint has not accepted {lanes.pending} earlier records yet")
        lanes.add(records)
        self.idle_put = _CHECK if lanes.pending else None

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        lanes = self._running()
        lanes.wait_below(1, _FLUSH_WAIT)
        first = {tp: lanes.first_pending(tp) for tp in offsets}
        self._report_refused()  # after the offsets: those of records that are refused now are not committed yet
        return {tp: offset if (pending := first[tp]) is None else pending for tp, offset in offsets.items()}

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        if self._lanes is not None:
            self._lanes.drop([TopicPartition(*tp) for tp in partitions], _FLUSH_WAIT)

    def stop(self) -> None:
        if self._lanes is not None:
            self._lanes.close()
        if self._endpoint is not None:
            self._endpoint.close()

    def _running(self) -> PartitionLanes:
        assert self._lanes is not None, "start() has not been called"
        return self._lanes

    def _report_refused(self) -> None:
        reporter = self.context.errant_record_reporter
        while self._refused and reporter is not None:
            reporter.report(*self._refused.popleft())


def _failed(failure: BaseException) -> BaseException:
    """The error of another thread, with that thread's traceback as its cause."""
    if isinstance(failure, ConnectError):
        error = type(failure)(*failure.args)
        error.__cause__ = failure
        return error
    return failure


class HttpSinkConnector(GroupSinkConnector):
    """Sends records to an HTTP endpoint."""

    java_name = "headrace.HttpSinkConnector"
    task_class = HttpSinkTask
    config_def = SINK_KEYS

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return sink_values(config)

    def start(self, config: Mapping[str, str]) -> None:
        sink_settings(config)
        super().start(config)
