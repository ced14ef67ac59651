"""`wait`: the state that is required, and how long it lasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.console.command_context import run_command
from tests.unit.tui.scripted import Scripted, status
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.contexts.profiles import Profile


class Changing(Scripted):
    """A cluster whose connector is in the next state with each look, and whose clock is that of its sleeps."""

    def __init__(self, *states: Sequence[str]) -> None:
        super().__init__(None)
        self.states = list(states)

    @property
    def now(self) -> float:
        return sum(self.slept)

    async def send(self, call: ApiCall) -> Any:
        if call.path == "/connectors":
            return ["c"]
        if call.path.endswith("/status"):
            return status("c", tasks=self.states.pop(0) if len(self.states) > 1 else self.states[0])
        return {"name": "c", "config": {}, "tasks": [{"connector": "c", "task": 0}, {"connector": "c", "task": 1}]}


ONE, BOTH, FAILED = ["RUNNING"], ["RUNNING", "RUNNING"], ["RUNNING", "FAILED"]


def waited(line: str, *states: Sequence[str]) -> tuple[float, str]:
    """The seconds that the command has waited, and its outcome."""
    cluster = Changing(*states)
    (outcome,) = run_command(line, Connect(cluster), Profile("http://x"), clock=lambda: cluster.now).outcomes
    return cluster.now, outcome.message


def test_a_task_that_has_no_status_yet_is_waited_for() -> None:
    seconds, outcome = waited("wait c RUNNING", ONE, ONE, BOTH)
    assert seconds > 0 and outcome == "RUNNING"


def test_the_state_must_last() -> None:
    assert 5 <= waited("wait c RUNNING --for 5s", BOTH)[0] < 7
    assert waited("wait c RUNNING --for 5s", BOTH, BOTH, FAILED, BOTH)[0] > 5.2


def test_a_connector_that_fails_again_and_again_is_not_running() -> None:
    _, outcome = waited("wait c RUNNING --for 5s --timeout 20s", *[BOTH, FAILED] * 40)
    assert outcome.startswith("not RUNNING for 5 s within 20 s: ")
