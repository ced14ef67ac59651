"""The filter of the connector list."""

from __future__ import annotations

from typing import Any

from tests.unit.tui.screens.builders import connector
from tui.cluster.snapshot import Snapshot
from tui.metrics.progress import ConnectorProgress
from tui.model import Connector
from tui.screens.listing.filtering import FilterNote, complete, matcher, note_about
from tui.screens.listing.ordering import NO_FACTS, ListFacts


def test_all_terms_have_to_match() -> None:
    one = connector("orders-sink", tasks=("FAILED",))
    assert all(
        matcher(text)(one) for text in ("", "ORD", "state:fail", "type:sink class:file", "-state:run", "worker:w:80")
    )
    assert not any(matcher(text)(one) for text in ("x", "state:run", "-sink", "type:source orders"))


def passes(text: str, one: Connector, facts: ListFacts = NO_FACTS) -> bool:
    return matcher(text, facts)(one)


def test_configs_and_topics() -> None:
    config: dict[str, Any] = {
        "connection.url": "jdbc:postgresql://DB7/x",
        "tasks.max": "4",
        "connection.password": "s3cret",
    }
    one = connector("a", topics="orders,payments", **config)
    for text in ("config:connection.url~db7", "config:tasks.max=4", "config:tasks.max", "topic:payments", "-topic:x"):
        assert passes(text, one), text
    for text in ("config:connection.url~db8", "config:tasks.max=40", "config:nothing", "-config:tasks.max", "topic:x"):
        assert not passes(text, one), text
    assert passes("config:connection.password", one)
    assert not passes("config:connection.password~s3", one), "a filter must not reveal a secret"


def test_tasks_and_measures() -> None:
    one = connector("a", tasks=("RUNNING", "FAILED", "UNASSIGNED"))
    since = Snapshot(since={"a": 940.0})
    facts = ListFacts(since, {"a": ConnectorProgress(lag=1500)}, lambda name, now: 20.0, 1000.0)
    for text in ("task.state:unassigned", "tasks>2", "failed>0", "lag>1000", "lag>1.4k", "since<10m", "-since<30s"):
        assert passes(text, one, facts), text
    for text in ("task.state:paused", "tasks<3", "failed>1", "lag>2k", "-lag>1000", "since>2m", "rate<10"):
        assert not passes(text, one, facts), text


def test_an_unknown_measure_matches_neither_way_and_an_unfinished_one_always() -> None:
    one = connector("a")
    assert not passes("lag>10", one) and not passes("-lag>10", one)
    for text in ("lag>", "-lag>", "since<1x", "-since<1x"):
        assert passes(text, one), text


def _shows(some: list[Connector], kind: str, beginnings: dict[str, str]) -> None:
    """Each filter is followed by a note of this kind with this beginning."""
    for text, beginning in beginnings.items():
        note = note_about(text, some)
        assert note.kind == kind and note.text.startswith(beginning), text


def test_terms_that_are_not_understood_are_named() -> None:
    some = [connector("a:b", topics="orders")]
    for text in ("", "a", "state:fail -type:source", "lag>1k -since<10m", "config:topics~y", "a:b", "-A:B", "topic:o"):
        assert note_about(text, some) == FilterNote(), text
    _shows(some, "bad", {
        "a lag>5x": "lag>5x: expected for example lag<1.5k or lag>1.5k",
        "-lag>": "-lag>: expected for example lag<",
        "tasks=3": "tasks=3: expected for example tasks<2 or tasks>2",
        "lag > 5": ">: expected a measure without blanks",
        "foo>5": "foo>5: foo is not a measure; choose from lag, rate, since, tasks, failed",
        "stat:failed": "stat:failed: stat is not a field (did you mean state?); choose from state,",
        "-state:Runing": "-state:Runing: runing is not a state (did you mean running?); choose from failed,",
        "task.state:x": "task.state:x: x is not a task state; choose from failed,",
        "type:": "type: expected a value: source, sink",
    })  # fmt: skip


def test_values_that_no_connector_has_are_no_error() -> None:
    some = [connector("a", topics="orders")]
    _shows(some, "info", {
        "class:FilStreamSnk": "class:FilStreamSnk: no connector has the class filstreamsnk (did you mean file",
        "topic:ordres": "topic:ordres: no connector has the topic ordres (did you mean orders?)",
        "config:topcs~x": "config:topcs~x: no connector has the key topcs (did you mean topics?)",
        "-topic:y worker:w2": "worker:w2: no connector has the worker w2",
    })  # fmt: skip
    assert note_about("topic:ordres lag>5x", some).kind == "bad", "an error comes first"
    assert note_about("-topic:y -config:z -class:x", some) == FilterNote(), "a negated term asks for this"
    assert note_about("class:x topic:y config:z", []) == FilterNote(), "nothing is known before the first response"


def test_completion_offers_fields_measures_and_keys() -> None:
    some = [connector("a")._replace(config={"connection.url": "x", "connector.class": "y"})]
    assert complete("si", some) == ["since<"]
    assert complete("-task", some) == ["-task.state:", "-tasks>"]
    assert complete("a config:conn", some) == ["a config:connection.url~", "a config:connector.class~"]
    assert complete("task.state:", some) == ["task.state:running"]
