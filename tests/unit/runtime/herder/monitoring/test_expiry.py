"""When the offsets of stopped sinks expire, and the warnings before that. The tests control the clock."""

from __future__ import annotations

from typing import cast

from runtime.herder.monitoring.expiry import Expiry
from runtime.model.states import TargetState
from runtime.storage.configs import ConfigStore, StoredConnector
from runtime.storage.journal import OffsetJournal

DAY = 86_400
WEEK = 7 * DAY


class _Stores:
    """A config store with one sink, and a journal."""

    def __init__(self, stopped: int) -> None:
        self.stopped, self.target = stopped, TargetState.STOPPED
        self.changed = 0

    def connector(self, name: str) -> StoredConnector:
        return StoredConnector(name, {}, self.target, ())

    def target_written(self, name: str) -> int:
        return self.stopped * 1000

    def latest(self, name: str) -> tuple[int, int]:
        return int(self.changed > 0), self.changed


class Scene:
    """A sink stopped at a given time in seconds, on brokers that keep offsets for a week."""

    def __init__(self, stopped: int, retention: int | None = WEEK) -> None:
        self.now = float(stopped)
        self.stores = _Stores(stopped)

        async def query() -> int | None:
            return None if retention is None else retention * 1000

        configs, journal = cast(ConfigStore, self.stores), cast(OffsetJournal, self.stores)
        self.expiry = Expiry(configs, journal, query, lambda: self.now)

    async def warnings_after(self, days: float) -> list[tuple[str, str]]:
        self.now += days * DAY
        return await self.expiry.warnings(["snk"])


async def test_a_warning_is_sent_once_a_day_from_the_last_day_on() -> None:
    scene = Scene(stopped=1000 * DAY)
    assert await scene.expiry.expires_at("snk") == (1000 * DAY + WEEK) * 1000
    assert await scene.warnings_after(5.9) == []
    ((name, warning),) = await scene.warnings_after(0.2)
    assert name == "snk"
    assert "expire in 21.6 h" in warning
    assert await scene.warnings_after(0.1) == []
    ((_, warning),) = await scene.warnings_after(1)
    assert "may have expired already" in warning


async def test_a_change_of_offsets_restarts_the_retention() -> None:
    scene = Scene(stopped=1000 * DAY)
    scene.stores.changed = 1003 * DAY * 1000
    assert await scene.expiry.expires_at("snk") == (1003 * DAY + WEEK) * 1000
    assert await scene.warnings_after(8) == []


async def test_offsets_of_running_sinks_and_with_unknown_retention_do_not_expire() -> None:
    assert await Scene(0, retention=None).expiry.expires_at("snk") is None
    scene = Scene(stopped=0)
    scene.stores.target = TargetState.STARTED
    assert await scene.expiry.expires_at("snk") is None
    assert await scene.warnings_after(30) == []


async def test_the_remaining_time_has_a_suitable_unit() -> None:
    for retention, left, expected in ((420, 30, "expire in 30 s"), (14 * 3600, 3600, "expire in 60 min")):
        scene = Scene(stopped=0, retention=retention)
        ((_, warning),) = await scene.warnings_after((retention - left) / DAY)
        assert expected in warning
