"""An administrator's pattern that needs exponential time is applied to names of topics, tables and files."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from runtime.api.errors import ConfigError
from runtime.connectors.files.source.listing import path_matcher
from runtime.connectors.jdbc.tables import TableFilter, TableId, like
from runtime.transforms.predicates.conditions import TopicNameMatches
from runtime.transforms.routers import RegexRouter
from tests.support.broker import unique
from tests.support.connect import SOURCE, Connect
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

PATTERN, NAME = "(a|a)+b", "a" * 60
SECONDS = 5.0
"""Processor time of one attempt, ten times the limit. Without a limit it is years."""


def _router() -> object:
    router = RegexRouter()
    router.configure({"regex": PATTERN, "replacement": "b"})
    return router.apply(cast("Any", SimpleNamespace(topic=NAME)))


def _predicate() -> object:
    predicate = TopicNameMatches()
    predicate.configure({"pattern": PATTERN})
    return predicate.test(cast("Any", SimpleNamespace(topic=NAME)))


def _tables() -> object:
    return TableFilter(include=(PATTERN,)).selected([TableId(None, NAME)])


@pytest.mark.parametrize("attempt", [_router, _predicate, _tables])
def test_a_pattern_of_exponential_time_is_an_error_that_names_it(attempt: Callable[[], object]) -> None:
    started = time.thread_time()
    with pytest.raises(ConfigError, match=r"pattern .*b takes too long for aaaa"):
        attempt()
    assert time.thread_time() - started < SECONDS


def test_a_pattern_takes_its_time_once_for_each_topic_not_for_each_record() -> None:
    predicate = TopicNameMatches()
    predicate.configure({"pattern": PATTERN})
    record = cast("Any", SimpleNamespace(topic=NAME))
    with pytest.raises(ConfigError):
        predicate.test(record)
    started = time.thread_time()
    for _ in range(100):
        with pytest.raises(ConfigError, match="takes too long"):
            predicate.test(record)
    assert time.thread_time() - started < SECONDS / 10


def test_a_pattern_of_jdbcs_metadata_needs_linear_time() -> None:
    assert not like(20 * "%a" + "%b", 4 * NAME)
    assert like("%[s]_*?%", "a[s]x*?b\n") and not like("[s]", "s") and not like("*", "ab")


def test_a_pattern_of_file_names_needs_no_exponential_time() -> None:
    started = time.thread_time()
    assert not path_matcher(cast("Any", SimpleNamespace(pattern=8 * "*a" + "*b", format="lines")))(4 * NAME + "bc")
    assert time.thread_time() - started < SECONDS


@pytest.mark.slow
def test_a_pattern_in_a_slot_fails_its_task_and_no_other(our_connect: WorkerProcess, tmp_path: Path) -> None:
    connect, name = Connect(our_connect), unique("pattern")
    (tmp_path / "in").write_text("1\n")
    config = {
        "connector.class": SOURCE, "file": str(tmp_path / "in"), "topic": NAME, "tasks.max": "1", "transforms": "route",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": PATTERN, "transforms.route.replacement": "b",
    }  # fmt: skip
    connect.source(f"{name}-other", str(tmp_path / "in"), unique("neighbour"))
    connect.create(name, config)
    connect.wait(name, "RUNNING", ["FAILED"])
    assert PATTERN in connect.status(name)["tasks"][0]["trace"]
    assert connect.states(f"{name}-other") == ("RUNNING", ["RUNNING"])
    for each in (name, f"{name}-other"):
        connect.ask("DELETE", f"/connectors/{each}")
    wait_until(lambda: connect.states(name)[0] == "NONE", what="the connectors are deleted")
