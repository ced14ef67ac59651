"""Changes on disk: private, bounded, atomic. A pending change survives its process and is locked while in use."""

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
from tui.offsets import files, undo
from tui.offsets.change_store import MAX_CHANGES, ChangeStore, HistoryFiles
from tui.offsets.changes import changes
from tui.offsets.pending_changes import ChangeStep, PendingChange, advanced
from tui.offsets.plan import OffsetPlan, PlanAction

PARTITION = {"filename": "/tmp/ü \ud800"}
BEFORE = (Offset(PARTITION, {"position": 5}),)
NAMES = ("plain", "a/b", "..", "A", "a", "x" * 300, "ü \ud800", "")


def pending_change(name: str = "plain", to: int | None = 3) -> PendingChange:
    wanted = [Offset(PARTITION, None if to is None else {"position": to})]
    plan = OffsetPlan(name, BEFORE, tuple(changes(BEFORE, wanted)), "RUNNING", True, why="because")
    return PendingChange(plan, ChangeStep.ALTERING, BEFORE, "somebody")


@pytest.fixture
def store(tmp_path: Path) -> ChangeStore:
    return ChangeStore(tmp_path, "http://a:1", "somebody")


@pytest.mark.parametrize("name", NAMES)
def test_a_pending_change_is_read_back_unchanged(store: ChangeStore, name: str) -> None:
    one = pending_change(name)
    held = store.pending.lock(name)
    for step in ChangeStep:
        held.write(advanced(one, step))
        assert store.pending.of(name) == advanced(one, step)
    assert store.pending.interrupted() == [], "this process is still applying the change"
    held.release()
    assert store.pending.interrupted() == [advanced(one, ChangeStep.RESUMING)]
    held = store.pending.lock(name)
    held.drop()
    held.release()
    assert store.pending.of(name) is None and not list(store.pending.folder.iterdir())


def test_no_two_names_share_a_file() -> None:
    assert len({files.file_name(name).casefold() for name in NAMES}) == len(NAMES)
    assert all("/" not in files.file_name(name) and len(files.file_name(name)) < 200 for name in NAMES)


def test_only_one_change_of_a_connector_at_a_time(store: ChangeStore) -> None:
    held = store.pending.lock("plain")
    with pytest.raises(Conflict, match="another console"):
        store.pending.lock("plain")
    store.pending.lock("other").release()
    held.release()
    store.pending.lock("plain").release()


def test_a_killed_process_releases_its_lock(store: ChangeStore, tmp_path: Path) -> None:
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


def test_history_is_bounded_private_and_newest_first(store: ChangeStore) -> None:
    for number in range(MAX_CHANGES + 5):
        store.histories.add(pending_change(to=100 + number))
    found = store.histories.read("plain")
    assert [past["number"] for past in found] == list(range(MAX_CHANGES + 5, 5, -1))
    assert found[0]["after"][0] == {"partition": PARTITION, "offset": {"position": MAX_CHANGES + 104}}
    assert (found[0]["who"], found[0]["why"], found[0]["before"][0]["offset"]) == (
        "somebody",
        "because",
        {"position": 5},
    )
    (file,) = store.histories.folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_change_is_recorded_once(store: ChangeStore) -> None:
    one = pending_change()
    store.histories.add(one)
    store.histories.add(advanced(one, ChangeStep.RESUMING))
    assert len(store.histories.read("plain")) == 1


def test_a_large_history_keeps_fewer_changes(tmp_path: Path) -> None:
    histories = HistoryFiles(tmp_path, max_bytes=900)
    for number in range(5):
        histories.add(pending_change(to=100 + number))
    assert histories.read("plain")[0]["number"] == 5
    assert len(histories.read("plain")) < 5


def test_each_cluster_has_its_own_history(tmp_path: Path, store: ChangeStore) -> None:
    store.histories.add(pending_change())
    assert ChangeStore(tmp_path, "prod").histories.read("plain") == []
    assert len(ChangeStore(tmp_path, "http://a:1/").histories.read("plain")) == 1


def test_an_unusable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "changes").write_text("a file where a folder should be")
    with pytest.raises(HeadraceError, match=r"cannot use .*XDG_STATE_HOME"):
        ChangeStore(tmp_path, "x").pending.lock("plain")


def test_a_damaged_file_is_reported(store: ChangeStore) -> None:
    held = store.pending.lock("plain")
    held.write(replace(pending_change(), who="x"))
    held.release()
    (file,) = store.pending.folder.glob("*.json")
    file.write_text("{")
    with pytest.raises(HeadraceError, match="not a change that this version understands"):
        store.pending.of("plain")


def test_a_change_without_effect_is_not_recorded(store: ChangeStore) -> None:
    """The last change with an effect can still be undone."""
    store.histories.add(pending_change(to=3))
    nothing = pending_change(to=5)
    store.histories.add(replace(nothing, id="same"))
    reset = replace(
        pending_change(), plan=OffsetPlan("plain", None, (), "STOPPED", action=PlanAction.RESET), before=(), id="empty"
    )
    store.histories.add(reset)
    (kept,) = store.histories.read("plain")
    assert kept["after"][0]["offset"] == {"position": 3}


def test_undo_skips_changes_without_effect() -> None:
    """Undo reverts the last change with an effect, although the worker's history has later entries."""
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
