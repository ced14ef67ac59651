"""The history of configs: what each change leaves, also of deleted connectors; bounded, and kept by the topic."""

from __future__ import annotations

import pytest

from runtime.kafka.log.log import TopicSpec
from runtime.model.states import TargetState
from runtime.storage.config_history import REQUEST_ORIGIN, ConfigAction, ConfigHistory
from runtime.storage.configs import ConfigStore
from runtime.storage.documents import Documents
from runtime.storage.history_ring import MAX_HISTORY
from runtime.storage.journal import ChangeOrigin
from tests.support.herder.memory_logs import TestLogs


class Stores:
    """The config store and its history, on logs in memory."""

    def __init__(self, **limits: int) -> None:
        self.logs = TestLogs()
        self.configs = ConfigStore(self.logs, TopicSpec("configs", 1, 1, "test", single=True))
        self.history = ConfigHistory(Documents(self.logs, TopicSpec("journal", 1, 1, "test", single=True)), **limits)
        self.configs.keep(self.history.add)


async def test_each_change_is_recorded_with_its_past() -> None:
    stores = Stores()
    REQUEST_ORIGIN.set(ChangeOrigin("ops", "ticket 7"))
    await stores.configs.put_connector("a", {"v": "1"}, TargetState.STOPPED)
    await stores.configs.put_connector("a", {"v": "1"})  # without an effect
    await stores.configs.put_connector("a", {"v": "2"})
    await stores.configs.remove_connector("a")
    deleted, updated, created = stores.history.of("a")
    assert (created.action, created.before, created.after, created.state) == (ConfigAction.CREATE, None, {"v": "1"}, "")
    assert (updated.action, updated.before, updated.after) == (ConfigAction.UPDATE, {"v": "1"}, {"v": "2"})
    assert (deleted.before, deleted.after, deleted.state) == ({"v": "2"}, None, "STOPPED")
    assert deleted.origin == ChangeOrigin("ops", "ticket 7") and deleted.number == 3
    assert stores.history.names() == ["a"] and not stores.history.of("b")


async def test_only_the_last_changes_are_kept() -> None:
    stores = Stores()
    for number in range(MAX_HISTORY + 5):
        await stores.configs.put_connector("a", {"v": str(number)})
    numbers = [past.number for past in stores.history.of("a")]
    assert numbers == list(range(MAX_HISTORY + 5, 5, -1))


async def test_a_worker_that_does_not_lead_records_nothing() -> None:
    stores = Stores()

    def check() -> None:
        raise RuntimeError("not the leader")

    stores.configs.guard(check)
    with pytest.raises(RuntimeError, match="not the leader"):
        await stores.configs.put_connector("a", {"v": "1"})
    assert not stores.history.of("a")


async def test_the_connectors_that_were_deleted_first_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    stores = Stores(max_deleted=2, check_every=1)
    await stores.configs.put_connector("stays", {"v": "1"})
    for number in range(4):
        monkeypatch.setattr("time.time", lambda now=number: float(now))
        await stores.configs.put_connector(f"a{number}", {"v": "1"})
        await stores.configs.remove_connector(f"a{number}")
    assert stores.history.names() == ["a2", "a3", "stays"]
    assert [past.action for past in stores.history.of("a3")] == [ConfigAction.DELETE, ConfigAction.CREATE]
