"""HttpSource against a real HTTP server."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest

from runtime.api.connector import ExactlyOnceSupport
from runtime.api.data.record import ErrantSourceRecord
from runtime.api.errors import ConfigError, ConnectError
from runtime.connectors.http.source.connector import HttpSourceConnector
from tests.support.servers.http_endpoint import Answer, Received, http_server
from tests.support.tasks.http_source import COMMON, ids, source, take
from tests.support.tasks.task_contexts import StoredOffsets
from tests.support.waiting import wait_until

CURSOR = {"http.cursor.pointer": "/id", "http.parameter.since": "${cursor}"}


def item(n: int) -> dict[str, Any]:
    return {"id": n, "name": f"item {n}"}


class Catalog:
    """An API with records 1 to `count`, in pages of `size`, in the style of a kind of pagination."""

    def __init__(self, kind: str, count: int = 7, size: int = 3) -> None:
        self.kind, self.count, self.size = kind, count, size

    def __call__(self, request: Received) -> Answer:
        since = int(request.query.get("since", "0"))
        found = [item(n) for n in range(since + 1, self.count + 1)]
        given = request.query.get({"page": "page", "offset": "offset"}.get(self.kind, "at"), "0")
        start = (int(given) - 1) * self.size if self.kind == "page" else int(given)
        rows, more = found[start : start + self.size], start + self.size < len(found)
        query = f"at={start + self.size}" + (f"&since={since}" if since else "")
        if self.kind == "link":
            return 200, {"Link": f'<?{query}>; rel="next"'} if more else {}, rows
        following = {"next-url": f"/items?{query}", "token": str(start + self.size)}.get(self.kind)
        return 200, {}, {"data": {"rows": rows}, "next": following if more else None}


def paged(kind: str) -> dict[str, str]:
    config = {"http.pagination": kind, "http.records.pointer": "" if kind == "link" else "/data/rows"}
    if kind in ("next-url", "token"):
        config["http.pagination.next.pointer"] = "/next"
    return config | ({"http.pagination.parameter": "at"} if kind == "token" else {})


@pytest.mark.parametrize("kind", ["link", "next-url", "token", "page", "offset"])
def test_pages_are_followed_and_the_next_poll_begins_at_the_cursor(kind: str) -> None:
    api = Catalog(kind)
    with http_server(api) as server, source(f"{server.url}/items", **paged(kind), **CURSOR) as task:
        assert ids(take(task, 7)) == [1, 2, 3, 4, 5, 6, 7]
        api.count = 9
        assert ids(take(task, 2)) == [8, 9]
        api.count = 10
        (last,) = take(task, 1)
        assert last.value == item(10)
        assert "since" not in server.received[0].query
        wait_until(lambda: not task.poll() and server.received[-1].query.get("since") == "10", 10, "the next poll")


@pytest.mark.parametrize("kind", ["link", "next-url", "token", "page", "offset"])
def test_every_offset_resumes_with_the_next_record(kind: str) -> None:
    with http_server(Catalog(kind)) as server:
        url = f"{server.url}/items"
        with source(url, **paged(kind), **CURSOR) as task:
            records = take(task, 7)
        assert all(record.source_partition == {"url": url} for record in records)
        connector = HttpSourceConnector()
        for n, record in enumerate(records[:-1], 1):
            stored = StoredOffsets()
            stored.commit([record])
            with source(url, stored, **paged(kind), **CURSOR) as task:
                assert ids(take(task, 7 - n)) == list(range(n + 1, 8))
            config = {"http.url": url, **COMMON, **paged(kind), **CURSOR}
            assert connector.alter_offsets(config, [(record.source_partition, record.source_offset)])


def test_nothing_is_read_again_after_the_last_record() -> None:
    api = Catalog("page")
    with http_server(api) as server:
        with source(server.url, **paged("page"), **CURSOR) as task:
            stored = StoredOffsets()
            stored.commit(take(task, 7)[-1:])
        api.count = 8
        with source(server.url, stored, **paged("page"), **CURSOR) as task:
            assert ids(take(task, 1)) == [8]


def test_keys_and_large_pages() -> None:
    rows = [item(n) for n in range(5000)]
    config = {"http.key.pointer": "/name", "http.poll.interval.ms": "60000"}
    with http_server(lambda request: (200, {}, rows)) as server, source(server.url, **config) as task:
        records = take(task, 5000)
        assert ids(records) == list(range(5000))
        assert records[7].key == "item 7"
        assert records[2500].source_offset == {"records": 2501}
        assert not task.poll(), "the interval has not passed"


def test_an_unchanged_answer_is_not_read_again() -> None:
    def respond(request: Received) -> Answer:
        if request.headers.get("if-none-match") == '"v1"' and request.headers.get("if-modified-since") == "yesterday":
            return 304, {}, ""
        return 200, {"ETag": '"v1"', "Last-Modified": "yesterday"}, [item(1)]

    with http_server(respond) as server, source(server.url) as task:
        assert ids(take(task, 1)) == [1]
        until = time.monotonic() + 10
        while len(server.received) < 4 and time.monotonic() < until:
            assert not task.poll()
        assert len(server.received) >= 4


@pytest.mark.parametrize(
    ("status", "headers", "final"),
    [
        (503, {"Retry-After": "1"}, 404),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}, 403),  # as GitHub reports its limits
        (403, {"Retry-After": "1"}, 403),
    ],
)
def test_temporary_failures_and_rate_limits_are_waited_for_and_others_fail_the_task(
    status: int, headers: Mapping[str, str], final: int
) -> None:
    answers: list[Answer] = [(status, headers, "later"), (200, {}, [item(1)]), (final, {}, "never")]
    with (
        http_server(lambda request: answers[min(len(server.received), 3) - 1]) as server,
        source(server.url) as task,
    ):
        started_at = time.monotonic()
        assert ids(take(task, 1)) == [1]
        assert time.monotonic() - started_at >= 0.95
        with pytest.raises(ConnectError, match=f"status {final}: never"):
            take(task, 1)


GRAPHQL = {
    "http.body": '{"query": "query { items }", "variables": {"after": "${page}", "since": "${cursor}"}}',
    "http.records.pointer": "/data/items",
    "http.pagination": "token",
    "http.pagination.next.pointer": "/data/end",
    "http.cursor.pointer": "/id",
}


def test_pages_of_graphql_are_requested_by_variables() -> None:
    def respond(request: Received) -> Answer:
        variables = request.json["variables"]
        if variables["since"] is not None:
            return 200, {}, {"errors": [{"message": "limit"}], "data": None}
        first = variables["after"] is None
        return 200, {}, {"data": {"items": [item(1 if first else 2)], "end": "b" if first else None}}

    with http_server(respond) as server, source(server.url, **GRAPHQL) as task:
        assert ids(take(task, 2)) == [1, 2]
        with pytest.raises(ConnectError, match=r"The response has errors: .*limit"):
            take(task, 1)
        assert {(request.method, request.headers["content-type"]) for request in server.received} == {
            ("POST", "application/json")
        }
        assert [request.json["variables"] for request in server.received[:3]] == [
            {"after": None, "since": None}, {"after": "b", "since": None}, {"after": None, "since": 2},
        ]  # fmt: skip
        assert not any(request.query for request in server.received)


@pytest.mark.parametrize(
    "error", [{"type": "RATE_LIMITED", "message": "x"}, {"message": "x", "extensions": {"code": "THROTTLED"}}]
)
def test_a_rate_limit_of_graphql_is_waited_for(error: dict[str, Any]) -> None:
    def respond(request: Received) -> Answer:
        if len(server.received) == 1:
            return 200, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}, {"errors": [error]}
        return 200, {}, {"data": {"items": [item(1)], "end": None}}

    with http_server(respond) as server, source(server.url, **GRAPHQL) as task:
        started_at = time.monotonic()
        assert ids(take(task, 1)) == [1]
        assert time.monotonic() - started_at >= 0.95


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"http.body": "{"}, "not valid JSON"),
        ({"http.body": '{"a": "${other}"}'}, "${other} is unknown"),
        ({"http.body": '{"a": "${page.size}"}'}, "${page.size} is unknown"),
        ({"http.body": '{"a": "${page}"}'}, "needs http.pagination=token, page, offset"),
        ({"http.body": '{"a": "${cursor}"}'}, "http.cursor.pointer is required"),
    ],
)
def test_invalid_bodies(config: Mapping[str, str], message: str) -> None:
    values = HttpSourceConnector().validate({"http.url": "http://localhost", "topic": "t", **config})
    assert message in " ".join(error for value in values for error in value.errors)


def test_a_poll_without_news_resumes_on_the_same_page() -> None:
    """As connections of Relay, whose last cursor is null on a page without records."""
    rows = [item(1)]

    def respond(request: Received) -> Answer:
        found = rows[int(request.query.get("token", "0")) :]
        return 200, {}, {"rows": found, "end": str(len(rows)) if found else None, "more": False}

    config = {
        "http.pagination": "token", "http.records.pointer": "/rows", "http.pagination.next.pointer": "/end",
        "http.pagination.more.pointer": "/more", "http.pagination.resume.pointer": "/end",
    }  # fmt: skip
    with http_server(respond) as server, source(server.url, **config) as task:
        assert ids(take(task, 1)) == [1]
        wait_until(lambda: not task.poll() and len(server.received) > 3, 10, "polls without records")
        rows.append(item(2))
        assert ids(take(task, 1)) == [2]


@pytest.mark.parametrize(
    ("answer", "config", "message"),
    [
        ("{", {"http.retries": "1"}, r"not valid JSON: .* \(2 attempts\)"),
        ('[{"id": NaN}]', {"http.retries": "0"}, "not valid JSON: NaN"),
        ("[" * 100_000, {"http.retries": "0"}, "not valid JSON: maximum recursion depth"),
        ({"items": []}, {"http.records.pointer": "/rows"}, "no value at /rows"),
        ([{"id": {}}], CURSOR, "http.cursor.pointer does not point to a text or number"),
        (
            {"next": "a"},
            {"http.pagination": "token", "http.pagination.next.pointer": "/next"},
            "names a page as the next one that was read before: a",
        ),
    ],
)
def test_unexpected_answers_fail_the_task(answer: Any, config: Mapping[str, str], message: str) -> None:
    with (
        http_server(lambda request: (200, {}, answer)) as server,
        source(server.url, **config) as task,
        pytest.raises(ConnectError, match=message),
    ):
        take(task, 10)


def test_credentials_go_to_the_configured_host_only_and_never_into_offsets() -> None:
    key = {"http.auth.type": "api-key", "http.auth.api.key": "s3cret", "http.auth.api.key.in": "query",
           "http.auth.api.key.name": "key"}  # fmt: skip
    with http_server(lambda request: (200, {}, {"rows": [item(2)]})) as other:

        def respond(request: Received) -> Answer:
            assert request.query["key"] == "s3cret"
            following = f"{other.url}/b" if request.path == "/a" else "/a?key=s3cret&x=1"
            return 200, {}, {"rows": [item(1)], "next": following}

        with http_server(respond) as server:
            config = {"http.pagination": "next-url", "http.pagination.next.pointer": "/next"}
            with source(f"{server.url}/first", **config, **key, **{"http.records.pointer": "/rows"}) as task:
                records = take(task, 3)
        assert ids(records) == [1, 1, 2]
        assert records[0].source_offset == {"page": f"{server.url}/a?x=1"}
        assert "key" not in other.received[0].query


@pytest.mark.parametrize("kind", ["link", "next-url"])
@pytest.mark.parametrize("url", ["http://host:99999/x?token=S3cret", "http://me:S3cret@[::1/x", "http://host:port/"])
def test_an_invalid_url_in_a_response_is_named(url: str, kind: str) -> None:
    answer: Answer = 200, {}, {"data": {"rows": [item(1)]}, "next": url}
    if kind == "link":
        answer = 200, {"Link": f'<{url}>; rel="next"'}, [item(1)]
    with (
        http_server(lambda request: answer) as server,
        source(server.url, **paged(kind)) as task,
        pytest.raises(ConnectError, match=r"The next page .* is not a valid URL: ") as raised,
    ):
        take(task, 1)
    assert "S3cret" not in str(raised.value)


def test_an_unreachable_target_of_a_redirect_is_named() -> None:
    moved: Answer = (302, {"Location": "http://127.0.0.1:1/moved?token=S3cret"}, "")
    with (
        http_server(lambda request: moved) as server,
        source(f"{server.url}/items", **{"http.retries": "0"}) as task,
        pytest.raises(ConnectError, match=r"/items, redirected to http://127\.0\.0\.1:1/moved, failed: .*refused"),
    ):
        take(task, 1)
    out_of_range: Answer = (302, {"Location": "http://host:99999/"}, "")
    with (
        http_server(lambda request: out_of_range) as server,
        source(f"{server.url}/items") as task,
        pytest.raises(
            ConnectError, match=r"The Location of the response to GET .*/items is not a valid URL: http://host"
        ),
    ):
        take(task, 1)


def test_a_redirect_to_another_host_has_no_credentials() -> None:
    key = {"http.auth.type": "api-key", "http.auth.api.key": "s3cret", "http.auth.api.key.in": "query",
           "http.auth.api.key.name": "key"}  # fmt: skip
    with http_server(lambda request: (200, {}, [item(1)])) as other:

        def respond(request: Received) -> Answer:
            return 302, {"Location": f"{other.url}/moved?key={request.query['key']}&x=1"}, b""

        with http_server(respond) as server, source(server.url, **key) as task:
            assert ids(take(task, 1)) == [1]
    assert other.received[0].query == {"x": "1"}


def test_whole_numbers_are_exact_whatever_their_size() -> None:
    body = b'\xef\xbb\xbf[{"id": 18446744073709551617}, {"id": 18446744073709551618, "d": 0.5}]'
    config = {"http.key.pointer": "/id"}
    with http_server(lambda request: (200, {}, body)) as server, source(server.url, **config) as task:
        records = take(task, 2)[:2]
    assert ids(records) == [2**64 + 1, 2**64 + 2]
    assert [record.key for record in records] == ["18446744073709551617", "18446744073709551618"]


def test_a_record_whose_key_is_an_object_is_errant_alone() -> None:
    config = {"http.key.pointer": "/id"}
    answer: Answer = (200, {}, [{"id": 1}, {"id": {"n": 2}}, {"id": 3}])
    with http_server(lambda request: answer) as server, source(server.url, **config) as task:
        first, errant, last = take(task, 3)[:3]
    assert (first.key, last.key) == ("1", "3")
    assert isinstance(errant, ErrantSourceRecord) and errant.source_offset == {"records": 2}
    assert (str(errant.error)[:42], errant.value) == ("http.key.pointer does not point to a text ", b'{"id":{"n":2}}')


def test_a_text_with_half_an_emoji_is_read_as_it_is() -> None:
    """As of an API that cuts texts after a number of UTF-16 units. orjson refuses it."""
    body = b'[{"text": "\\ud83d"}, {"text": "\\ud83d\\ude00"}]'
    with http_server(lambda request: (200, {}, body)) as server, source(server.url) as task:
        assert [record.value["text"] for record in take(task, 2)[:2]] == ["\ud83d", "\U0001f600"]


def test_a_response_that_is_cut_off_is_requested_again() -> None:
    answers = iter([b'[{"id": 1}, {"id"'])
    with http_server(lambda request: (200, {}, next(answers, b'[{"id": 1}]'))) as server, source(server.url) as task:
        assert ids(take(task, 1)) == [1]
    assert len(server.received) >= 2


def test_the_end_may_be_a_text() -> None:
    def respond(request: Received) -> Answer:
        page = int(request.query["page"])
        return 200, {}, {"rows": [item(page)], "end": "false" if page < 3 else "true"}

    config = {
        "http.records.pointer": "/rows", "http.pagination": "page", "http.pagination.end.pointer": "/end",
        "http.poll.interval.ms": "100000", "http.pagination.size": "1",
    }  # fmt: skip
    with http_server(respond) as server, source(server.url, **config) as task:
        assert ids(take(task, 3)) == [1, 2, 3]


def test_pages_that_lead_back_fail_the_task() -> None:
    def respond(request: Received) -> Answer:
        following = {"a": "b", "b": "c", "c": "a"}[request.query.get("token", "a")]
        return 200, {}, {"rows": [item(1)], "next": following}

    config = {
        "http.records.pointer": "/rows", "http.pagination": "token", "http.pagination.next.pointer": "/next",
    }  # fmt: skip
    with (
        http_server(respond) as server,
        source(server.url, **config) as task,
        pytest.raises(ConnectError, match="names a page as the next one that was read before: "),
    ):
        take(task, 100)
    assert len(server.received) < 12


def test_a_slow_answer_does_not_delay_a_stop() -> None:
    release = threading.Event()

    def respond(request: Received) -> Answer:
        release.wait(20)
        return 200, {}, []

    with http_server(respond) as server:
        begin = time.monotonic()
        with source(server.url) as task:
            assert not task.poll()
        assert time.monotonic() - begin < 15, "less than the answer takes"
        release.set()


@pytest.mark.parametrize(
    "offset",
    [
        {"position": 1},
        {"cursor": []},
        {"cursor": 5, "page": "x"},
        {"page": -1},
        {"records": -1},
        {"records": "1"},
        {},
    ],
)
def test_altered_offsets_are_checked(offset: Mapping[str, Any]) -> None:
    connector = HttpSourceConnector()
    config = {"http.url": "https://x/a?b=1", **COMMON, **paged("page"), **CURSOR}
    partition = {"url": "https://x/a"}
    assert connector.alter_offsets(config, [(partition, {"cursor": "2026", "page": 2}), ({"url": "https://old"}, None)])
    assert connector.exactly_once_support(config) is ExactlyOnceSupport.UNSUPPORTED
    with pytest.raises(ConnectError):
        connector.alter_offsets(config, [(partition, offset)])
    with pytest.raises(ConnectError):
        connector.alter_offsets(config, [({"url": "https://y"}, {"cursor": 1})])
    without_cursor = {key: value for key, value in config.items() if key not in CURSOR}
    with pytest.raises(ConnectError, match=r"needs http\.cursor\.pointer"):
        connector.alter_offsets(without_cursor, [(partition, {"cursor": 1})])


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"http.pagination": "next-url"}, "http.pagination.next.pointer"),
        ({"http.pagination": "nope"}, "http.pagination"),
        ({"http.records.pointer": "data"}, "http.records.pointer"),
        ({"http.cursor.pointer": "/id"}, "http.cursor.pointer"),
        ({"http.parameter.since": "${cursor}"}, "http.cursor.pointer"),
        ({"http.parameter.since": "${nope}"}, "http.url"),
        ({"http.url": "https://x/${cursor}", "http.cursor.pointer": "/id"}, "http.cursor.initial"),
        ({"http.pagination.size.parameter": "limit"}, "http.pagination.size"),
        ({"http.key.pointer": "/a/id, /b/id"}, "http.key.pointer"),
        ({"http.pagination.resume.pointer": "/next"}, "http.pagination.resume.pointer"),
        ({**paged("token"), **CURSOR, "http.pagination.resume.pointer": "/next"}, "http.pagination.resume.pointer"),
        ({"topic": ""}, "topic"),
    ],
)
def test_invalid_configurations(config: Mapping[str, str], key: str) -> None:
    whole = {"http.url": "https://x/", "topic": "t", **config}
    assert key in {value.name for value in HttpSourceConnector().validate(whole) if value.errors}
    with pytest.raises(ConfigError):
        HttpSourceConnector().start(whole)
