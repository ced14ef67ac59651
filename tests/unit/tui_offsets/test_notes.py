"""What is kept on disk: private, bounded, whole; intents survive their process and nobody takes a living one's."""

from __future__ import annotations

import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tui.errors import Conflict, HeadraceError
from tui.model import Offset
from tui.offsets import files, history
from tui.offsets import undo as past
from tui.offsets.change_store import Notebook
from tui.offsets.changes import changes
from tui.offsets.pending_changes import Intent, Step, at
from tui.offsets.plan import Action, Plan

PARTITION = {"filename": "/tmp/ü \ud800"}
BEFORE = (Offset(PARTITION, {"position": 5}),)
NAMES = ("plain", "a/b", "..", "A", "a", "x" * 300, "ü \ud800", "")


def intent(name: str = "plain", to: int | None = 3) -> Intent:
    wanted = [Offset(PARTITION, None if to is None else {"position": to})]
    plan = Plan(name, BEFORE, tuple(changes(BEFORE, wanted)), "RUNNING", True, why="because")
    return Intent(plan, Step.ALTERING, BEFORE, "somebody")


@pytest.fixture
def book(tmp_path: Path) -> Notebook:
    return Notebook(tmp_path, "http://a:1", "somebody")


@pytest.mark.parametrize("name", NAMES)
def test_an_intent_comes_back_as_it_was(book: Notebook, name: str) -> None:
    one = intent(name)
    held = book.intents.hold(name)
    for step in Step:
        held.write(at(one, step))
        assert book.intents.of(name) == at(one, step)
    assert book.intents.interrupted() == [], "it is being carried out"
    held.release()
    assert book.intents.interrupted() == [at(one, Step.RESUMING)]
    held = book.intents.hold(name)
    held.drop()
    held.release()
    assert book.intents.of(name) is None and not list(book.intents.folder.iterdir())


def test_no_two_names_share_a_file() -> None:
    assert len({files.file_name(name).casefold() for name in NAMES}) == len(NAMES)
    assert all("/" not in files.file_name(name) and len(files.file_name(name)) < 200 for name in NAMES)


def test_one_at_a_time(book: Notebook) -> None:
    held = book.intents.hold("plain")
    with pytest.raises(Conflict, match="another console"):
        book.intents.hold("plain")
    book.intents.hold("other").release()
    held.release()
    book.intents.hold("plain").release()


def test_a_killed_process_lets_go(book: Notebook, tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from tui.offsets.files import Lock\n"
        "lock = Lock(Path(sys.argv[1])); print('held', flush=True); sys.stdin.readline()"
    )
    path = tmp_path / "one.lock"
    other = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    assert other.stdout is not None and other.stdout.readline() == b"held\n"
    with pytest.raises(files.Taken):
        files.Lock(path)
    other.kill()
    other.wait(30)
    files.Lock(path).release()


def test_history_is_bounded_private_and_newest_first(book: Notebook) -> None:
    for number in range(history.KEPT + 5):
        book.histories.add(intent(to=100 + number))
    found = book.histories.read("plain")
    assert [past["number"] for past in found] == list(range(history.KEPT + 5, 5, -1))
    assert found[0]["after"][0] == {"partition": PARTITION, "offset": {"position": history.KEPT + 104}}
    assert (found[0]["who"], found[0]["why"], found[0]["before"][0]["offset"]) == (
        "somebody",
        "because",
        {"position": 5},
    )
    (file,) = book.histories.folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_same_change_is_there_once(book: Notebook) -> None:
    one = intent()
    book.histories.add(one)
    book.histories.add(at(one, Step.RESUMING))
    assert len(book.histories.read("plain")) == 1


def test_a_large_history_forgets_sooner(book: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "LARGEST", 900)
    for number in range(5):
        book.histories.add(intent(to=100 + number))
    assert book.histories.read("plain")[0]["number"] == 5
    assert len(book.histories.read("plain")) < 5


def test_clusters_are_apart(tmp_path: Path, book: Notebook) -> None:
    book.histories.add(intent())
    assert Notebook(tmp_path, "prod").histories.read("plain") == []
    assert len(Notebook(tmp_path, "http://a:1/").histories.read("plain")) == 1


def test_what_cannot_be_kept_is_said(tmp_path: Path) -> None:
    (tmp_path / "changes").write_text("a file where a folder should be")
    with pytest.raises(HeadraceError, match=r"cannot use .*XDG_STATE_HOME"):
        Notebook(tmp_path, "x").intents.hold("plain")


def test_a_damaged_note_is_named(book: Notebook) -> None:
    held = book.intents.hold("plain")
    held.write(replace(intent(), who="x"))
    held.release()
    (file,) = book.intents.folder.glob("*.json")
    file.write_text("{")
    with pytest.raises(HeadraceError, match="no change that this version knows"):
        book.intents.of("plain")


def test_what_changes_nothing_is_no_change(book: Notebook) -> None:
    """It does not bury what there is to undo."""
    book.histories.add(intent(to=3))
    nothing = intent(to=5)
    book.histories.add(replace(nothing, id="same"))
    reset = replace(intent(), plan=Plan("plain", None, (), "STOPPED", action=Action.RESET), before=(), id="empty")
    book.histories.add(reset)
    (kept,) = book.histories.read("plain")
    assert kept["after"][0]["offset"] == {"position": 3}


def test_a_worker_that_keeps_what_changed_nothing() -> None:
    """What is undone is the last that changed something."""
    before = {"partition": PARTITION, "offset": {"position": 5}}
    entries: list[Any] = [
        ("reset", [], []),
        ("alter", [before], [before]),
        ("reset", [before], []),
        ("alter", [], [before]),
    ]
    common = {"who": "", "why": "", "time": 0}
    raw = [
        {**common, "number": 4 - place, "action": action, "before": was, "after": then}
        for place, (action, was, then) in enumerate(entries)
    ]
    found = past.History(tuple(map(past.read, raw)), raw, True)
    assert past.last(found, "x").number == 2
    with pytest.raises(HeadraceError, match="nobody has changed"):
        past.last(found._replace(entries=found.entries[:2]), "x")
