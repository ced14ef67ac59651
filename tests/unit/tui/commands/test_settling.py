"""`--settle`: what a command reports about connectors that it has started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.console.command_context import command_context
from tests.unit.tui.scripted import Scripted, status
from tui.client.calls import ApiCall, drive
from tui.client.client import Connect
from tui.commands.result import Result
from tui.contexts.profiles import Profile
from tui.errors import DONE, FAILED, TIMED_OUT
from tui.script.grammar import parse

TRACE = "a.b.ConnectException: Exiting\nCaused by: a.b.DataException: no number"


class Cluster(Scripted):
    """Connectors of two tasks; `history` has the states of connector and tasks by the seconds since the request."""

    def __init__(self, **history: Sequence[tuple[float, str]]) -> None:
        super().__init__(None)
        self.history = history

    @property
    def now(self) -> float:
        return sum(self.slept)

    def status(self, name: str) -> Any:
        words = [words for at, words in self.history[name] if at <= self.now][-1].split()
        body = status(name, words[0], words[1:])
        for task in body["tasks"]:
            task["trace"] = TRACE if task["state"] == "FAILED" else None
        return body

    async def send(self, call: ApiCall) -> Any:
        self.calls.append(call)
        if call.method != "GET":
            return None
        name = call.path.split("/")[-1 if call.path.count("/") == 2 else -2].partition("?")[0]
        if call.path == "/":
            return {"version": "4.3.0", "commit": "c", "kafka_cluster_id": "k"}
        if call.path == "/connectors":
            return list(self.history)
        if call.path.startswith("/connectors?"):
            return {name: {"status": self.status(name), "info": self.info(name)} for name in self.history}
        return self.status(name) if call.path.endswith("/status") else self.info(name)

    def info(self, name: str) -> Any:
        tasks = [{"connector": name, "task": number} for number in range(len(self.status(name)["tasks"]))]
        return {"name": name, "config": {"connector.class": "a.b.C"}, "tasks": tasks}


def run(line: str, cluster: Cluster, settling: float = 10.0) -> Result:
    context = command_context(Connect(cluster), Profile("http://x"), clock=lambda: cluster.now)
    command = parse(line)
    assert command is not None
    return drive(command.run(context._replace(settling=settling)))


def outcome(line: str, *history: tuple[float, str], settling: float = 10.0) -> tuple[float, int, str]:
    """The seconds that the command took, its exit code, and its message."""
    cluster = Cluster(c=history)
    (done,) = run(line, cluster, settling).outcomes
    return cluster.now, done.code, done.message


BOTH, ONE_FAILED = "RUNNING RUNNING RUNNING", "RUNNING RUNNING FAILED"


@pytest.mark.parametrize("seconds", [1, 3, 8])
def test_a_connector_that_fails_while_it_settles_has_failed(seconds: int) -> None:
    waited, code, message = outcome("restart c -t ALL", (0, BOTH), (seconds, ONE_FAILED))
    assert code == FAILED and seconds <= waited < seconds + 1.1
    assert message == (
        f"restarted, but failed after {waited:.0f} s: FAILED, 1/2 tasks, 1 failed: DataException: no number"
    )


def test_a_failure_from_before_the_restart_is_not_its_result() -> None:
    states = (0.0, ONE_FAILED), (1.0, "RUNNING RUNNING RESTARTING"), (1.5, BOTH)
    waited, code, message = outcome("restart c -t FAILED", *states)
    assert (code, message) == (DONE, "restarted; RUNNING, 2/2 tasks") and 11 <= waited < 13


def test_a_task_that_fails_at_once_again_has_failed() -> None:
    waited, code, message = outcome("restart c -t FAILED", (0, ONE_FAILED))
    assert code == FAILED and waited < 4 and message.startswith("restarted, but failed after ")


def test_only_the_task_that_was_restarted_counts() -> None:
    assert outcome("restart task c/0", (0, ONE_FAILED))[1:] == (DONE, "restarted; RUNNING, 1/1 tasks")
    assert outcome("restart task c/1", (0, ONE_FAILED))[1] == FAILED


@pytest.mark.parametrize(
    ("line", "state", "message"),
    [
        ("stop c", "STOPPED", "stopped; STOPPED, no tasks"),
        ("pause c", "PAUSED PAUSED PAUSED", "paused; PAUSED, 0/2 tasks"),
        ("restart c -t ALL", "PAUSED PAUSED PAUSED", "restarted; PAUSED, 0/2 tasks"),
    ],
)
def test_nothing_that_runs_no_tasks_is_watched(line: str, state: str, message: str) -> None:
    waited, code, done = outcome(line, (0, state))
    assert (waited, code, done) == (0, DONE, message)


def test_a_stop_is_reported_once_the_tasks_have_ended() -> None:
    states = (0, "STOPPED RUNNING RUNNING"), (4, "STOPPED")
    waited, code, _ = outcome("stop c", *states)
    assert code == DONE and 4 <= waited < 6


def test_without_settling_a_command_returns_after_the_response() -> None:
    assert outcome("restart c -t ALL --settle 0s", (0, BOTH)) == (0, DONE, "restarted")
    assert outcome("restart c -t ALL", (0, BOTH), settling=0)[0] == 0
    assert 2 <= outcome("restart c -t ALL --settle 2s", (0, BOTH), settling=0)[0] < 4


def test_a_connector_that_does_not_start_is_not_waited_for_without_end() -> None:
    waited, code, message = outcome("resume c", (0, "RUNNING UNASSIGNED UNASSIGNED"))
    assert code == TIMED_OUT and waited < 75
    assert message == "resumed, but not RUNNING within 70 s: UNASSIGNED, 0/2 tasks"


def test_all_targets_settle_at_the_same_time_and_each_has_its_result() -> None:
    cluster = Cluster(a=[(0, BOTH)], b=[(0, BOTH), (3, ONE_FAILED)], d=[(0, BOTH), (5, ONE_FAILED)])
    result = run("restart a b d -t ALL", cluster)
    assert [done.code for done in result.outcomes] == [DONE, FAILED, FAILED]
    assert result.exit_code == FAILED and cluster.now < 13
