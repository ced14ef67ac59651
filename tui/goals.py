"""The states that changes of connectors lead to: when one is reached, and how a state is described."""

from __future__ import annotations

from tui.causes import cause_line
from tui.formatting import counted
from tui.model import Connector

TIME_LIMIT = 60.0  # seconds from acceptance to the observed state
RESTART_DELAY = 1.0  # seconds in which the observed state may be older than the restart
FAILURE_DELAY = 2.0  # seconds in which an observed failure may be older than the request
SETTLING = 10.0  # seconds in which a connector that was RUNNING may still fail because of the operation
RESTARTS = ("restart", "restart task")  # verbs whose goal may be the state before the request


def part(seen: Connector, number: int | None) -> Connector:
    """The connector with only the task of this number, which does not depend on others; for None all of it."""
    if number is None:
        return seen
    tasks = tuple(task for task in seen.tasks if task.id == number)
    state = "RUNNING" if seen.state == "FAILED" else seen.state
    return seen._replace(tasks=tasks, task_configs=1, state=state, trace="")


def reached(seen: Connector | None, goal: str) -> bool:
    if goal == "DELETED":
        return seen is None
    if seen is None:
        return False
    if goal == "PAUSED":  # a failed task stays FAILED through a pause
        return seen.state == "PAUSED" and all(task.state in ("PAUSED", "FAILED") for task in seen.tasks)
    return seen.is_in(goal)


def described_goal(seen: Connector | None, goal: str) -> str:
    """The state that was reached. A pause leaves failed tasks FAILED, and so the connector's worst state."""
    if goal == "PAUSED" and seen is not None and seen.failed:
        return f"PAUSED; {counted(seen.failed, 'task')} {'stays' if seen.failed == 1 else 'stay'} FAILED"
    return described(seen)


def described(seen: Connector | None) -> str:
    if seen is None:
        return "deleted"
    return f"{seen.overall}, {tasks_in_words(seen)}"


def cause(seen: Connector) -> str:
    """The root cause of the first failure, after a colon; empty if no trace says it."""
    parts = [(seen.state, seen.trace), *((task.state, task.trace) for task in seen.tasks)]
    traces = [trace for state, trace in parts if state == "FAILED" and trace]
    return f": {cause_line(traces[0])}" if traces else ""


def tasks_in_words(connector: Connector) -> str:
    """For example `1/1 tasks`, `0/2 tasks, 1 failed`, `no tasks`."""
    running, comma, failed = connector.tasks_text.partition(",")
    return f"{running} tasks{comma}{failed}" if connector.tasks else "no tasks"
