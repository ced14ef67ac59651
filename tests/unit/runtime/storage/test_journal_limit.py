"""The histories of offsets of deleted connectors are limited in number."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.storage.journal import OffsetAction, OffsetJournal, PlannedChange
from tests.support.herder.memory_logs import TestLogs, topic


async def test_the_connectors_that_were_deleted_first_with_their_offsets_are_forgotten() -> None:
    journal = OffsetJournal(TestLogs(), topic("j"), max_deleted=2, check_every=1)
    stays = PlannedChange("stays", OffsetAction.ALTER, (), (), time=0)
    await journal.begin(stays)
    await journal.done(stays)
    for number in range(4):
        for action in (OffsetAction.ALTER, OffsetAction.DELETE):
            change = PlannedChange(f"a{number}", action, (), (), time=number)
            await journal.begin(change)
            await journal.done(change)
    kept = {name: await journal.history(name) for name in ("stays", "a0", "a1", "a2", "a3")}
    assert {name: len(history) for name, history in kept.items()} == {"stays": 1, "a0": 0, "a1": 0, "a2": 2, "a3": 2}
    assert journal.all_pending() == []


async def test_histories_are_removed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = OffsetJournal(TestLogs(), topic("j"), max_deleted=1, check_every=9)
    remove, removed = journal.documents.remove, list[int]()

    async def counted(*keys: str, writer: Any = None) -> None:
        removed.append(len(keys))
        await remove(*keys, writer=writer)

    monkeypatch.setattr(journal.documents, "remove", counted)
    for number in range(10):
        change = PlannedChange(f"a{number}", OffsetAction.DELETE, (), (), time=number)
        await journal.begin(change)
        await journal.done(change)
    assert sorted(removed) == [*[1] * 10, 9], "each planned change, and nine histories"
