"""Themes and keys of the user: read at start and after each change of the files; errors are reported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from tests.support.console.snapshot import recorded
from tui.screens.base.dialog import Dialog
from tui.screens.base.reading import Reading


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "headrace" / "themes").mkdir(parents=True)
    return tmp_path / "headrace"


def write(file: Path, text: str) -> None:
    """Writes a file with a different modification time, even on file systems with coarse timestamps."""
    before = file.stat().st_mtime_ns if file.exists() else 0
    file.write_text(text)
    os.utime(file, ns=(before + 2_000_000_000, before + 2_000_000_000))


def mine(accent: str) -> str:
    dark = (files("themes") / "headrace-dark.toml").read_text("utf-8")
    return dark.replace('"headrace-dark"', '"mine"').replace("#6cb6e8", accent)


async def test_a_user_theme_is_reloaded_when_its_file_changes(folder: Path) -> None:
    write(folder / "themes" / "mine.toml", mine("#ffffff"))
    write(folder / "config.toml", 'theme = "mine"\n')
    async with recorded(80, 24) as seen:
        await seen.sees("orders-log")
        assert seen.app.theme == "mine" and seen.app.current_theme.accent == "#ffffff"
        write(folder / "themes" / "mine.toml", mine("#abcdef"))
        await seen.until(lambda: seen.app.current_theme.accent == "#abcdef", "the changed theme")
        await seen.until(lambda: seen.app.theme_variables["accent"].lower() == "#abcdef", "its colours on the screen")
        write(folder / "themes" / "mine.toml", "no = toml = at all")
        await seen.sees("mine.toml is not TOML")
        write(folder / "config.toml", 'theme = "light"\n')
        await seen.until(lambda: seen.app.theme == "headrace-light", "the other theme")


async def test_keys_are_set_by_id_and_conflicts_reported(folder: Path) -> None:
    write(folder / "config.toml", '[keys]\nhelp = "f1,question_mark"\nfilter = "n"\nnope = "x"\n')
    async with recorded(80, 24) as seen:
        await seen.sees("orders-log")
        await seen.sees("config.toml: ", "and 1 more")
        complaints = " ".join(seen.app.appearance.problems)
        assert "unknown key id 'nope'" in complaints
        assert "n is assigned to both filter and next-failure: [keys] filter is ignored" in complaints
        await seen.press("f1")
        await seen.sees("keys that work here")
        await seen.press("escape")
        write(folder / "config.toml", '[keys]\nquit = "Q"\n')
        await seen.until(lambda: not seen.app.appearance.problems, "the keys to be read again")
        await seen.press("q")
        assert seen.app.is_running and not isinstance(seen.app.screen, Dialog)


WRONG = 'theme = "lihgt"\nbogus = 1\n[keys]\nfilter = "s"\nstpo = "x"\nhelp = 5\n'
NAMED = (
    "config.toml has the unknown key 'bogus'; expected theme, [keys], [[rules]], [[commands]] and [promote.CONTEXT]",
    'config.toml: [keys] help must be text, for example help = "S"',
    "unknown theme 'lihgt'; choose from headrace-",
    "config.toml: s is assigned to both filter and stop: [keys] filter is ignored",
    "config.toml: unknown key id 'stpo'; did you mean 'stop'?",
)


async def test_all_errors_in_settings_are_reported(folder: Path) -> None:
    write(folder / "config.toml", WRONG)
    async with recorded(100, 24) as seen:
        await seen.sees("has the unknown key 'bogus'", "and 4 more, see `:config`")
        complaints = seen.app.appearance.problems
        assert len(complaints) == len(NAMED)
        assert all(named in complaint for named, complaint in zip(NAMED, complaints, strict=True)), complaints
        await seen.press("colon", *"config", "enter")
        await seen.until(lambda: isinstance(seen.app.screen, Reading), "the settings")
        assert isinstance(page := seen.app.screen, Reading)
        assert all(named in page.content(80).plain for named in NAMED)


def test_the_config_command_reports_errors_in_settings(folder: Path) -> None:
    write(folder / "config.toml", WRONG)
    words = [sys.executable, "-m", "tui.main", "config", "-o", "json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    found = [row["value"] for row in json.loads(done.stdout) if row["setting"] == "mistake"]
    assert len(found) == len(NAMED)
    assert all(named in complaint for named, complaint in zip(NAMED, found, strict=True)), found


@pytest.mark.parametrize("name", ["headrace-ansi", "headrace-safe", "headrace-mono"])
async def test_every_screen_is_drawn_in_every_theme(folder: Path, name: str) -> None:
    write(folder / "config.toml", f'theme = "{name}"\n')
    async with recorded(120, 40) as seen:
        await seen.sees("orders-log")
        assert seen.app.theme == name
        for key in ("question_mark", "o", "C"):
            await seen.press(key)
            await seen.press("escape")
        await seen.go("orders-log")
        await seen.press("enter", *"1234567")
        assert seen.app.is_running


async def test_a_screenshot_is_a_self_contained_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    async with recorded(80, 24) as seen:
        await seen.sees("orders-log")
        await seen.press("f12")
        await seen.sees("written to")
    pictures = list(folder.rglob("*.svg"))  # noqa: ASYNC240 - nothing else runs any more
    svg = pictures[0].read_text("utf-8")
    assert len(pictures) == 1 and "orders-log" in svg
    assert "url(http" not in svg and "@font-face" not in svg
    assert "✗ FAILED" in pictures[0].with_suffix(".txt").read_text("utf-8")
