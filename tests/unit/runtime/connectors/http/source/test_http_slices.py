"""HttpSource: time slices."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest

from runtime.api.errors import ConfigError, ConnectError
from runtime.connectors.http.source.connector import HttpSourceConnector
from runtime.connectors.http.source.slices import TimeFormat, parse_time
from runtime.connectors.http.source.task import HttpSourceTask
from tests.support.servers.http_endpoint import Answer, Received, http_server
from tests.support.tasks.http_source import COMMON, check_every_restart, ids, source, take
from tests.support.tasks.task_contexts import StoredOffsets
from tests.support.waiting import wait_until

SLICES = {
    "http.slice.start": "2026-01-01",
    "http.slice.step.ms": "86400000",
    "http.parameter.from": "${slice.start}",
    "http.parameter.to": "${slice.end}",
    "http.pagination": "offset",
}


def at(text: str) -> dt.datetime:
    return parse_time(text)


class Clock:
    """The present time of a task."""

    def __init__(self, now: str) -> None:
        self.now = now

    def __call__(self) -> dt.datetime:
        return at(self.now)

    def task(self) -> HttpSourceTask:
        return HttpSourceTask(now=self)


class Events:
    """Events with a time, from a start up to before an end, in pages of two."""

    def __init__(self, *times: str) -> None:
        self.times = [*times]
        self.windows: list[tuple[str, str]] = []

    def __call__(self, request: Received) -> Answer:
        start, end = request.query["from"], request.query["to"]
        offset = int(request.query["offset"])
        if offset == 0:
            self.windows.append((start, end))
        rows = [{"id": time} for time in self.times if at(start) <= at(time) < at(end)]
        return 200, {}, rows[offset : offset + 2]


DAYS = ["2026-01-01T01:00Z", "2026-01-01T02:00Z", "2026-01-01T03:00Z", "2026-01-03T00:00Z", "2026-01-04T05:00Z"]


def test_each_slice_has_requests_of_its_own_up_to_the_present() -> None:
    api, clock = Events(*DAYS), Clock("2026-01-04T12:00Z")
    with http_server(api) as server, source(server.url, None, clock.task(), **SLICES) as task:
        assert ids(take(task, 5)) == DAYS
        assert api.windows == [
            ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"), ("2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"),
            ("2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z"), ("2026-01-04T00:00:00Z", "2026-01-04T12:00:00Z"),
        ]  # fmt: skip
        api.times += ["2026-01-04T12:00Z", "2026-01-05T13:00Z"]
        assert not any(task.poll() for _ in range(5))
        clock.now = "2026-01-05T14:00:00.5Z"
        assert ids(take(task, 2)) == api.times[-2:]
        assert api.windows[-2:] == [
            ("2026-01-04T12:00:00Z", "2026-01-05T12:00:00Z"), ("2026-01-05T12:00:00Z", "2026-01-05T14:00:00Z")
        ]  # fmt: skip


def test_a_restart_continues_in_the_slice_in_which_it_was() -> None:
    clock = Clock("2026-01-04T12:00Z")
    with http_server(Events(*DAYS)) as server:
        check_every_restart(server.url, DAYS, clock.task, **SLICES)


def test_slices_without_records_are_not_read_again_after_a_restart() -> None:
    api, stored, clock = Events(), StoredOffsets(), Clock("2026-01-04T00:00Z")
    with http_server(api) as server:
        with source(server.url, stored, clock.task(), **SLICES) as task:
            wait_until(lambda: not task.poll() and len(api.windows) == 3, 10, "the last slice")
            wait_until(lambda: not task.poll() and stored.stored[-1][1] == {"slice_start": "2026-01-04T00:00:00Z"}, 10,
                       "the offset after it")  # fmt: skip
        clock.now = "2026-01-04T01:00Z"
        with source(server.url, stored, clock.task(), **SLICES) as task:
            wait_until(lambda: not task.poll() and len(api.windows) == 4, 10, "the next slice")
    assert api.windows[3] == ("2026-01-04T00:00:00Z", "2026-01-04T01:00:00Z")


def test_lookback_and_delay() -> None:
    config = SLICES | {"http.slice.lookback.ms": "3600000", "http.slice.end.delay.ms": "600000"}
    api, clock = Events("2026-01-01T04:00Z"), Clock("2026-01-01T06:00Z")
    with http_server(api) as server, source(server.url, None, clock.task(), **config) as task:
        assert ids(take(task, 1)) == ["2026-01-01T04:00Z"]
        clock.now = "2026-01-01T07:00Z"
        wait_until(lambda: not task.poll() and len(api.windows) > 1 and api.windows[-1][1].startswith(
            "2026-01-01T06:50"), 10, "the next poll")  # fmt: skip
    assert api.windows[0] == ("2026-01-01T00:00:00Z", "2026-01-01T05:50:00Z")
    assert api.windows[-1] == ("2026-01-01T04:50:00Z", "2026-01-01T06:50:00Z")


def test_a_slice_can_be_set_back() -> None:
    api, clock = Events(*DAYS), Clock("2026-01-04T12:00Z")
    with http_server(api) as server:
        stored = StoredOffsets([({"url": server.url}, {"slice_start": "2026-01-03"})])
        with source(server.url, stored, clock.task(), **SLICES) as task:
            assert ids(take(task, 2)) == DAYS[3:]


def test_each_parent_has_its_own_slices() -> None:
    clock = Clock("2026-01-02T12:00Z")

    def respond(request: Received) -> Answer:
        if request.path == "/sensors":
            return 200, {}, [{"id": 1}, {"id": 2}]
        body = request.json
        return 200, {}, [{"id": f"{body['sensor']} {body['from']}"}] if request.query["offset"] == "0" else []

    with http_server(respond) as server:
        config = {
            **{name: value for name, value in SLICES.items() if "parameter" not in name},
            "http.slice.format": "epoch",
            "http.body": '{"sensor": "${parent.id}", "from": "${slice.start}"}',
            "http.parent.url": f"{server.url}/sensors",
        }
        times = [int(at(day).timestamp()) for day in ("2026-01-01", "2026-01-02")]
        expected = [f"{sensor} {time}" for sensor in (1, 2) for time in times]
        check_every_restart(f"{server.url}/values", expected, clock.task, **config)


@pytest.mark.parametrize(
    ("text", "written", "unit"),
    [
        ("iso", "2026-02-03T04:05:06Z", dt.timedelta(seconds=1)),
        ("date", "2026-02-03", dt.timedelta(days=1)),
        ("epoch", 1770091506, dt.timedelta(seconds=1)),
        ("epoch-ms", 1770091506789, dt.timedelta(milliseconds=1)),
        ("%Y%m%d%H", "2026020304", dt.timedelta(hours=1)),
    ],
)
def test_formats(text: str, written: Any, unit: dt.timedelta) -> None:
    time = dt.datetime(2026, 2, 3, 4, 5, 6, 789_000, tzinfo=dt.UTC)
    form = TimeFormat(text)
    assert form.write(time) == written
    assert form.unit == unit
    assert form.write(form.floor(time)) == written
    assert form.write(form.floor(time) - dt.timedelta(microseconds=1)) != written


@pytest.mark.parametrize("text", ["ISO8601", "%Y", ""])
def test_formats_that_are_not_valid(text: str) -> None:
    with pytest.raises(ConfigError):
        TimeFormat(text)


def test_the_last_moment_of_a_slice_is_for_inclusive_ends() -> None:
    config = SLICES | {"http.slice.format": "date", "http.parameter.to": "${slice.last}"}
    windows: list[tuple[str, str]] = []

    def respond(request: Received) -> Answer:
        windows.append((request.query["from"], request.query["to"]))
        return 200, {}, []

    with (
        http_server(respond) as server,
        source(server.url, None, Clock("2026-01-03T12:00Z").task(), **config) as task,
    ):
        wait_until(lambda: not task.poll() and len(windows) == 2, 10, "both days")
    assert windows == [("2026-01-01", "2026-01-01"), ("2026-01-02", "2026-01-02")]


@pytest.mark.parametrize(
    ("config", "key", "message"),
    [
        ({"http.slice.start": "yesterday"}, "http.slice.start", "must be a time"),
        ({"http.slice.start": "2026-01-01"}, "http.slice.start", "Use ${slice.start} and ${slice.end}"),
        ({"http.parameter.a": "${slice.start}"}, "http.url", "${slice.start} needs http.slice.start"),
        (SLICES | {"http.slice.format": "%H"}, "http.slice.format", "must contain the day"),
        (SLICES | {"http.slice.format": "date", "http.slice.step.ms": "3600000"}, "http.slice.step.ms", "multiple"),
        (SLICES | {"http.cursor.pointer": "/id", "http.parameter.c": "${cursor}"}, "http.cursor.pointer", "either"),
    ],
)
def test_invalid_configurations(config: Mapping[str, str], key: str, message: str) -> None:
    values = HttpSourceConnector().validate({"http.url": "https://x", "topic": "t", **config})
    (errors,) = (value.errors for value in values if value.name == key)
    assert message in " ".join(errors)


@pytest.mark.parametrize(
    "offset",
    [
        {"slice_start": "later"},
        {"slice_start": 5},
        {"slice_end": "2026-01-02"},
        {"slice_start": "2026-01-02", "slice_end": "2026-01-01"},
        {"slice_start": "2026-01-02", "page": 3},
    ],
)
def test_altered_offsets_are_checked(offset: Mapping[str, Any]) -> None:
    connector, partition = HttpSourceConnector(), {"url": "https://x"}
    config = {"http.url": "https://x", **COMMON, **SLICES}
    valid = {"slice_start": "2026-01-01", "slice_end": "2026-01-02T00:00:00Z", "page": 3}
    assert connector.alter_offsets(config, [(partition, {"slice_start": "2026-01-01"}), (partition, valid)])
    with pytest.raises(ConnectError):
        connector.alter_offsets(config, [(partition, offset)])
    with pytest.raises(ConnectError, match=r"need http\.slice\.start"):
        connector.alter_offsets({"http.url": "https://x", **COMMON}, [(partition, {"slice_start": "2026-01-01"})])


@pytest.mark.parametrize(
    ("more", "warns"), [({}, True), ({"http.slice.end.delay.ms": "3660000"}, False),
                        ({"http.slice.lookback.ms": "3660000"}, False)], ids=["ahead", "delay", "lookback"],
)  # fmt: skip
def test_a_clock_that_is_ahead_of_the_servers_is_reported(
    more: Mapping[str, str], warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    now = dt.datetime.now(dt.UTC)
    api, clock = Events(), Clock((now + dt.timedelta(hours=1)).isoformat())
    start = (now - dt.timedelta(hours=9)).isoformat(timespec="seconds").removesuffix("+00:00")
    config = {**SLICES, "http.slice.start": start, "http.poll.interval.ms": "600000", **more}
    with http_server(api) as server, source(server.url, None, clock.task(), **config) as task:
        wait_until(lambda: not task.poll() and task.idle_poll == 0.5, 10, "the end of the poll")
    assert len(api.windows) == 1
    ahead = [record.getMessage() for record in caplog.records if "ahead" in record.getMessage()]
    assert len(ahead) == warns
    assert not warns or ("The clock of this machine is 36" in ahead[0] and "http.slice.end.delay.ms by 3" in ahead[0])
