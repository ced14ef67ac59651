"""The log of operations: phases, observed goals, curl commands."""

from __future__ import annotations

import time

import pytest

from tests.unit.tui.screens.builders import connector, snapshot
from tui.client.calls import ApiCall
from tui.cluster.snapshot import ClusterLink, LinkState, Snapshot
from tui.goals import SETTLING
from tui.model import Connector
from tui.screens.services.last_restarts import of_operations
from tui.screens.services.operations import Operation, Operations, Phase, as_curl


def phase(one: Operation) -> Phase:
    return one.phase


def test_operations_run_from_requested_to_observed() -> None:
    now = [100.0]
    steps: list[str] = []
    log = Operations(lambda one: steps.append(one.last), lambda: now[0])
    one = log.begin("stop", "c", goal="STOPPED", lines=("stop connector c",), doing="stopping")
    log.observe(snapshot(connector("c", "STOPPED", ())))
    assert phase(one) is Phase.REQUESTED, "the goal is not observed before the request was accepted"
    log.accepted(one)
    log.observe(Snapshot({"c": connector("c", "STOPPED", ())}, link=ClusterLink(LinkState.POLLING, 99.0)))
    assert phase(one) is Phase.ACCEPTED, "an answer to an earlier request is not an observation"
    now[0] = 101.0
    log.observe(Snapshot({"c": connector("c", "STOPPED", ())}, link=ClusterLink(LinkState.POLLING, 101.0)))
    assert phase(one) is Phase.OBSERVED and one.last == "observed: STOPPED, no tasks after 1.0 s"
    two = log.begin("resume", "c", goal="RUNNING", doing="resuming")
    log.accepted(two)
    now[0] += 61
    log.observe(Snapshot({"c": connector("c", "STOPPED", ())}, link=ClusterLink(LinkState.POLLING, now[0])))
    assert two.phase is Phase.TIMED_OUT and "now STOPPED" in two.last
    three = log.begin("resume", "c", goal="RUNNING", doing="resuming")
    log.accepted(three)
    now[0] += 3
    failed = connector("c", tasks=("FAILED",))
    log.observe(Snapshot({"c": failed}, link=ClusterLink(LinkState.POLLING, now[0])))
    assert three.phase is Phase.FAILED and "0/1 tasks, 1 failed" in three.last
    assert steps[0] == "requested"


def test_a_clock_that_is_set_back_delays_no_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Operations(lambda operation: None)
    operation = log.begin("stop", "c", goal="STOPPED", doing="stopping")
    log.accepted(operation)
    an_hour_ago = time.time() - 3600
    monkeypatch.setattr(time, "time", lambda: an_hour_ago)
    log.observe(snapshot(connector("c", "STOPPED", ())))
    assert phase(operation) is Phase.OBSERVED


def observed(now: list[float], log: Operations, state: str) -> None:
    log.observe(Snapshot({"c": connector("c", tasks=(state,))}, link=ClusterLink(LinkState.POLLING, now[0])))


def running(now: list[float], log: Operations, verb: str) -> Operation:
    """An operation whose connector was observed RUNNING."""
    operation = log.begin(verb, "c", goal="RUNNING", doing="")
    log.accepted(operation)
    now[0] += 2
    observed(now, log, "RUNNING")
    assert operation.phase is Phase.OBSERVED
    return operation


@pytest.mark.parametrize(("verb", "text"), [("restart", "failed again after 3 s"), ("resume", "failed after 3 s")])
def test_a_connector_that_fails_a_moment_after_it_was_running_has_failed(verb: str, text: str) -> None:
    now = [100.0]
    log = Operations(lambda operation: None, lambda: now[0])
    operation = running(now, log, verb)
    now[0] += 3
    observed(now, log, "FAILED")
    assert phase(operation) is Phase.FAILED
    assert operation.last == f"{text}: FAILED, 0/1 tasks, 1 failed: boom; t shows the trace"
    restarts = of_operations(log.log, "c", None)
    assert [restart.result for restart in restarts] == ([f"{text}: FAILED, 0/1 tasks, 1 failed"] * (verb == "restart"))


def test_a_failure_after_a_change_does_not_hide_the_change() -> None:
    """The next record may be poisoned, too: the first one has been skipped."""
    now = [100.0]
    log = Operations(lambda operation: None, lambda: now[0])
    operation = log.begin("skip record", "c", goal="", doing="")
    operation.changed, operation.goal = "skipped t-0@5, saved to x.jsonl", "RUNNING"
    log.accepted(operation)
    now[0] += 3
    observed(now, log, "FAILED")
    assert operation.last.startswith("skipped t-0@5, saved to x.jsonl, but observed: FAILED, 0/1 tasks, 1 failed: boom")


def test_an_event_before_the_response_is_observed_whatever_the_clock_of_the_worker() -> None:
    now, an_hour = [100.0], 3600.0
    log = Operations(lambda operation: None, lambda: now[0])

    def see(since: float) -> None:
        running = {"c": connector("c")}
        log.observe(Snapshot(running, since={"c": since}, link=ClusterLink(LinkState.LIVE, 100.0)))

    see(90.0 + an_hour)
    operation = log.begin("restart", "c", goal="RUNNING", doing="restarting")
    now[0] += 1
    log.accepted(operation)
    now[0] += 5
    see(90.0 + an_hour)
    assert phase(operation) is Phase.ACCEPTED, "the worker's clock is ahead; nothing has changed"
    see(100.5 + an_hour)
    assert phase(operation) is Phase.OBSERVED


def test_the_restart_of_a_task_observes_this_task_alone() -> None:
    now = [100.0]
    log = Operations(lambda operation: None, lambda: now[0])

    def see(*tasks: str) -> None:
        log.observe(Snapshot({"c": connector("c", tasks=tasks)}, link=ClusterLink(LinkState.POLLING, now[0])))

    operation = log.begin("restart task", "c", goal="RUNNING", doing="restarting", task=1)
    log.accepted(operation)
    see("FAILED", "RUNNING")
    assert phase(operation) is Phase.ACCEPTED, "the state may be older than the restart"
    now[0] += 2
    see("FAILED", "RUNNING")
    assert phase(operation) is Phase.OBSERVED and operation.title == "restart task c/1"
    assert operation.last == "observed: RUNNING, 1/1 tasks after 2.0 s"
    now[0] += 3
    see("RUNNING", "FAILED")
    assert phase(operation) is Phase.FAILED and operation.last.startswith("failed again after 3 s: FAILED")


def test_a_later_failure_is_not_the_operations() -> None:
    now = [100.0]
    log = Operations(lambda operation: None, lambda: now[0])
    operation = running(now, log, "restart")
    now[0] += SETTLING + 1
    observed(now, log, "RUNNING")
    observed(now, log, "FAILED")
    assert phase(operation) is Phase.OBSERVED
    operation = running(now, log, "restart")
    later = log.begin("restart", "c", goal="RUNNING", doing="")
    now[0] += 3
    observed(now, log, "FAILED")
    assert (phase(operation), phase(later)) == (Phase.OBSERVED, Phase.REQUESTED), "the next request has begun"


def test_curl_commands_are_quoted_and_without_secrets() -> None:
    call = ApiCall("PATCH", "/connectors/a%20b/offsets", {"offsets": ["it's"]})
    assert as_curl("http://h:1/", call) == (
        "curl -sS -X PATCH http://h:1/connectors/a%20b/offsets -H 'Content-Type: application/json' "
        """-d '{"offsets": ["it'"'"'s"]}'"""
    )
    assert "hunter2" not in as_curl("http://h:1/", ApiCall("PATCH", "/connectors/a/config", {"db.password": "hunter2"}))


def test_two_tasks_of_a_connector_settle_apart() -> None:
    now = [100.0]
    log = Operations(lambda one: None, lambda: now[0])
    both = [log.begin("restart task", "c", goal="RUNNING", doing="restarting", task=number) for number in (0, 1)]
    for one in both:
        log.accepted(one)
    now[0] += 2
    log.observe(Snapshot({"c": connector("c", tasks=("RUNNING", "RUNNING"))}, link=ClusterLink(LinkState.POLLING, 102)))
    assert [one.phase for one in both] == [Phase.OBSERVED, Phase.OBSERVED]
    now[0] += 2
    log.observe(Snapshot({"c": connector("c", tasks=("FAILED", "RUNNING"))}, link=ClusterLink(LinkState.POLLING, 104)))
    assert [one.phase for one in both] == [Phase.FAILED, Phase.OBSERVED]
    assert "failed again after 2 s" in both[0].last


def test_a_state_that_is_observed_ends_an_operation_whose_response_is_lost() -> None:
    now = [100.0]
    log = Operations(lambda one: None, lambda: now[0])
    stopped = connector("c", "STOPPED", ())

    def see(state: Connector | None, since: float) -> None:
        link = ClusterLink(LinkState.LIVE, now[0])
        log.observe(Snapshot({} if state is None else {"c": state}, {"c": since}, link))

    see(connector("c"), 1.0)
    stop = log.begin("stop", "c", goal="STOPPED", doing="stopping")
    now[0] += 2
    see(stopped, 2.0)
    assert phase(stop) is Phase.REQUESTED, "the response follows in a moment"
    now[0] += 4
    see(stopped, 2.0)
    assert phase(stop) is Phase.OBSERVED and stop.last == "observed: STOPPED, no tasks after 6.0 s, without a response"
    log.failed(stop, "no response within 95 s")
    log.accepted(stop)
    assert phase(stop) is Phase.OBSERVED, "a late response or its absence changes nothing"
    again = log.begin("stop", "c", goal="STOPPED", doing="stopping")
    now[0] += 6
    see(stopped, 2.0)
    assert phase(again) is Phase.REQUESTED, "the state is older than the request"
    delete = log.begin("delete", "c", goal="DELETED", doing="deleting")
    restart = log.begin("restart", "c", goal="RUNNING", doing="restarting")
    now[0] += 6
    see(None, 0.0)
    assert phase(delete) is Phase.OBSERVED
    see(connector("c"), 3.0)
    assert phase(restart) is Phase.REQUESTED, "a restart may begin and end in the same state"
