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
from tui.offsets import files, history, undo
from tui.offsets.change_store import ChangeStore
from tui.offsets.changes import changes
from tui.offsets.pending_changes import ChangeStep, PendingChange, advanced
from tui.offsets.plan import OffsetPlan, PlanAction

PARTITION = {"filename": "/tmp/ü \ud800"}
BEFORE = (Offset(PARTITION, {"position": 5}),)
NAMES = ("plain", "a/b", "..", "A", "a", "x" * 300, "ü \ud800", "")


def intent(name: str = "plain", to: int | None = 3) -> PendingChange:
    wanted = [Offset(PARTITION, None if to is None else {"position": to})]
    plan = OffsetPlan(name, BEFORE, tuple(changes(BEFORE, wanted)), "RUNNING", True, why="because")
    return PendingChange(plan, ChangeStep.ALTERING, BEFORE, "somebody")


@pytest.fixture
def book(tmp_path: Path) -> ChangeStore:
    return ChangeStore(tmp_path, "http://a:1", "somebody")


@pytest.mark.parametrize("name", NAMES)
def test_an_intent_comes_back_as_it_was(book: ChangeStore, name: str) -> None:
    one = intent(name)
    held = book.pending.lock(name)
    for step in ChangeStep:
        held.write(advanced(one, step))
        assert book.pending.of(name) == advanced(one, step)
    assert book.pending.interrupted() == [], "it is being carried out"
    held.release()
    assert book.pending.interrupted() == [advanced(one, ChangeStep.RESUMING)]
    held = book.pending.lock(name)
    held.drop()
    held.release()
    assert book.pending.of(name) is None and not list(book.pending.folder.iterdir())


def test_no_two_names_share_a_file() -> None:
    assert len({files.file_name(name).casefold() for name in NAMES}) == len(NAMES)
    assert all("/" not in files.file_name(name) and len(files.file_name(name)) < 200 for name in NAMES)


def test_one_at_a_time(book: ChangeStore) -> None:
    held = book.pending.lock("plain")
    with pytest.raises(Conflict, match="another console"):
        book.pending.lock("plain")
    book.pending.lock("other").release()
    held.release()
    book.pending.lock("plain").release()


def test_a_killed_process_lets_go(book: ChangeStore, tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from tui.offsets.files import Lock\n"
        "lock = Lock(Path(sys.argv[1])); print('held', flush=True); sys.stdin.readline()"
    )
    path = tmp_path / "one.lock"
    other = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    assert other.stdout is not None and other.stdout.readline() == b"held\n"
    with pytest.raises(files.LockHeld):
        files.Lock(path)
    other.kill()
    other.wait(30)
    files.Lock(path).release()


def test_history_is_bounded_private_and_newest_first(book: ChangeStore) -> None:
    for number in range(history.MAX_CHANGES + 5):
        book.histories.add(intent(to=100 + number))
    found = book.histories.read("plain")
    assert [past["number"] for past in found] == list(range(history.MAX_CHANGES + 5, 5, -1))
    assert found[0]["after"][0] == {"partition": PARTITION, "offset": {"position": history.MAX_CHANGES + 104}}
    assert (found[0]["who"], found[0]["why"], found[0]["before"][0]["offset"]) == (
        "somebody",
        "because",
        {"position": 5},
    )
    (file,) = book.histories.folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_same_change_is_there_once(book: ChangeStore) -> None:
    one = intent()
    book.histories.add(one)
    book.histories.add(advanced(one, ChangeStep.RESUMING))
    assert len(book.histories.read("plain")) == 1


def test_a_large_history_forgets_sooner(book: ChangeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_FILE_BYTES", 900)
    for number in range(5):
        book.histories.add(intent(to=100 + number))
    assert book.histories.read("plain")[0]["number"] == 5
    assert len(book.histories.read("plain")) < 5


def test_clusters_are_apart(tmp_path: Path, book: ChangeStore) -> None:
    book.histories.add(intent())
    assert ChangeStore(tmp_path, "prod").histories.read("plain") == []
    assert len(ChangeStore(tmp_path, "http://a:1/").histories.read("plain")) == 1


def test_what_cannot_be_kept_is_said(tmp_path: Path) -> None:
    (tmp_path / "changes").write_text("a file where a folder should be")
    with pytest.raises(HeadraceError, match=r"cannot use .*XDG_STATE_HOME"):
        ChangeStore(tmp_path, "x").pending.lock("plain")


def test_a_damaged_note_is_named(book: ChangeStore) -> None:
    held = book.pending.lock("plain")
    held.write(replace(intent(), who="x"))
    held.release()
    (file,) = book.pending.folder.glob("*.json")
    file.write_text("{")
    with pytest.raises(HeadraceError, match="not a change that this version understands"):
        book.pending.of("plain")


def test_what_changes_nothing_is_no_change(book: ChangeStore) -> None:
    """It does not bury what there is to undo."""
    book.histories.add(intent(to=3))
    nothing = intent(to=5)
    book.histories.add(replace(nothing, id="same"))
    reset = replace(
        intent(), plan=OffsetPlan("plain", None, (), "STOPPED", action=PlanAction.RESET), before=(), id="empty"
    )
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
    found = undo.OffsetHistory(tuple(map(undo.past_change, raw)), raw, True)
    assert undo.last(found, "x").number == 2
    with pytest.raises(HeadraceError, match="have not been changed yet"):
        undo.last(found._replace(entries=found.entries[:2]), "x")
