"""Somebody hands the user a file for `restore`, `apply`, `import offsets`, `preview` or `deadletters edit`, and another
local user reads what the console writes: nothing takes the console's memory or stack, and files are private."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tui import private_file, user_files
from tui.backup import document
from tui.commands.connectors.documents import documents
from tui.commands.offsets.altering import parse_entries
from tui.config.history_files import ConfigHistoryFiles
from tui.config.new_connector import NewConnector
from tui.contexts import kcctl
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError, UsageError
from tui.offsets import files
from tui.screens.home import command_history
from tui.screens.listing import ordering

ORDER = ordering.ListOrder("name")
DEEP = "[" * 200_000
READERS: dict[str, Callable[[str], Any]] = {
    "restore": lambda text: document.parse(text, "backup.json"),
    "apply": lambda text: documents(text, "connector.json"),
    "import offsets": lambda text: parse_entries(text, "offsets.json"),
    "config import-kcctl": lambda text: kcctl.read(text, ".kcctl"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "text", [DEEP, '{"a":' * 200_000, '{"a": ' + "9" * 5000 + "}"], ids=["lists", "objects", "digits"]
)
def test_a_file_of_nested_json_is_refused_with_its_name(reader: str, text: str) -> None:
    with pytest.raises(HeadraceError, match=r"backup|connector|offsets|kcctl"):
        READERS[reader](text)


def test_deep_initial_offsets_of_a_new_connector_are_reported() -> None:
    assert NewConnector("x.Y", offsets=DEEP).offsets_trouble().startswith("the initial offsets are not JSON")


@pytest.mark.parametrize("path", ["/dev/zero", "big"])
def test_an_endless_file_is_refused_at_the_limit(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "big").write_bytes(b"x" * 1025)
    with pytest.raises(UsageError, match=rf"cannot read {path}: it is larger than"):
        user_files.read_text(path, max_bytes=1024)
    (tmp_path / "big").write_bytes(b"x" * 1024)
    assert len(user_files.read_text("big", max_bytes=1024)) == 1024


def test_yaml_is_not_read_so_that_no_alias_expands() -> None:
    bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
    (read,) = documents(bomb, "connector.yaml", "name")
    assert read.config == {"a": "&a [x, x]", "b": "&b [*a, *a]", "c": "[*b, *b]", "name": "name"}


@pytest.mark.parametrize(
    "name", ["../../escaped", "/etc/passwd", "..", "a\0b", "x" * 5000, "\x1b]0;title\x07", "\ud800"]
)
def test_the_name_of_a_connector_never_leaves_the_folder_of_the_console(name: str, tmp_path: Path) -> None:
    history = ConfigHistoryFiles(tmp_path / "state", "http://cluster")
    history.add(name, None, {"connector.class": "x"}, "made", "me", "")
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written and all(path.is_relative_to(tmp_path / "state" / "config-history") for path in written)
    assert all(path.name.isprintable() for path in written)
    assert history.read(name)[0]["action"] == "create"


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


WRITERS: dict[str, Callable[[Path], object]] = {
    "contexts": lambda folder: ContextsFile(folder / "c.toml").put(Profile("http://h:1", "a", password="secret")),
    "command history": lambda folder: command_history.add(folder / "commands", "get connectors"),
    "sort order": lambda folder: ordering.store("a", ORDER, {"XDG_STATE_HOME": str(folder)}),
    "state": lambda folder: files.replace(folder / "a" / "b.json", "{}"),
    "export": lambda folder: private_file.replace(folder / "export.json", "{}"),
}  # fmt: skip


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("writer", WRITERS)
def test_another_local_user_cannot_read_what_the_console_writes(writer: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    WRITERS[writer](folder)
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}
    assert modes and set(modes.values()) == {0o600}


def test_a_link_in_the_place_of_a_draft_is_not_followed(tmp_path: Path) -> None:
    victim, file = tmp_path / "victim", tmp_path / "export.json"
    victim.write_text("mine")
    (tmp_path / f".export.json.{os.getpid()}").symlink_to(victim)
    private_file.replace(file, json.dumps({}))
    assert (victim.read_text(), file.read_text()) == ("mine", "{}")
