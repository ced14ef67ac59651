"""The verbs for workers, with the answers of Headrace workers and of Apache's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.console.command_context import run_command
from tests.support.console.console_transports import InMemory
from tests.unit.tui.scripted import expanded, status
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.commands.result import Result
from tui.contexts.profiles import Profile
from tui.errors import Conflict, HeadraceError, NotFound, ReadOnly, TimedOut
from tui.script.output import render

A, B = "a:8083", "b:8083"
REFUSED = f"Worker {A} cannot be drained: no other worker accepts its connectors and tasks"


def worker(worker_id: str, state: str = "ACTIVE", *units: tuple[str, int], leader: bool = False) -> dict[str, Any]:
    return {
        "worker_id": worker_id, "url": f"http://{worker_id}/", "leader": leader, "here": leader,
        "implementation": "headrace", "version": "0.1.0", "slots": 2, "load": 0.256, "memory": 105_400_000,
        "state": state,
        "connectors": [name for name, task in units if task == -1],
        "tasks": [{"connector": name, "task": task} for name, task in units if task != -1],
    }  # fmt: skip


def group(*workers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "group_id": "g", "generation": 7, "leader": A, "rebalancing": False, "workers": list(workers), "waiting": [],
        **more,
    }  # fmt: skip


class Cluster(InMemory):
    """Answers by path; a list of answers is given in order, its last one again and again."""

    url = "http://memory:8083"

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.changes: list[ApiCall] = []
        self.now = 0.0

    async def send(self, call: ApiCall) -> Any:
        if call.changes:
            self.changes.append(call)
        answer = self.answers.get(call.path, NotFound("HTTP 404 Not Found", 404))
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


class Run:
    """One run of a command."""

    def __init__(self, line: str, answers: dict[str, Any], *, agree: bool = True, read_only: bool = False) -> None:
        self.cluster, self.reported, self.asked = Cluster(answers), list[str](), list[str]()
        profile = Profile(self.cluster.url, "memory", read_only=read_only)

        def confirm(question: str) -> bool:
            self.asked.append(question)
            return agree

        self.result: Result = run_command(
            line,
            Connect(self.cluster),
            profile,
            report=self.reported.append,
            confirm=confirm,
            clock=lambda: self.cluster.now,
        )

    @property
    def sent(self) -> list[str]:
        return [f"{call.method} {call.path}" for call in self.cluster.changes]


TWO = group(worker(A, "ACTIVE", ("lines", -1), ("lines", 1), leader=True), worker(B, "DRAINING"))


def test_workers_are_listed() -> None:
    waiting = [{"connector": "gone", "task": 0, "until": 2}]
    two = {**TWO, "rebalancing": True, "waiting": waiting}
    two["workers"] = [{**one, "slots_without_core": [2, 3] if one["leader"] else None} for one in TWO["workers"]]
    run = Run("get workers", {"/workers": two})
    assert run.result.table is not None
    assert run.result.table.rows == (
        (A, "ACTIVE", "leader", "0.1.0", 2, "0.3", "105 MB", 1, 1, "headrace", f"http://{A}/"),
        (B, "DRAINED", "", "0.1.0", 2, "0.3", "105 MB", 0, 0, "headrace", f"http://{B}/"),
    )
    assert "IMPLEMENTATION" not in render(run.result, "table") and "IMPLEMENTATION" in render(run.result, "wide")
    assert render(run.result, "name").split() == [A, B]
    assert run.result.raw["workers"] == two["workers"]
    assert run.reported == [
        "the group is rebalancing",
        "1 connector or task waits for a worker that has left, for at most 0 s",
        f"2 slots wait for a core of the Spark cluster: {A} (slot 2, 3)",
    ]


def test_workers_of_other_implementations_are_derived_from_statuses() -> None:
    listed = expanded(status("lines", tasks=("RUNNING", "FAILED")))
    run = Run("get worker", {"/connectors?expand=status&expand=info": listed})
    assert run.result.table is not None
    assert run.result.table.rows == (("w:1", "", "", "", None, None, None, 1, 2, "", ""),)
    assert run.reported == [
        "derived from the statuses of connectors: only Headrace workers can be listed with their state, cordoned and "
        "drained"
    ]
    assert run.result.raw == {
        "workers": [
            {
                "worker_id": "w:1",
                "connectors": ["lines"],
                "tasks": [{"connector": "lines", "task": 0}, {"connector": "lines", "task": 1}],
            }
        ]
    }


def test_a_worker_is_described_with_its_units() -> None:
    run = Run(f"describe worker {A}", {"/workers": TWO})
    assert run.result.text.endswith("lines: connector, task 1")
    assert "state           ACTIVE" in run.result.text
    assert run.result.raw == TWO["workers"][0]
    with pytest.raises(NotFound, match=f"Worker c:1 is not in the cluster; its workers are {A}, {B}"):
        Run("describe worker c:1", {"/workers": TWO})


@pytest.mark.parametrize(
    ("line", "path", "message"),
    [
        (f"cordon {A}", "a%3A8083/cordon", "cordoned"),
        (f"uncordon worker {A}", "a%3A8083/uncordon", "uncordoned"),
        (f"drain {A}", "a%3A8083/drain", "draining"),
    ],
)
def test_a_state_is_changed_by_one_request(line: str, path: str, message: str) -> None:
    run = Run(line, {f"/workers/{path}": None})
    assert run.sent == [f"PUT /workers/{path}"]
    assert [(outcome.name, outcome.message) for outcome in run.result.outcomes] == [(A, message)]
    assert dict(run.cluster.changes[0].headers).keys() == {"Headrace-User"}


def test_only_draining_asks_and_a_refusal_changes_nothing() -> None:
    assert not Run(f"cordon {A}", {"/workers/a%3A8083/cordon": None}).asked
    assert Run(f"drain {A}", {"/workers/a%3A8083/drain": None}).asked == [f"drain {A}?"]
    assert not Run(f"drain {A} -y", {"/workers/a%3A8083/drain": None}).asked
    with pytest.raises(HeadraceError, match="not confirmed"):
        Run(f"drain {A}", {}, agree=False)
    with pytest.raises(ReadOnly):
        Run(f"drain {A}", {}, read_only=True)


def test_a_refusal_has_the_reason_of_the_server_and_an_exit_code() -> None:
    (outcome,) = Run(f"drain {A}", {"/workers/a%3A8083/drain": Conflict(REFUSED, 409)}).result.outcomes
    assert (outcome.message, outcome.code) == (REFUSED, 4)
    (outcome,) = Run(f"cordon {A}", {}).result.outcomes
    assert outcome.code == 3 and outcome.message.startswith("this cluster cannot cordon workers (only Headrace workers")


@pytest.mark.parametrize(
    ("line", "message", "code"),
    [
        (f"drain {A}", "no other worker accepts its connectors and tasks", 4),
        (f"drain {B}", "is already DRAINED", 0),
        (f"cordon {B}", "would be cordoned, now DRAINED", 0),
        ("cordon c:1", f"Worker c:1 is not in the cluster; its workers are {A}, {B}", 3),
    ],
)
def test_a_dry_run_sends_nothing(line: str, message: str, code: int) -> None:
    run = Run(f"{line} --dry-run", {"/workers": TWO})
    assert [(outcome.message, outcome.code) for outcome in run.result.outcomes] == [(message, code)]
    assert not run.sent and not run.asked


def test_a_dry_run_of_a_drain_counts_the_units_that_would_move() -> None:
    both = group(worker(A, "ACTIVE", ("lines", -1), ("lines", 0), ("lines", 1)), worker(B))
    (outcome,) = Run(f"drain {A} --dry-run", {"/workers": both}).result.outcomes
    assert outcome.message == "would be drained: 1 connector and 2 tasks would move to other workers"


def test_waiting_ends_when_nothing_is_assigned_to_the_worker_or_runs_there() -> None:
    def task_on(worker_id: str) -> Any:
        one = status("lines")
        one["tasks"][0]["worker_id"] = worker_id
        return {"lines": {"status": one}}

    answers = {
        "/workers/a%3A8083/drain": None,
        "/workers": [group(worker(A, "DRAINING", ("lines", -1), ("lines", 0))), group(worker(A, "DRAINING"))],
        "/connectors?expand=status": [task_on(A), task_on(A), task_on(B)],
    }
    run = Run(f"drain {A} --wait", answers)
    assert run.reported == [
        f"{A}: 2 connectors and tasks are left",
        f"{A}: 1 connector or task is left",
    ]
    assert [outcome.message for outcome in run.result.outcomes] == ["drained"]


def test_waiting_ends_at_the_timeout() -> None:
    answers = {
        "/workers/a%3A8083/drain": None,
        "/workers": group(worker(A, "DRAINING", ("lines", 0))),
        "/connectors?expand=status": {},
    }
    (outcome,) = Run(f"drain {A} --wait --timeout 3s", answers).result.outcomes
    assert (outcome.code, outcome.message) == (TimedOut.exit_code, "not drained in time: 1 connector or task is left")
    with pytest.raises(HeadraceError, match="--timeout needs --wait"):
        Run(f"drain {A} --timeout 3s", {})
