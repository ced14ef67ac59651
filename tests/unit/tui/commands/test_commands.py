"""Commands with given answers: their output and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.console.command_context import run_command
from tests.support.console.console_transports import InMemory
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.commands.result import Result
from tui.contexts.profiles import Profile
from tui.errors import NotFound, ServerError


class Answering(InMemory):
    """Each path has its answer, or an error."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers

    async def send(self, call: ApiCall) -> Any:
        answer = self.answers.get(call.path, NotFound("Connector not found", 404))
        if isinstance(answer, Exception):
            raise answer
        return answer


def run(line: str, answers: dict[str, Any], reported: list[str] | None = None) -> Result:
    profile, report = Profile("http://memory:8083", "memory"), (reported if reported is not None else []).append
    return run_command(line, Connect(Answering(answers)), profile, report=report)


def sink(position: int) -> Any:
    return {"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": position}}


def test_an_export_contains_the_connectors_that_could_be_read(tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    answers = {
        "/connectors": ["a", "b", "c"],
        "/connectors/a/offsets": {"offsets": [sink(1)]},
        "/connectors/b/offsets": ServerError("the broker is unavailable", 500),
        "/connectors/c/offsets": {"offsets": [sink(2), sink(3)]},
    }
    result = run(f"export offsets -f {file}", answers)
    assert json.loads(file.read_text()) == {"a": [sink(1)], "c": [sink(2), sink(3)]}
    assert file.stat().st_mode & 0o777 == 0o600
    assert result.exit_code == 1
    assert [(one.name, one.message) for one in result.outcomes if one.failed] == [("b", "the broker is unavailable")]
    nothing = run(f"export offsets b nope -f {tmp_path / 'none'}", answers)
    assert nothing.exit_code and not (tmp_path / "none").exists()


def test_topics_of_an_unknown_connector() -> None:
    answers = {"/connectors/nope/topics": {"nope": {"topics": []}}, "/connectors": ["a"]}
    with pytest.raises(NotFound, match="Connector nope not found"):
        run("get topics nope", answers)
    answers = {"/connectors/a/topics": {"a": {"topics": []}}, "/connectors": ["a"]}
    assert run("get topics a", answers).raw == {"a": {"topics": []}}


@pytest.mark.parametrize(
    ("to", "held"),
    [("99999", "the end: the topic has no offset 99,999"), ("+5", "the end: the topic has no offset 55")],
)
def test_a_position_beyond_the_end_is_named(to: str, held: str) -> None:
    change = {"partition": sink(0)["partition"], "from": 50, "to": 50, "reread": 0, "skipped": 0}
    answers = {
        "/connectors/a/offsets": {"offsets": [sink(50)]},
        "/connectors/a/offsets/resolve": {"changes": [change]},
    }
    (outcome,) = run(f"patch offsets a --to {to}", answers).outcomes
    assert outcome.message == f"nothing to change: t-0 stays at offset 50 ({held})" and not outcome.failed
    answers["/connectors/a/offsets/resolve"]["changes"] = [{**change, "to": 49, "reread": 1}]
    (outcome,) = run(
        "patch offsets a --to -1 --dry-run", {**answers, "/connectors/a/status": {"connector": {"state": "STOPPED"}}}
    ).outcomes
    assert "1 read again" in outcome.message


@pytest.mark.parametrize("seconds", [1.0, 40.0])
def test_a_worker_that_refuses_after_a_long_time_ends_the_command(seconds: float) -> None:
    """As without its brokers: otherwise each connector would take as long."""
    now = [0.0]

    class Refusing(Answering):
        async def send(self, call: ApiCall) -> Any:
            now[0] += seconds
            return await super().send(call)

    error = ServerError("a change was not written", 500)
    refusing = Refusing({f"/connectors/{name}/pause": error for name in "abc"})
    result = run_command("pause a b c", Connect(refusing, clock=lambda: now[0]), Profile("http://memory:8083"))
    late = "not tried: the worker took 40 s for the previous request"
    messages = [error.message, late, late] if seconds == 40.0 else [error.message] * 3
    assert [(one.message, one.code) for one in result.outcomes] == [(message, 1) for message in messages]
