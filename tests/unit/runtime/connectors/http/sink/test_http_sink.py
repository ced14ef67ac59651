"""HttpSink against a real HTTP server."""

from __future__ import annotations

import base64
import datetime as dt
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.errors import ConfigError, ConnectError, RetriableError
from runtime.connectors.http.failures import RejectedError, TemporaryError, raise_for_status, seconds_of
from runtime.connectors.http.sink.connector import HttpSinkConnector, HttpSinkTask
from tests.support.servers.http_endpoint import Answer, Received, http_server
from tests.support.tasks.task_contexts import DeadLetterList, TaskSinkContext
from tests.support.waiting import wait_until

FAST = {"http.retry.backoff.ms": "10"}
OK: Answer = (200, {}, "")


def ok(request: Received) -> Answer:
    return OK


def records(*values: Any, partition: int = 0, first: int = 0) -> list[SinkRecord]:
    return [
        SinkRecord("t", partition, None, f"k{n}", None, value, n, 1000 + n) for n, value in enumerate(values, first)
    ]


@contextmanager
def sink(url: str, letters: DeadLetterList | None = None, /, **config: str) -> Iterator[HttpSinkTask]:
    """A started task."""
    task = HttpSinkTask()
    task.context = TaskSinkContext(letters).as_context()
    task.start({"http.url": url, **FAST, **{key.replace("_", "."): value for key, value in config.items()}})
    try:
        yield task
    finally:
        task.stop()


def committed(task: HttpSinkTask, end: int, partition: int = 0) -> int:
    """The offset that the task would commit after having received records up to `end`."""
    tp = TopicPartition("t", partition)
    return task.pre_commit({tp: end})[tp]


def delivered(task: HttpSinkTask, end: int) -> None:
    wait_until(lambda: committed(task, end) == end, 10, "the delivery of all records")


def failure(task: HttpSinkTask) -> Exception:
    """The error that the task raises soon."""
    found: list[Exception] = []

    def failed() -> bool:
        try:
            task.put([])
        except ConnectError as error:
            found.append(error)
        return bool(found)

    wait_until(failed, 10, "an error of the task")
    return found[0]


def test_batches_as_a_json_array_with_headers_and_all_types() -> None:
    values = [{"n": n, "price": Decimal("1.50"), "raw": b"\x00\x01"} for n in range(5)]
    with (
        http_server(ok) as server,
        sink(f"{server.url}/in", **{"http.batch.size": "2", "http.header.X-A": "b"}) as task,
    ):
        task.put(records(*values, {"at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC), "ok": True}))
        delivered(task, 6)
        bodies = [request.json for request in server.received]
        assert [len(body) for body in bodies] == [2, 2, 2]
        assert bodies[0][1] == {"n": 1, "price": 1.5, "raw": base64.b64encode(b"\x00\x01").decode()}
        assert bodies[2][1] == {"at": "2026-01-02T00:00:00Z", "ok": True}
        first = server.received[0]
        assert (first.method, first.path, first.headers["content-type"], first.headers["x-a"]) == (
            "POST", "/in", "application/json", "b",
        )  # fmt: skip
        assert b"1.50" in first.body, "decimals keep their digits"


def test_json_lines_and_single_records() -> None:
    with http_server(ok) as server:
        with sink(server.url, http_body_format="json-lines", http_method="PUT") as task:
            task.put(records({"a": 1}, b'{"raw":true}', "text"))
            delivered(task, 3)
        with sink(server.url, http_body_format="single") as task:
            task.put(records({"a": 1}, b"raw", "text"))
            delivered(task, 3)
    lines, *single = server.received
    assert (lines.method, lines.body) == ("PUT", b'{"a":1}\n{"raw":true}\n"text"\n')
    assert lines.headers["content-type"] == "application/x-ndjson"
    assert [request.body for request in single] == [b'{"a":1}', b"raw", b"text"]


def test_urls_of_records_and_null_values() -> None:
    with http_server(ok) as server:
        url = f"{server.url}/${{topic}}/${{key}}/${{value.type}}"
        with sink(url, http_body_format="json-lines") as task:
            task.put(records({"type": "a/b"}, {"type": "é"}))
            delivered(task, 2)
        with sink(f"{server.url}/${{key}}", http_null_values="delete", http_body_format="single") as task:
            task.put(records({"a": 1}, None))
            delivered(task, 2)
        with sink(server.url, http_null_values="skip") as task:
            task.put(records(None, None))
            delivered(task, 2)
    assert [request.path for request in server.received[:2]] == ["/t/k0/a/b", "/t/k1/é"]
    assert [(request.method, request.path, request.body) for request in server.received[2:]] == [
        ("POST", "/k0", b'{"a":1}'), ("DELETE", "/k1", b""),
    ]  # fmt: skip


def test_temporary_failures_are_repeated_after_the_time_that_the_endpoint_asks_for() -> None:
    times: list[float] = []

    def respond(request: Received) -> Answer:
        times.append(time.monotonic())
        return (
            OK
            if len(times) > 3
            else ((429, 503, 408)[len(times) - 1], {"Retry-After": "1"} if len(times) == 1 else {}, "")
        )

    with http_server(respond) as server, sink(server.url) as task:
        task.put(records(1, 2))
        assert committed(task, 2) == 0, "nothing is committed before it is delivered"
        delivered(task, 2)
        assert times[1] - times[0] >= 0.95
        assert [request.json for request in server.received] == [[1, 2]] * 4


def test_retries_end_and_fail_the_task() -> None:
    with http_server(lambda request: (500, {}, "down for maintenance")) as server:
        with sink(server.url, DeadLetterList(), http_retries="2") as task:
            task.put(records(1))
            error = failure(task)
            assert "status 500: down for maintenance (3 attempts)" in str(error)
            assert committed(task, 1) == 0
        assert len(server.received) == 3
    with sink(server.url, http_retries="0") as task:
        task.put(records(1))
        assert "failed: " in str(failure(task)), "nobody listens any more"


def test_refused_records_are_reported_and_the_others_of_their_batch_are_delivered() -> None:
    accepted: list[int] = []

    def respond(request: Received) -> Answer:
        if 13 in request.json or 40 in request.json:
            return 422, {}, {"error": "unlucky"}
        accepted.extend(request.json)
        return OK

    letters = DeadLetterList()
    with http_server(respond) as server, sink(server.url, letters) as task:
        task.put(records(*range(100)))
        delivered(task, 100)
        assert sorted(accepted) == [n for n in range(100) if n not in (13, 40)]
        assert [record.value for record, _ in letters.reported] == [13, 40]
        assert "status 422" in str(letters.reported[0][1]) and "unlucky" in str(letters.reported[0][1])
    letters = DeadLetterList()
    with http_server(respond) as server, sink(server.url, letters, http_batch_split="false") as task:
        task.put(records(*range(10, 20)))
        delivered(task, 10)
        assert [record.value for record, _ in letters.reported] == list(range(10, 20))
    with http_server(respond) as server, sink(server.url) as task:
        task.put(records(13))
        assert "status 422" in str(failure(task)), "without a reporter, a refused record fails the task"


def test_records_that_cannot_be_sent_are_reported() -> None:
    letters = DeadLetterList()
    with http_server(ok) as server, sink(f"{server.url}/${{value.id}}", letters) as task:
        task.put(records({"id": 1}, {"x": 1}, {"id": 2, "bad": object()}, {"id": 3}))
        delivered(task, 4)
        assert [request.path for request in server.received] == ["/1", "/3"]
        assert "no value for ${value.id}" in str(letters.reported[0][1])
        assert "cannot be written as JSON" in str(letters.reported[1][1])


def test_refused_credentials_fail_the_task_instead_of_sending_everything_to_dead_letters() -> None:
    letters = DeadLetterList()
    with http_server(lambda request: (401, {}, "no")) as server, sink(server.url, letters) as task:
        task.put(records(1))
        assert "status 401: no. Check http.auth.type" in str(failure(task))
        assert letters.reported == []


@pytest.mark.parametrize("status", [403, 404, 405, 410])
def test_a_url_that_no_record_can_be_sent_to_makes_no_record_a_dead_letter(status: int) -> None:
    letters = DeadLetterList()
    with http_server(lambda request: (status, {}, "no")) as server, sink(server.url, letters) as task:
        task.put(records(1, 2, 3))
        assert f"status {status}: no. Check http.url" in str(failure(task))
        assert (committed(task, 3), letters.reported) == (0, [])
    with http_server(lambda request: (status, {}, "no")) as server, sink(f"{server.url}/${{key}}", letters) as task:
        task.put(records(1, 2))
        delivered(task, 2)
    assert [record.value for record, _ in letters.reported] == [1, 2], "the URL is that of the record"


@pytest.mark.parametrize("body", ["single", "json-array"])
def test_a_record_that_a_firewall_forbids_is_a_dead_letter(body: str) -> None:
    letters = DeadLetterList()

    def respond(request: Received) -> Answer:
        return (403, {}, "blocked") if b"DROP TABLE" in request.body else OK

    with http_server(respond) as server, sink(server.url, letters, http_body_format=body) as task:
        task.put(records("a", "DROP TABLE", "b"))
        delivered(task, 3)
        assert [record.value for record, _ in letters.reported] == ["DROP TABLE"]


@pytest.mark.parametrize("status", [404, 410])
def test_what_has_been_deleted_may_be_deleted_again(status: int) -> None:
    """Delivery is at least once."""
    with http_server(lambda request: (status, {}, "unknown")) as server:
        with sink(f"{server.url}/${{key}}", http_null_values="delete", http_body_format="single") as task:
            task.put(records(None, None))
            delivered(task, 2)
        assert [request.method for request in server.received] == ["DELETE", "DELETE"]


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_refused_token_request_fails_the_task_too(status: int) -> None:
    """RFC 6749, section 5.2: the response to wrong credentials is 400 or 401."""
    letters = DeadLetterList()
    refused: Answer = (status, {}, '{"error":"invalid_client"}')
    with http_server(lambda request: refused if request.path == "/token" else OK) as server:
        oauth2 = {
            "http.auth.type": "oauth2", "http.oauth2.token.url": f"{server.url}/token",
            "http.oauth2.client.id": "me", "http.oauth2.client.secret": "wrong",
        }  # fmt: skip
        with sink(f"{server.url}/in", letters, **oauth2) as task:
            task.put(records({"n": 1}, {"n": 2}))
            assert "The token request to" in str(failure(task))
            assert (committed(task, 2), letters.reported) == (0, [])


@pytest.mark.parametrize("key", ["\ud83d", "x" * 70_000, ".", ".."], ids=["surrogate", "long", "folder", "parent"])
def test_a_key_that_a_url_cannot_have_is_the_fault_of_its_record(key: str) -> None:
    """HTTP clients and servers take `/items/..` for `/`."""
    letters = DeadLetterList()
    with (
        http_server(ok) as server,
        sink(f"{server.url}/items/${{key}}", letters, http_body_format="single") as task,
    ):
        task.put([SinkRecord("t", 0, None, key, None, "a", 0), *records("b", first=1)])
        delivered(task, 2)
        assert [request.path for request in server.received] == ["/items/k1"]
        assert [record.key for record, _ in letters.reported] == [key]


def test_partitions_are_concurrent_and_each_is_in_order() -> None:
    lock, active, most = threading.Lock(), 0, 0
    seen: dict[str, list[int]] = {}

    def respond(request: Received) -> Answer:
        nonlocal active, most
        with lock:
            active += 1
            most = max(most, active)
            seen.setdefault(request.path, []).extend(request.json)
        time.sleep(0.01)
        with lock:
            active -= 1
        return OK

    with http_server(respond) as server:
        url = f"{server.url}/${{partition}}"
        with sink(url, **{"http.max.in.flight": "3", "http.batch.size": "5"}) as task:
            for start in range(0, 60, 20):
                task.put([r for p in range(4) for r in records(*range(start, start + 20), partition=p, first=start)])
            wait_until(lambda: all(committed(task, 60, p) == 60 for p in range(4)), 10, "all records")
    assert seen == {f"/{p}": list(range(60)) for p in range(4)}
    assert most == 3


def test_a_slow_endpoint_slows_the_task_down_and_a_stop_does_not_wait() -> None:
    release = threading.Event()

    def respond(request: Received) -> Answer:
        release.wait(20)
        return OK

    with http_server(respond) as server:
        with sink(server.url, **{"http.batch.size": "10", "http.max.in.flight": "1"}) as task:
            task.put(records(*range(1500)))
            with pytest.raises(RetriableError, match="has not accepted 1500 earlier records"):
                task.put(records(1, first=1500))
            started = time.monotonic()
            assert committed(task, 1500) == 0
            task.stop()
            assert time.monotonic() - started < 15, "less than the endpoint takes"
        release.set()


def test_a_revoked_partition_is_forgotten() -> None:
    with (
        http_server(lambda request: (503, {}, "")) as server,
        sink(server.url, **{"http.retry.backoff.ms": "60000"}) as task,
    ):
        task.put(records(1, 2))
        wait_until(lambda: bool(server.received), 30, "a request")
        started = time.monotonic()
        task.close([TopicPartition("t", 0)])
        assert time.monotonic() - started < 20, "a delay between repetitions ends"
        assert committed(task, 2) == 2, "the worker asks for partitions of the task only"


def test_retry_after() -> None:
    assert [seconds_of(text) for text in ("5", " 0 ", "2.5", "99999", "1.2.3", ".", None)] == [
        5.0, 0.0, 2.5, 3600.0, None, None, None
    ]  # fmt: skip
    assert seconds_of("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    later = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=60)
    assert 50 < (seconds_of(later.strftime("%a, %d %b %Y %H:%M:%S GMT")) or 0) <= 60


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [
        (403, {"retry-after": "7"}, 7.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1445412480"}, 0.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "99999999999"}, 3600.0),
        (403, {"ratelimit-remaining": "0", "ratelimit-reset": "30"}, 30.0),
        (403, {"x-ratelimit-remaining": "0"}, None),
        (429, {"x-ratelimit-reset": "30"}, 30.0),
        (429, {"retry-after": "7", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}, 7.0),
        (503, {"x-ratelimit-remaining": "12", "x-ratelimit-reset": "30"}, None),
    ],
)
def test_the_end_of_a_rate_limit(status: int, headers: Mapping[str, str], wait: float | None) -> None:
    with pytest.raises(TemporaryError) as raised:
        raise_for_status("GET /", status, headers, "")
    assert raised.value.retry_after == wait


@pytest.mark.parametrize(("status", "remaining"), [(403, "12"), (404, "0")])
def test_other_responses_of_an_api_with_rate_limits_are_refusals(status: int, remaining: str) -> None:
    with pytest.raises(RejectedError):
        raise_for_status("GET /", status, {"x-ratelimit-remaining": remaining, "x-ratelimit-reset": "30"}, "")


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({}, "http.url"),
        ({"http.url": "ftp://x/"}, "http.url"),
        ({"http.url": "https://user:pw@x/"}, "http.url"),
        ({"http.url": "https://${topic}.x/"}, "http.url"),
        ({"http.url": "https://x/${nope}"}, "http.url"),
        ({"http.url": "https://x/", "http.header.Authorization": "x"}, "http.url"),
        ({"http.url": "https://x/", "http.header.X": "a\nb"}, "http.url"),
        ({"http.url": "https://x/", "http.auth.type": "basic"}, "http.auth.password"),
        ({"http.url": "https://x/", "http.auth.type": "oauth2"}, "http.oauth2.token.url"),
        ({"http.url": "https://x/", "http.method": "GET"}, "http.method"),
        ({"http.url": "https://x/", "http.ssl.ca.file": "/nope"}, "http.ssl.ca.file"),
        ({"http.url": "https://x/", "http.batch.size": "0"}, "http.batch.size"),
    ],
)
def test_invalid_configurations(config: Mapping[str, str], key: str) -> None:
    assert key in {value.name for value in HttpSinkConnector().validate(config) if value.errors}
    with pytest.raises(ConfigError):
        HttpSinkConnector().start(config)


def test_keys_of_other_authentication_types_are_hidden() -> None:
    values = HttpSinkConnector().validate({"http.url": "https://x/", "http.auth.type": "bearer"})
    shown = {value.name for value in values if value.visible and value.name.startswith("http.auth.")}
    assert shown == {"http.auth.type", "http.auth.token"}
