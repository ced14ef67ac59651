"""Requests for the ids of topics."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from runtime.pipeline import topic_ids


class CountedRequests:
    """Counts the requests of an admin client."""

    def __init__(self) -> None:
        self.cluster, self.asked = "one", list[str]()

    @contextmanager
    def use(self) -> Iterator[Any]:
        yield self

    def describe_cluster(self, request_timeout: float) -> Future[Any]:
        self.asked.append("cluster")
        return responded(cluster_id=self.cluster)

    def describe_topics(self, topics: Any, request_timeout: float) -> dict[str, Future[Any]]:
        self.asked.append("topics")
        return {"t": responded(topic_id="a")}


def responded(**fields: str) -> Future[Any]:
    future = Future[Any]()
    future.set_result(SimpleNamespace(**fields))
    return future


def test_the_checks_of_running_tasks_do_not_request_the_id_of_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = CountedRequests()
    monkeypatch.setattr(topic_ids, "KeptAdmin", lambda settings: brokers)
    requests = topic_ids.TopicIdRequests()
    ask = requests.asker({"bootstrap.servers": "b:1"}, patient=True)
    assert ask(["t"]) == {"t": "one/a"}
    for _ in range(3):
        assert requests.ids({"bootstrap.servers": "b:1"}, ["t"]) == {"t": "one/a"}
    assert brokers.asked == ["cluster", *["topics"] * 4]
    brokers.cluster = "two"
    assert ask(["t"]) == {"t": "two/a"}, "an assignment has to know"
    assert requests.ids({"bootstrap.servers": "b:1"}, ["t"]) == {"t": "two/a"}
