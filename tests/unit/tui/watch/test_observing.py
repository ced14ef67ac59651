"""Connectors of workers that do not report lag: it is read from the brokers, which may refuse it."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

import pytest

from tests.support.console.command_context import run_command
from tests.support.console.console_transports import InMemory
from tests.unit.tui.scripted import expanded, status
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.commands.result import Result
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError, NotFound, Unreachable

REFUSED = "the brokers kafka:9092: Broker: Group authorization failed"


class ApacheWorker(InMemory):
    """Answers the list of connectors; has no events."""

    def __init__(self, *statuses: Any) -> None:
        self._answer = expanded(*statuses)

    async def send(self, call: ApiCall) -> Any:
        return self._answer

    async def lines(self, path: str, last_id: str, lasting: float | None = None) -> AsyncGenerator[str, None]:
        if path:
            raise NotFound("HTTP 404 Not Found", 404)
        yield ""


class AnsweringBrokers:
    """Brokers that answer for each group with its committed offset in the partition 0 of t, which holds the records 2
    to 8, with None if it has committed nothing, or with an error."""

    def __init__(self, answers: dict[str, int | HeadraceError | None]) -> None:
        self._answers = answers

    def committed(self, groups: Iterable[str]) -> dict[str, Any]:
        found = {group: self._answers[group.removeprefix("connect-")] for group in groups}
        return {
            group: one if isinstance(one, HeadraceError) else {("t", 0): one} if one is not None else {}
            for group, one in found.items()
        }

    def partitions(self, wanted: Callable[[str], bool]) -> list[tuple[str, int]]:
        return [at for at in [("t", 0), ("other", 0)] if wanted(at[0])]

    def beginnings_or_errors(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return dict.fromkeys(places, 2)

    def ends_or_errors(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return dict.fromkeys(places, 9)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, int | HeadraceError | None]:
    """What the brokers answer for each connector."""
    found: dict[str, int | HeadraceError | None] = {}
    monkeypatch.setattr("tui.offsets.brokers.Brokers", lambda servers, client: AnsweringBrokers(found))
    monkeypatch.setattr("tui.offsets.group_lag.topic_filter", lambda config: "t".__eq__)
    return found


def run(line: str, *statuses: Any) -> tuple[Result, list[str]]:
    """The result of a command, and its messages to the user."""
    reported: list[str] = []
    profile = Profile("http://memory:8083", "memory", bootstrap="kafka:9092")
    connect, clock = Connect(ApacheWorker(*statuses)), itertools.count().__next__
    return run_command(line, connect, profile, report=reported.append, clock=clock), reported


def test_check_reports_why_the_lag_is_unknown_and_verifies_the_other_conditions(
    answers: dict[str, int | HeadraceError | None],
) -> None:
    answers |= {"a": HeadraceError(REFUSED), "b": HeadraceError(REFUSED)}
    sinks = [status(name, kind="sink") for name in "ab"]
    result, _ = run("check -c 'lag > 5'", *sinks)
    assert (result.exit_code, result.text) == (
        3, f"HEADRACE UNKNOWN - lag of 2 connectors is unknown: {REFUSED} | connectors=2 critical=0 warning=0"
    )  # fmt: skip
    result, _ = run("check -c failed -c 'lag > 5'", *sinks, status("c", tasks=("FAILED",)))
    assert result.exit_code == 2
    assert f"UNKNOWN: lag of 2 connectors is unknown: {REFUSED}" in result.text
    answers["a"] = 2
    result, _ = run("check -c 'lag > 5'", *sinks)
    assert result.exit_code == 2
    assert result.text.startswith(f"HEADRACE CRITICAL - a lag 7 > 5; lag of b is unknown: {REFUSED} |")


def test_watch_says_once_why_the_lag_is_unknown(answers: dict[str, int | HeadraceError | None]) -> None:
    answers |= {"a": 9, "b": HeadraceError(REFUSED), "c": HeadraceError(REFUSED)}
    _, reported = run("watch -c 'lag > 5' --every 1s --for 4s", *(status(name, kind="sink") for name in "abc"))
    assert reported[1:] == [f"lag of 2 connectors is unknown: {REFUSED}"]


def test_brokers_that_do_not_answer_are_an_error(answers: dict[str, int | HeadraceError | None]) -> None:
    answers |= {"a": Unreachable("the brokers kafka:9092: no response within 20 s")}
    result, _ = run("check -c 'lag > 5'", status("a", kind="sink"))
    assert result.exit_code == 3
    assert "no response within 20 s" in result.text


def test_a_sink_that_has_committed_nothing_lags_by_the_records_of_its_topics(
    answers: dict[str, int | HeadraceError | None],
) -> None:
    answers |= {"a": None}
    for task in ("RUNNING", "FAILED", "UNASSIGNED"):
        result, _ = run("check -c 'lag > 5'", status("a", kind="sink", tasks=(task,)))
        assert result.text.startswith("HEADRACE CRITICAL - a lag 7 > 5 |"), task
    assert run("check -c 'lag > 7'", status("a", kind="sink"))[0].exit_code == 0


def test_an_unknown_lag_is_ok_only_for_a_sink_that_is_not_meant_to_run(
    answers: dict[str, int | HeadraceError | None],
) -> None:
    answers |= {"a": HeadraceError(REFUSED)}
    for state, task, code in (
        ("RUNNING", "FAILED", 3), ("FAILED", "FAILED", 3), ("RUNNING", "UNASSIGNED", 3),
        ("PAUSED", "PAUSED", 0), ("STOPPED", "", 0),
    ):  # fmt: skip
        sink = status("a", state, tasks=(task,) if task else (), kind="sink")
        assert run("check -c 'lag > 5'", sink)[0].exit_code == code, (state, task)
