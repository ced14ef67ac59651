"""Copying through the terminal, also in tmux and screen, or into a file."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.support.console.console import console
from tui.clipboard import MAX_BYTES, copy, obstacle, sequence

TEXT = "stop connector 'a b'\n"
OSC_52 = f"\x1b]52;c;{base64.b64encode(TEXT.encode()).decode()}\x07"


def silent(scope: str, option: str) -> str:
    return ""


def test_a_plain_terminal_gets_osc_52() -> None:
    assert sequence(TEXT, {"TERM": "xterm-256color"}) == OSC_52


def test_tmux_gets_osc_52_with_and_without_passthrough() -> None:
    made = sequence(TEXT, {"TERM": "tmux-256color", "TMUX": "/run/tmux,1,0"})
    assert made == "\x1bPtmux;" + OSC_52.replace("\x1b", "\x1b\x1b") + "\x1b\\" + OSC_52


def test_screen_gets_short_sequences() -> None:
    made = sequence("x" * 3000, {"TERM": "screen", "STY": "1.pts"})
    pieces = made.split("\x1b\\")[:-1]
    assert len(pieces) == 8 and all(piece.startswith("\x1bP") and len(piece) <= 514 for piece in pieces)
    assert base64.b64decode("".join(piece[2:] for piece in pieces)[len("\x1b]52;c;") : -1]) == b"x" * 3000


@pytest.mark.parametrize(
    ("environ", "answers", "why"),
    [
        ({"TERM": "linux"}, {}, "no clipboard"),
        ({"TERM": "xterm", "VTE_VERSION": "6800"}, {}, "does not allow programs to copy"),
        ({"TERM": "tmux", "TMUX": "x"}, {}, "tmux does not allow"),
        (
            {"TERM": "tmux", "TMUX": "x"},
            {"set-clipboard": "external", "allow-passthrough": "off"},
            "tmux does not allow",
        ),
        ({"TERM": "tmux", "TMUX": "x"}, {"set-clipboard": "on"}, ""),
        ({"TERM": "tmux", "TMUX": "x"}, {"allow-passthrough": "on"}, ""),
        ({"TERM": "xterm", "VTE_VERSION": "7600"}, {}, ""),
    ],
)
def test_terminals_that_do_not_copy_are_detected(environ: dict[str, str], answers: dict[str, str], why: str) -> None:
    found = obstacle(10, environ, lambda scope, option: answers.get(option, ""))
    assert why in found and bool(why) == bool(found)


def test_a_long_text_is_written_to_a_private_file(tmp_path: Path) -> None:
    done = copy("x" * (MAX_BYTES + 1), {"TERM": "xterm"}, tmp_path / "state", silent, lambda text: False)
    file = tmp_path / "state" / "copied.txt"
    assert done.sequence == "" and str(file) in done.message
    assert file.stat().st_mode & 0o777 == 0o600 and len(file.read_text()) == MAX_BYTES + 2


@pytest.mark.parametrize("takes", [True, False])
def test_without_passthrough_the_tmux_buffer_is_used(tmp_path: Path, takes: bool) -> None:
    loaded: list[bytes] = []

    def load(text: bytes) -> bool:
        loaded.append(text)
        return takes

    environ = {"TERM": "tmux-256color", "TMUX": "/run/tmux,1,0"}
    done = copy(TEXT, environ, tmp_path, lambda scope, option: "off", load)
    assert loaded == [TEXT.encode()] and done.sequence == ""
    assert ("copied by tmux" in done.message) is takes and (tmp_path / "copied.txt").exists() is not takes
    copy(TEXT, {"TERM": "linux"}, tmp_path, silent, load)
    assert len(loaded) == 1, "only in the tmux session of the program"


async def test_the_screen_shows_where_the_copy_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("TERM", "linux")
    monkeypatch.delenv("TMUX", raising=False)
    async with console("http://127.0.0.1:1") as seen:
        await seen.until(lambda: seen.home.services)
        operation = seen.home.operations.begin("stop", "c", lines=("stop connector c",), doing="stopping")
        seen.home.operations.failed(operation, "no")
        await seen.press("o", "y")
        file = tmp_path / "headrace" / "copied.txt"
        await seen.sees("this terminal has no clipboard: written to")
        assert file.read_text() == "stop connector c\n"
