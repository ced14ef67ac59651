"""The program in several kinds of terminals, with a recording: start, display, exit, restored terminal."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
from pathlib import Path

import pexpect
import pytest

from tests.support.console.snapshot import RECORDING
from tests.support.console.terminal import Terminal
from tests.support.free_ports import free_port
from tests.support.servers.http_endpoint import Answer, Received, http_server
from tests.support.waiting import wait_until

REPLAY = ("--replay", str(RECORDING))
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("term", ["xterm", "xterm-256color", "screen-256color", "tmux-256color", "linux", "vt100"])
def test_values_of_term_over_ssh(term: str) -> None:
    with Terminal(*REPLAY, TERM=term, COLORTERM="") as terminal:
        terminal.sees("READ-ONLY", "orders-search", "FAILED", "9 connectors")
        terminal.press("t")
        terminal.sees("why task 0 failed", "Unrecognized token 'order'")
        terminal.escape()
        terminal.press("q")
        assert terminal.exit_code() == 0


@pytest.mark.parametrize("lang", ["C.UTF-8", "C"])
def test_no_colour_and_an_old_locale(lang: str) -> None:
    with Terminal(*REPLAY, NO_COLOR="1", LANG=lang, LC_ALL=lang) as terminal:
        terminal.sees("orders-search", "FAILED")
        terminal.until(lambda: terminal.reversed_lines, "the cursor's row in reverse")
        terminal.press("?")
        terminal.sees("keys that work here")
        terminal.escape()
        terminal.press("t")
        terminal.sees("why task 0 failed")
        terminal.escape()
        terminal.press("q")
        assert terminal.exit_code() == 0
    codes = {
        int(code) for one in re.findall(rb"\x1b\[([0-9;:]*)m", terminal.written) for code in re.findall(rb"\d+", one)
    }
    assert codes <= {0, 1, 2, 4, 7}, "bold, dim, underline and reverse are not colours; all other codes are"


@pytest.mark.parametrize("hangup", [":", "''"])
def test_the_program_ends_with_its_terminal(tmp_path: Path, hangup: str) -> None:
    """Also if the leader of the session survives the hangup, as make does, and if SIGHUP is ignored, as by nohup."""
    ended = tmp_path / "ended"
    program = shlex.join([str(Path(sys.executable).parent / "headrace"), *REPLAY])
    leader = f"trap {hangup} HUP; {program}; echo $? >{shlex.quote(str(ended))}"
    environment = {**os.environ, "TERM": "xterm-256color"}
    terminal = pexpect.spawn("/bin/sh", ["-c", leader], env=environment, dimensions=(24, 80), timeout=45)
    terminal.expect("orders-search")
    os.close(terminal.child_fd)
    wait_until(ended.exists, 45)
    assert int(ended.read_text()) == 128 + signal.SIGHUP


@pytest.mark.parametrize(("number", "text"), [(signal.SIGTERM, "\x1b[?1049h"), (signal.SIGHUP, "orders-search")])
def test_a_signal_restores_the_terminal(number: signal.Signals, text: str) -> None:
    """Right after the first output of the screen, and once it is drawn."""
    program, environment = str(Path(sys.executable).parent / "headrace"), {**os.environ, "TERM": "xterm-256color"}
    terminal = pexpect.spawn(program, [*REPLAY], env=environment, dimensions=(24, 80), timeout=45)
    terminal.expect_exact(text)
    terminal.kill(number)
    terminal.expect_exact("\x1b[?1049l")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 128 + number


def test_sizes_from_too_small_to_large() -> None:
    """Also if the shell has exported its initial size."""
    with Terminal(*REPLAY, COLUMNS="80", LINES="24") as terminal:
        terminal.sees("orders-search")
        assert "CLASS" not in terminal.text
        terminal.resize(200, 50)
        terminal.sees("orders-search", "1 overview")  # the list and the page beside it
        terminal.press("escape")
        terminal.sees("orders-search", "CLASS", "WORKER")
        for columns, lines in ((61, 16), (50, 10), (120, 40), (80, 24)):
            terminal.resize(columns, lines)
            terminal.sees("50×10 is too small" if columns == 50 else "orders-search")
        terminal.press("q")
        assert terminal.exit_code() == 0
        assert "Traceback" not in terminal.text


def test_a_terminal_that_shrinks_and_grows_again_shows_everything() -> None:
    with Terminal(*REPLAY) as terminal:
        terminal.resize(120, 40)
        terminal.sees("orders-search", "10.1.0.1:8083")
        terminal.resize(62, 16)
        wait_until(lambda: "10.1.0.1:8083" not in terminal.text, 30, "the narrow list")
        terminal.resize(120, 40)
        terminal.sees("orders-search", "10.1.0.1:8083")
        terminal.press("q")
        assert terminal.exit_code() == 0


def test_a_recording_is_read_only() -> None:
    with Terminal(*REPLAY) as terminal:
        terminal.sees("orders-search", "9 connectors")
        terminal.press("s")
        terminal.sees("is read-only")
        terminal.press("q")
        assert terminal.exit_code() == 0


def test_an_outage_and_recovery() -> None:
    """A worker answers with a recording, stops listening for a while, then answers again."""
    entries = [json.loads(line) for line in RECORDING.read_text("utf-8").splitlines()]
    answers = {entry["path"]: entry["answer"] for entry in entries if entry.get("path") and "answer" in entry}

    def respond(request: Received) -> Answer:
        path = f"{request.path}?expand=status&expand=info" if "expand" in request.query else request.path
        return (200, JSON, answers[path]) if path in answers else (404, JSON, {"error_code": 404, "message": "none"})

    port = free_port()
    with Terminal(f"http://127.0.0.1:{port}") as terminal:
        for _ in range(2):
            with http_server(respond, port):
                terminal.sees("● polling", "orders-search", "9 connectors")
            terminal.sees("next try in", "unreachable", "orders-search")
        terminal.press("q")
        assert terminal.exit_code() == 0


def test_a_file_that_is_not_a_recording(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("{}\n")
    with Terminal("--replay", str(tmp_path / "x")) as terminal:
        assert terminal.exit_code() == 2
        assert "a recording (create one with" in terminal.text


def test_an_unwritable_recording_is_reported_at_start(tmp_path: Path) -> None:
    taken = tmp_path / "taken.jsonl"
    taken.write_text("of yesterday")
    with Terminal("http://127.0.0.1:1", "--record", str(taken)) as terminal:
        terminal.sees("the file is not empty (choose another file)")
        assert terminal.exit_code() == 2
    assert taken.read_text() == "of yesterday"
    with Terminal("http://127.0.0.1:1", "--record", str(tmp_path / "none" / "tape.jsonl")) as terminal:
        terminal.sees("cannot record to")
        assert terminal.exit_code() == 2
