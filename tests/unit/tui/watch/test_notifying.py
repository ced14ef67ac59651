"""Notices: commands get connectors in variables, webhooks get JSON, and secrets stay secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import alive
from tests.support.servers.loopback import Handler, LoopbackServer
from tests.support.waiting import wait_until
from tui.back_off import BackOff
from tui.watch import notifying
from tui.watch.conditions import condition
from tui.watch.incidents import IncidentChange
from tui.watch.notifying import BELL, Notifier
from tui.watch.rules import Rule

SECRET = "sesame-77"


class Hook(LoopbackServer):
    """A webhook that answers with the given statuses, then 200."""

    def __init__(self, *statuses: int) -> None:
        self.bodies: list[Any] = []
        answers, bodies = list(statuses), self.bodies

        class Answers(Handler):
            def do_POST(self) -> None:
                bodies.append(json.loads(self.body()))
                self.respond(answers.pop(0) if answers else 200)

        super().__init__(Answers)
        self.url += f"/{SECRET}"


@pytest.fixture
def hook() -> type[Hook]:
    return Hook


def change(started: bool = True, **rule: Any) -> IncidentChange:
    return IncidentChange(Rule(condition("failed"), **rule), started, (("a b", "is FAILED"), ("$(id)", "is FAILED")))


def notified(*changes: IncidentChange, command_timeout: float = notifying.COMMAND_TIMEOUT) -> list[str]:
    said: list[str] = []
    notifier = Notifier("prod", None, said.append, back_off=BackOff(0.01, 0.1), command_timeout=command_timeout)
    for one in changes:
        notifier.notify(one)
    notifier.close()
    return said


def test_a_webhook_gets_the_incident_and_its_end(hook: type[Hook]) -> None:
    there = hook()
    assert notified(change(webhook=there.url, name="down"), change(False, webhook=there.url)) == []
    there.close()
    assert [body["event"] for body in there.bodies] == ["started", "ended"]
    assert there.bodies[0] == {
        "text": "CRITICAL on prod: a b is FAILED; $(id) is FAILED (down)", "event": "started", "rule": "down",
        "severity": "critical", "cluster": "prod", "connectors": ["a b", "$(id)"], "details": ["is FAILED"] * 2,
    }  # fmt: skip


def test_a_webhook_is_tried_again_unless_it_refuses(hook: type[Hook]) -> None:
    flaky, refusing = hook(503, 500), hook(404, 404)
    assert notified(change(webhook=flaky.url)) == []
    assert notified(change(webhook=refusing.url)) == ["rule failed: the webhook failed: HTTP 404"]
    flaky.close()
    refusing.close()
    assert (len(flaky.bodies), len(refusing.bodies)) == (3, 1)


@pytest.mark.parametrize("address", [f"http://127.0.0.1:1/{SECRET}", f"nonsense:{SECRET}", f"http://[{SECRET}", SECRET])
def test_the_address_of_a_webhook_is_never_shown(
    address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HOOK", address)
    for webhook in (address, "env:HOOK"):
        (said,) = notified(change(webhook=webhook))
        assert said.startswith("rule failed: the webhook ")
        assert SECRET not in said
    assert SECRET not in caplog.text


def test_a_command_gets_connectors_in_variables_alone(tmp_path: Path) -> None:
    file = tmp_path / "out"
    command = f'echo "$HEADRACE_EVENT|$HEADRACE_SEVERITY|$HEADRACE_CONNECTORS|$HEADRACE_CLUSTER" >> {file}'
    assert notified(change(command=command), change(False, command=command)) == []
    assert file.read_text() == "started|critical|a b $(id)|prod\nended|critical|a b $(id)|prod\n"


def test_a_command_that_fails_is_reported() -> None:
    assert notified(change(command="echo broken >&2; exit 3")) == [
        "rule failed: the command failed with code 3: broken"
    ]


def test_a_thousand_connectors_fit_into_the_variables_of_a_command(tmp_path: Path) -> None:
    file, found = tmp_path / "out", tuple((f"connector-{n:06}\0", "is FAILED \ud800") for n in range(20_000))
    rule = Rule(condition("failed"), command=f'printf %s "$HEADRACE_CONNECTORS" > {file}')
    assert notified(IncidentChange(rule, True, found)) == []
    assert file.read_text().startswith("connector-000000  connector-000001")
    assert file.stat().st_size == notifying.MAX_VARIABLE


def test_a_command_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    assert notified(change(command=f"sleep 300 & echo $! > {file}; wait"), command_timeout=0.5) == [
        "rule failed: the command did not end within 0.5 s"
    ]
    wait_until(lambda: not alive(int(file.read_text())))


def test_an_unexpected_error_does_not_end_the_notices(hook: type[Hook]) -> None:
    there = hook()
    assert notified(change(command="\0"), change(webhook=there.url)) == ["rule failed: not sent: ValueError"]
    there.close()
    assert len(there.bodies) == 1


def test_the_bell_rings_at_the_start_only() -> None:
    written: list[str] = []
    notifier = Notifier("prod", written.append, print, {"TERM": "xterm"})
    for started in (True, False):
        notifier.notify(change(started))
    notifier.notify(change(desktop=False, bell=False))
    assert [text.startswith("\x1b]9;") for text in written] == [True, True]
    assert [text.count(BELL) for text in written] == [2, 1]  # the sequence itself ends with one


def test_a_proxy_that_cannot_be_used_is_no_invalid_webhook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy:1080")
    (said,) = notified(change(webhook="http://chat.invalid/secret"))
    assert "ALL_PROXY of the environment is a proxy of type socks5" in said
    assert "secret" not in said
