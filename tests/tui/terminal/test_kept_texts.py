"""Edited texts survive the console: the real program is killed while its user edits, and started again."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.console.terminal import Terminal
from tests.support.servers.http_endpoint import Answer, Received, http_server
from tests.support.servers.stub_worker import listed

POSITIONS = [
    {"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 10}},
    {"partition": {"kafka_topic": "t", "kafka_partition": 1}, "offset": {"kafka_offset": 20}},
]
SECRET = "never-on-disk"


def respond(request: Received) -> Answer:
    answers = {
        "/": {"version": "4.3.0", "commit": "x", "kafka_cluster_id": "c"},
        "/connectors": {name: listed(name, config={"database.password": SECRET}) for name in ("one", "two")},
        "/connectors/one/offsets": {"offsets": POSITIONS},
    }
    if request.path in answers:
        return 200, {"content-type": "application/json"}, answers[request.path]
    return 404, {"content-type": "application/json"}, {"error_code": 404, "message": "none"}


@pytest.fixture
def url() -> Iterator[str]:
    with http_server(respond) as server:
        yield server.url


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def kept(folders: dict[str, str]) -> list[Path]:
    return sorted(Path(folders["XDG_STATE_HOME"]).rglob("texts/*/*.json"))


def on_page(terminal: Terminal, number: str) -> None:
    terminal.sees("one", "two", "● polling")
    terminal.press("enter")
    terminal.sees("1 overview")
    terminal.press(number)


def test_offsets_that_were_edited_when_the_console_was_killed_are_offered(url: str, folders: dict[str, str]) -> None:
    with Terminal(url, **folders) as terminal:
        on_page(terminal, "5")
        terminal.sees("t-0", "t-1")
        terminal.press("e")
        terminal.sees("F5 start over")
        terminal.press("backspace", "7")
        terminal.sees("would change 1 partition")
        terminal.until(lambda: kept(folders), "the text on disk")
        with Terminal(url, **folders) as other:
            other.sees("one", "two", "● polling")
            assert "has ended" not in other.text, "its console still runs"
        os.kill(terminal.process.pid, signal.SIGKILL)
        terminal.until(lambda: not terminal.process.isalive(), "the end")
    assert kept(folders)[0].stat().st_mode & 0o777 == 0o600
    with Terminal(url, **folders) as terminal:
        terminal.sees("edited, but not applied by a console that has ended: offsets of one")
        on_page(terminal, "5")
        terminal.sees("t-0", "t-1")
        terminal.press("e")
        terminal.sees("restored your text of", "would change 1 partition", "offset 10 → offset 17")
        terminal.press("f5")
        terminal.until(lambda: not kept(folders), "the text is discarded")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP], ids=["SIGKILL", "SIGHUP"])
def test_a_config_that_was_edited_is_offered_and_its_secrets_are_not_on_disk(
    number: signal.Signals, url: str, folders: dict[str, str]
) -> None:
    with Terminal(url, lines=30, **folders) as terminal:
        on_page(terminal, "3")
        terminal.sees("topics")
        terminal.press("e")
        terminal.sees("F3 JSON/key=value")
        terminal.press('"')
        terminal.until(lambda: kept(folders), "the text on disk")
        os.kill(terminal.process.pid, number)
        terminal.until(lambda: not terminal.process.isalive(), "the end")
    text = kept(folders)[0].read_text()
    assert SECRET not in text and json.loads(text)["connector"] == "one"
    with Terminal(url, lines=30, **folders) as terminal:
        terminal.sees("has ended: config of one")
        on_page(terminal, "3")
        terminal.sees("topics")
        terminal.press("e")
        terminal.sees("restored your text of")
        terminal.escape()
        terminal.press("q")
        terminal.escape()
        terminal.press("q")
        terminal.sees("quit?", "edited config not applied: one")
        terminal.until(lambda: (terminal.press("y"), not terminal.process.isalive())[1], "a new question takes no key")
    assert not kept(folders), "the operator has quit without the text"
