"""When the offsets of stopped sinks expire, and the warning before it. With a clock of the test's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from runtime.herder.monitoring.expiry import Expiry
from runtime.model.states import TargetState

DAY = 86_400
WEEK = 7 * DAY


class Configs:
    """The config store's answers about a connector."""

    def __init__(self, stopped: int) -> None:
        self.target, self._stopped = TargetState.STOPPED, stopped

    def connector(self, name: str) -> Any:
        return SimpleNamespace(target=self.target)

    def target_written(self, name: str) -> int:
        return self._stopped * 1000


class Journal:
    """The journal's answers about a connector."""

    def __init__(self) -> None:
        self.changes: list[Any] = []

    def history(self, name: str) -> list[Any]:
        return self.changes


class Scene:
    """A sink that was stopped at a time, on brokers that keep offsets for a week."""

    def __init__(self, stopped: int, retention: int | None = WEEK) -> None:
        self.now = float(stopped)
        self.configs, self.journal = Configs(stopped), Journal()

        async def asked() -> int | None:
            return None if retention is None else retention * 1000

        self.expiry = Expiry(cast("Any", self.configs), cast("Any", self.journal), asked, lambda: self.now)

    async def warned(self, days: float) -> list[tuple[str, str]]:
        self.now += days * DAY
        return await self.expiry.warnings(["snk"])


async def test_one_is_warned_on_the_last_day_once_a_day() -> None:
    scene = Scene(stopped=1000 * DAY)
    assert await scene.expiry.expires_at("snk") == (1000 * DAY + WEEK) * 1000
    assert await scene.warned(5.9) == []
    ((name, words),) = await scene.warned(0.2)
    assert name == "snk"
    assert "expire in 21.6 h" in words
    assert await scene.warned(0.1) == []
    ((_, words),) = await scene.warned(1)
    assert "may have expired already" in words


async def test_a_change_of_its_offsets_starts_the_time_anew() -> None:
    scene = Scene(stopped=1000 * DAY)
    scene.journal.changes = [SimpleNamespace(time=1003 * DAY * 1000)]
    assert await scene.expiry.expires_at("snk") == (1003 * DAY + WEEK) * 1000
    assert await scene.warned(8) == []


async def test_nothing_expires_of_what_runs_or_where_brokers_do_not_tell() -> None:
    assert await Scene(0, retention=None).expiry.expires_at("snk") is None
    scene = Scene(stopped=0)
    scene.configs.target = TargetState.STARTED
    assert await scene.expiry.expires_at("snk") is None
    assert await scene.warned(30) == []


async def test_the_time_left_is_said_in_units_that_tell_something() -> None:
    for retention, left, said in ((420, 30, "expire in 30 s"), (14 * 3600, 3600, "expire in 60 min")):
        scene = Scene(stopped=0, retention=retention)
        ((_, words),) = await scene.warned((retention - left) / DAY)
        assert said in words
