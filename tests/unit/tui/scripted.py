"""A transport with prepared answers, which records its requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.support.console.console_transports import InMemory
from tui.client.calls import ApiCall


class Scripted(InMemory):
    """Gives the answers in order and repeats the last one; an exception is raised instead of returned. Requests for the
    version are answered apart, unless the next answer is one."""

    url = "http://scripted:8083"

    def __init__(self, *answers: Any) -> None:
        self.answers: list[Any] = list(answers)
        self.calls: list[ApiCall] = []
        self.slept: list[float] = []

    async def send(self, call: ApiCall) -> Any:
        if call.path == "/" and not (isinstance(self.answers[0], dict) and "version" in self.answers[0]):
            return {"version": "4.3.0"}
        self.calls.append(call)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def status(name: str, state: str = "RUNNING", tasks: Iterable[str] = ("RUNNING",), kind: str = "source") -> Any:
    """A status body as a worker gives it."""
    return {
        "name": name,
        "connector": {"state": state, "worker_id": "w:1", "version": "1"},
        "tasks": [{"id": n, "state": task, "worker_id": "w:1", "version": "1"} for n, task in enumerate(tasks)],
        "type": kind,
    }


def expanded(*statuses: Any) -> Any:
    """The answer of the connector list, for these statuses."""
    return {
        body["name"]: {"status": body, "info": {"name": body["name"], "config": {"connector.class": "a.b.C"}}}
        for body in statuses
    }
