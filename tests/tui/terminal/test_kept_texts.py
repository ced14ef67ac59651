"""Edited texts survive the console: the real program is killed while its user edits, and started again."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.console.terminal import Terminal
from tests.support.servers.http_endpoint import Answer, Received, http_server
from tests.support.servers.stub_worker import listed
from tests.tui.conftest import Cluster

POSITIONS = [
    {"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 10}},
    {"partition": {"kafka_topic": "t", "kafka_partition": 1}, "offset": {"kafka_offset": 20}},
]
SECRET = "never-on-disk"


def respond(request: Received) -> Answer:
    answers: dict[str, dict[str, Any]] = {
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


@pytest.fixture(autouse=True)
def state(own_folders: Path) -> Path:
    """The folder of the console's own files."""
    return own_folders / "state"


def kept(state: Path) -> list[Path]:
    return sorted(state.rglob("texts/*/*.json"))


def end(terminal: Terminal, number: signal.Signals) -> None:
    assert terminal.process.pid is not None
    os.kill(terminal.process.pid, number)
    terminal.until(lambda: not terminal.process.isalive(), "the end")


def is_over(terminal: Terminal) -> bool:
    """Presses y until the program has ended: a new question takes no keys."""
    terminal.press("y")
    return not terminal.process.isalive()


def on_page(terminal: Terminal, number: str) -> None:
    terminal.sees("one", "two", "● polling")
    terminal.press("enter")
    terminal.sees("1 overview")
    terminal.press(number)


def test_offsets_that_were_edited_when_the_console_was_killed_are_offered(url: str, state: Path) -> None:
    with Terminal(url) as terminal:
        on_page(terminal, "5")
        terminal.sees("t-0", "t-1")
        terminal.press("e")
        terminal.sees("F5 start over")
        terminal.press("backspace", "7")
        terminal.sees("would change 1 partition")
        terminal.until(lambda: kept(state), "the text on disk")
        with Terminal(url) as other:
            other.sees("one", "two", "● polling")
            assert "console ended" not in other.text, "its console still runs"
        end(terminal, signal.SIGKILL)
    assert kept(state)[0].stat().st_mode & 0o777 == 0o600
    with Terminal(url) as terminal:
        terminal.sees("not applied when a console ended: offsets of one; the editor has the text")
        on_page(terminal, "5")
        terminal.sees("t-0", "t-1")
        terminal.press("e")
        terminal.sees("restored your text of", "would change 1 partition", "offset 10 → offset 17")
        terminal.press("f5")
        terminal.until(lambda: not kept(state), "the text is discarded")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP], ids=["SIGKILL", "SIGHUP"])
def test_a_config_that_was_edited_is_offered_and_its_secrets_are_not_on_disk(
    number: signal.Signals, url: str, state: Path
) -> None:
    with Terminal(url, lines=30) as terminal:
        on_page(terminal, "3")
        terminal.sees("topics")
        terminal.press("e")
        terminal.sees("F3 JSON/key=value")
        terminal.press('"')
        terminal.until(lambda: kept(state), "the text on disk")
        end(terminal, number)
    text = kept(state)[0].read_text()
    assert SECRET not in text and json.loads(text)["connector"] == "one"
    with Terminal(url, lines=30) as terminal:
        terminal.sees("console ended: config of one")
        on_page(terminal, "3")
        terminal.sees("topics")
        terminal.press("e")
        terminal.sees("restored your text of")
        terminal.escape()
        terminal.press("q")
        terminal.escape()
        terminal.press("q")
        terminal.sees("quit?", "edited config not applied: one")
        terminal.until(lambda: is_over(terminal), "the end")
    assert not kept(state), "the operator has quit without the text"


def test_the_values_of_a_new_connector_are_kept(cluster: Cluster, state: Path) -> None:
    def opens_the_wizard(terminal: Terminal) -> None:
        terminal.press("P")
        terminal.sees("FileStreamSource")
        terminal.press("/", *"streamsource", "enter", "c")
        terminal.sees("create a connector", "to fix")

    with Terminal(cluster.url, columns=120, lines=40) as terminal:
        terminal.sees("● ")
        opens_the_wizard(terminal)
        terminal.press("g", "enter", *"never-created", "enter")
        terminal.until(lambda: kept(state), "the values on disk")
        end(terminal, signal.SIGKILL)
    with Terminal(cluster.url, columns=120, lines=40) as terminal:
        terminal.sees("console ended: new connector of")
        opens_the_wizard(terminal)
        terminal.sees("never-created")
        terminal.escape()
