"""Sending a changed config to workers with and without PATCH."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.console.console_transports import InMemory
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.config.applying import ChangedMeanwhile, ConfigEdit, ConfigNotApplied, apply
from tui.config.changes import ConfigChange
from tui.errors import BadRequest, TimedOut


class Worker(InMemory):
    """Keeps one config. With `patch=False` it answers PATCH like workers without KIP-477."""

    url = "http://worker"

    def __init__(self, config: dict[str, str], patch: bool = True) -> None:
        self.config, self.patch = dict(config), patch
        self.calls: list[ApiCall] = []

    async def send(self, call: ApiCall) -> Any:
        self.calls.append(call)
        if call.method == "PATCH":
            if not self.patch:
                raise BadRequest("HTTP 405 Method Not Allowed", 405)
            merged = {**self.config, **call.body}
            self.config = {key: value for key, value in merged.items() if value is not None}
        elif call.method == "PUT":
            self.config = dict(call.body)
        return dict(self.config)

    @property
    def sent(self) -> list[tuple[str, Any]]:
        return [(call.method, call.body) for call in self.calls if call.changes]


BASE = {"name": "c", "a": "1", "password": "x"}
EDIT = ConfigEdit("c", BASE, (ConfigChange("a", "1", "2"), ConfigChange("b", None, "3")))


async def test_patch_sends_changed_keys_only() -> None:
    worker = Worker(BASE)
    done = await apply(EDIT, Connect(worker))
    assert worker.sent == [("PATCH", {"a": "2", "b": "3"})]
    assert done.patched and done.after == {**BASE, "a": "2", "b": "3"} and not done.differing


async def test_without_patch_the_complete_current_config_is_sent() -> None:
    worker, steps = Worker(BASE, patch=False), list[str]()
    done = await apply(EDIT, Connect(worker), steps.append)
    assert worker.sent[-1] == ("PUT", {**BASE, "a": "2", "b": "3"})
    assert not done.patched and any("does not support PATCH" in step for step in steps)


async def test_without_patch_a_mask_is_never_sent() -> None:
    hidden = {**BASE, "password": "********"}
    worker = Worker(hidden, patch=False)
    with pytest.raises(ConfigNotApplied, match="masks the value of password"):
        await apply(ConfigEdit("c", hidden, EDIT.changes), Connect(worker))
    assert worker.config == hidden
    given = (*EDIT.changes, ConfigChange("password", "********", "new"))
    done = await apply(ConfigEdit("c", hidden, given), Connect(worker))
    assert done.after["password"] == "new"


async def test_a_config_changed_by_someone_else_is_not_overwritten() -> None:
    worker = Worker({**BASE, "a": "7"})
    with pytest.raises(ChangedMeanwhile, match="changed the config: a") as raised:
        await apply(EDIT, Connect(worker))
    assert raised.value.theirs == (ConfigChange("a", "1", "7"),) and raised.value.now["a"] == "7"
    assert not worker.sent and raised.value.exit_code == 4


async def test_without_an_answer_the_result_is_unknown() -> None:
    class Slow(Worker):
        async def send(self, call: ApiCall) -> Any:
            if call.method == "PATCH":
                raise TimedOut("no response within 95 s")
            return await super().send(call)

    with pytest.raises(TimedOut, match="may have taken effect"):
        await apply(EDIT, Connect(Slow(BASE)))


async def test_keys_that_the_worker_ignored_are_reported() -> None:
    class Ignoring(Worker):
        async def send(self, call: ApiCall) -> Any:
            return dict(self.config) if call.method == "PATCH" else await super().send(call)

    done = await apply(EDIT, Connect(Ignoring(BASE)))
    assert [change.key for change in done.differing] == ["a", "b"]
