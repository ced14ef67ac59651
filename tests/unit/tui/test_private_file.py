"""Exported files can be read by their user only."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tui import private_file
from tui.appearance import settings
from tui.commands.connectors.documents import files_of
from tui.config import promotion
from tui.contexts.contexts_file import ContextsFile
from tui.errors import HeadraceError, UsageError
from tui.screens.dead_letters.dead_letters import DeadLettersScreen
from tui.screens.home import command_history
from tui.screens.topics.records_screen import RecordsScreen


def test_a_file_that_others_could_read(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text("longer than the new text")
    file.chmod(0o666)
    private_file.write(file, "new")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new", 0o600)


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_a_file_of_the_console_that_is_not_a_file_does_not_block(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "contexts.toml"
    {"pipe": os.mkfifo, "folder": os.mkdir, "device": lambda path: path.symlink_to("/dev/zero")}[kind](file)
    with pytest.raises(HeadraceError, match=r"cannot read .*contexts.toml: not a regular file"):
        ContextsFile(file).load()
    (tmp_path / "config.toml").symlink_to(file)
    with pytest.raises(UsageError, match="not a regular file"):
        promotion.load(tmp_path, "prod")
    assert "not a regular file" in settings.load(tmp_path)[1][0]
    assert command_history.load(file) == []


def test_a_pipe_in_a_folder_of_connectors_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.json")
    with pytest.raises(UsageError, match=r"a\.json: not a regular file"):
        files_of(str(tmp_path))


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """As root, replacing `/dev/stdout` or `/dev/null` would affect all programs."""
    reader, writer = os.pipe()
    private_file.save(Path(f"/dev/fd/{writer}"), "one\n")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    keep = os.open(pipe, os.O_RDWR)
    private_file.save(pipe, "two\n")
    assert (os.read(reader, 99), os.read(keep, 99)) == (b"one\n", b"two\n")
    pipe.chmod(0o666)
    private_file.write(pipe, "three\n")
    assert os.read(keep, 99) == b"three\n"
    assert pipe.is_fifo() and pipe.stat().st_mode & 0o777 == 0o666
    for number in (reader, writer, keep):
        os.close(number)


@pytest.mark.parametrize("screen", [RecordsScreen, DeadLettersScreen])
def test_exports(screen: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    topic = SimpleNamespace(topic="t")
    page = SimpleNamespace(
        source=topic, topic=topic, records={}, shown_keys=[], marked=(), shown_letters={}, report=print
    )
    before = os.umask(0)
    try:
        screen.action_export(cast(Any, page))
    finally:
        os.umask(before)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
