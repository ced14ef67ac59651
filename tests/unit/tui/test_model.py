"""The model: overall states, verdicts, order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.unit.tui.scripted import expanded, status
from tui import model
from tui.model import Certainty
from tui.offsets import partitions


@pytest.mark.parametrize(
    ("state", "tasks", "overall", "text"),
    [
        ("RUNNING", ["RUNNING", "RUNNING"], "RUNNING", "2/2"),
        ("RUNNING", ["RUNNING", "FAILED"], "FAILED", "1/2, 1 failed"),
        ("PAUSED", ["FAILED"], "FAILED", "0/1, 1 failed"),
        ("RUNNING", ["RUNNING", "UNASSIGNED"], "UNASSIGNED", "1/2"),
        ("RUNNING", ["RESTARTING"], "RESTARTING", "0/1"),
        ("RUNNING", [], "RUNNING", "0/0"),
        ("FAILED", [], "FAILED", "0/0"),
        ("STOPPED", [], "STOPPED", "0/0"),
    ],
)
def test_overall_state(state: str, tasks: Sequence[str], overall: str, text: str) -> None:
    one = model.connector("a", status("a", state, tasks))
    assert (one.overall, one.tasks_text) == (overall, text)


@pytest.mark.parametrize(
    ("wanted", "state", "tasks", "arrived"),
    [
        ("RUNNING", "RUNNING", ["RUNNING"], True),
        ("RUNNING", "RUNNING", [], False),
        ("RUNNING", "RUNNING", ["RUNNING", "UNASSIGNED"], False),
        ("STOPPED", "STOPPED", [], True),
        ("STOPPED", "STOPPED", ["RUNNING"], False),
        ("PAUSED", "PAUSED", ["PAUSED"], True),
        ("PAUSED", "PAUSED", [], True),
        ("PAUSED", "PAUSED", ["RUNNING"], False),
        ("FAILED", "RUNNING", ["RUNNING", "FAILED"], True),
    ],
)
def test_connectors_in_a_state(wanted: str, state: str, tasks: Sequence[str], arrived: bool) -> None:
    assert model.connector("a", status("a", state, tasks)).is_in(wanted) is arrived


def test_tasks_without_a_status_count() -> None:
    """The statuses of new tasks follow their configs one by one."""
    tasks = [{"connector": "a", "task": n} for n in range(3)]
    seen = model.connector("a", status("a", tasks=["RUNNING", "RUNNING"]), {"tasks": tasks})
    assert (seen.tasks_text, seen.is_in("RUNNING")) == ("2/3", False)
    seen = model.connector("a", status("a", tasks=["RUNNING"] * 3), {"tasks": tasks})
    assert seen.is_in("RUNNING")


def test_failures_sort_first_then_names() -> None:
    answer = expanded(
        status("b"), status("a"), status("s", "STOPPED", []), status("z", tasks=["FAILED"]), status("u", "UNASSIGNED")
    )
    assert [one.name for one in model.by_severity(model.connectors(answer).values())] == ["z", "u", "a", "b", "s"]


def test_a_connector_without_any_status_yet() -> None:
    one = model.connectors({"a": {}})["a"]
    assert (one.state, one.type, one.tasks, one.cls) == ("UNKNOWN", "unknown", (), "")


def test_the_old_trace_of_a_restarting_task_is_ignored() -> None:
    body = status("a", tasks=["RESTARTING", "FAILED"])
    body["tasks"][0]["trace"] = "old"
    body["tasks"][1]["trace"] = "new\n\tat x"
    assert model.connector("a", body).traces == "task 1:\nnew\n\tat x"


def test_sink_offsets_sort_by_number() -> None:
    entries = [{"partition": {"kafka_topic": "t", "kafka_partition": n}, "offset": {}} for n in (10, 9, 2)]
    assert [entry.partition["kafka_partition"] for entry in model.offsets({"offsets": entries})] == [2, 9, 10]


POSSIBLE = (
    "The Connect framework-managed offsets for this connector have been altered successfully. However, if this "
    "connector manages offsets externally, they will need to be manually altered in the system that the connector uses."
)


@pytest.mark.parametrize(
    ("message", "certainty"),
    [
        ("The offsets for this connector have been altered successfully", Certainty.DEFINITE),
        ("The offsets for this connector have been reset successfully", Certainty.DEFINITE),
        (POSSIBLE, Certainty.POSSIBLE),
        ("something new", Certainty.POSSIBLE),
    ],
)
def test_a_verdict_keeps_the_server_message(message: str, certainty: Certainty) -> None:
    verdict = model.verdict({"message": message})
    assert (verdict.message, verdict.certainty) == (message, certainty)
    assert bool(partitions.by_hand(verdict)) is (certainty is Certainty.POSSIBLE)
