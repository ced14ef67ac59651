"""HttpSource: the records of several parents are requested at the same time (`http.max.in.flight`)."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pytest

from runtime.api.data.record import SourceRecord
from runtime.connectors.http.source.task import HttpSourceTask
from tests.support.servers.http_endpoint import Answer, HttpTestServer, Received, http_server
from tests.support.tasks.http_source import ids, source, take
from tests.support.tasks.task_contexts import StoredOffsets
from tests.support.waiting import wait_until

PAGE, AT_ONCE = 2, 3
SINCE = {"http.cursor.pointer": "/id", "http.parameter.since": "${cursor}"}
OF = {"a": [1, 2, 3, 4, 5], "b": [6], "c": [], "d": [7, 8], "e": [9, 10, 11], "f": [12], "g": [13, 14]}
ALL = sorted(number for numbers in OF.values() for number in numbers)


class Customers:
    """Customers, all on one page, whose orders come in pages of two. Requests of some customers wait for an event."""

    def __init__(self, *names: str | None, slow: str = "") -> None:
        self.names: tuple[str | None, ...] = names or tuple(OF)
        self.slow, self.go_on = slow, threading.Event()

    def __call__(self, request: Received) -> Answer:
        if request.path == "/customers":
            return 200, {}, [{"name": name} for name in self.names]
        name = request.path[1:]
        if name == self.slow:
            assert self.go_on.wait(20)
        start, since = int(request.query.get("offset", "0")), int(request.query.get("since", "0"))
        if name not in OF:
            return 404, {}, "no such customer"
        return 200, {}, [{"id": number} for number in OF[name] if number > since][start : start + PAGE]


def config(server: HttpTestServer, **more: str) -> dict[str, str]:
    """Of orders, polled once."""
    return {
        "http.pagination": "offset", "http.parent.url": f"{server.url}/customers", "http.max.in.flight": str(AT_ONCE),
        "http.poll.interval.ms": "600000", **more,
    }  # fmt: skip


def url(server: HttpTestServer) -> str:
    return f"{server.url}/${{parent.name}}"


def by_customer(records: list[SourceRecord]) -> dict[str, list[Any]]:
    read = defaultdict(list)
    for record in records:
        read[(record.source_partition or {})["parent.name"]].append(record.value["id"])
    return read


def test_as_many_parents_as_configured_are_read_at_the_same_time() -> None:
    together = threading.Barrier(AT_ONCE)

    def respond(request: Received) -> Answer:
        if request.path == "/customers":
            return 200, {}, [{"name": name} for name in "abcdef"]
        together.wait(5)
        return 200, {}, [{"id": request.path[1:]}]

    with http_server(respond) as server:
        with source(url(server), **config(server, **{"http.pagination": "none"})) as task:
            assert sorted(ids(take(task, 6))) == list("abcdef")
        assert not together.broken


def test_the_records_of_each_parent_keep_their_order() -> None:
    with http_server(Customers()) as server, source(url(server), **config(server)) as task:
        assert by_customer(take(task, len(ALL))) == {name: numbers for name, numbers in OF.items() if numbers}


def test_parents_behind_a_slow_one_are_not_visited_before_it_is_done() -> None:
    """A restart would visit them again."""
    api = Customers(slow="a")
    with http_server(api) as server, source(url(server), **config(server)) as task:
        wait_until(lambda: (task.poll(), len(server.received))[1] >= 5, 10, "both pages of b, and c")
        for _ in range(2):
            assert not task.poll()
        assert {request.path for request in server.received} == {"/customers", "/a", "/b", "/c"}
        api.go_on.set()
        assert len(take(task, len(ALL) - 1)) == len(ALL) - 1


@pytest.mark.parametrize(("slow", "more"), [("a", {}), ("d", {}), ("a", SINCE)], ids=["a", "d", "cursor"])
def test_a_restart_reads_again_at_most_the_parents_that_were_open(slow: str, more: Mapping[str, str]) -> None:
    api, stored = Customers("a", "b", None, "c", "d", "x", "e", "f", "g", slow=slow), StoredOffsets()
    read: list[SourceRecord] = []
    history = [(0, list(stored.stored))]
    with http_server(api) as server:
        with source(url(server), stored, **config(server, **more)) as task:
            empty = 0
            while not _poll(task, read, stored):
                if history[-1] != (len(read), stored.stored):
                    history.append((len(read), list(stored.stored)))
                    empty = 0
                else:
                    empty += 1
                if empty == 3:  # only the slow parent is left to read
                    api.go_on.set()
        assert sorted(ids(read)) == ALL
        for count, offsets in history:
            rest: list[SourceRecord] = []
            with source(url(server), StoredOffsets(offsets), **config(server, **more)) as task:
                assert any(_poll(task, rest) for _ in range(1000)), "the poll has not ended"
            before, after = by_customer(read[:count]), by_customer(rest)
            again = {name for name in OF if {*before[name]} & {*after[name]}}
            assert len(again) <= (0 if more else AT_ONCE - 1), (before, after)
            assert all(after[name] == OF[name] for name in again)
            assert all(before[name] + after[name] == OF[name] for name in OF if name not in again)


def _poll(task: HttpSourceTask, read: list[SourceRecord], stored: StoredOffsets | None = None) -> bool:
    """Adds records; whether the task now waits for its interval to pass."""
    records = task.poll() or ()
    read += records
    if stored is not None:
        stored.commit(records)
    return task.idle_poll == 0.5


def test_parents_with_the_same_values_are_read_one_after_another() -> None:
    with http_server(Customers("a", "a", "b")) as server, source(url(server), **config(server, **SINCE)) as task:
        assert by_customer(take(task, 6)) == {"a": OF["a"], "b": OF["b"]}
        visited_again = "the second visit"
        wait_until(lambda: not task.poll() and any(r.query.get("since") for r in server.received), 10, visited_again)
        assert not task.poll()


def test_parents_without_records_are_skipped() -> None:
    api = Customers("a", "x", None, "b", "y", None, "d")
    with http_server(api) as server, source(url(server), **config(server)) as task:
        assert by_customer(take(task, 8)) == {name: OF[name] for name in "abd"}


def test_each_record_is_read_once_if_the_first_ones_are_a_sample() -> None:
    infer = {"http.value.schema": "infer", "http.value.schema.sample": "2"}
    with http_server(Customers()) as server, source(url(server), **config(server, **infer)) as task:
        assert by_customer(take(task, len(ALL))) == {name: numbers for name, numbers in OF.items() if numbers}


def test_no_request_is_sent_while_a_rate_limit_lasts(caplog: pytest.LogCaptureFixture) -> None:
    def respond(request: Received) -> Answer:
        if request.path == "/customers":
            return 200, {}, [{"name": "limited"}, {"name": "endless"}]
        if request.path == "/limited":
            return (429, {"Retry-After": "60"}, "") if "repeated" not in caplog.text else (200, {}, [{"id": "last"}])
        return 200, {}, [{"id": request.query["offset"]}]

    seconds = [0.0]
    with http_server(respond) as server:
        endless = {"http.pagination": "offset"}
        with source(url(server), None, HttpSourceTask(lambda: seconds[0]), **config(server, **endless)) as task:
            wait_until(lambda: (task.poll(), "repeated in 60" in caplog.text)[1], 10, "the rate limit")
            while task.poll():
                pass  # the response to the other request
            requests = len(server.received)
            for _ in range(20):
                assert not task.poll()
            assert len(server.received) == requests
            seconds[0] += 60
            wait_until(lambda: "last" in ids(list(task.poll() or ())), 10, "the records after the rate limit")
