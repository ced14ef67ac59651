"""Requests while a method of a plugin does not return, and after the leadership is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from runtime.herder.errors import Conflict
from runtime.host.port import PluginTimeoutError
from runtime.model.states import TargetState
from tests.support.herder.herder_rig import HerderRig


async def test_a_creation_reports_the_method_that_does_not_return(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(config: Mapping[str, str | None], text_only: bool = False) -> dict[str, Any]:
        raise PluginTimeoutError("validate", datetime.now(UTC), "validate got no response within 30 s")

    rig = HerderRig()
    monkeypatch.setattr(rig.host, "validate", hang)
    with pytest.raises(PluginTimeoutError, match="performing multi-property validation for the connector"):
        await rig.herder.create("a", {"connector.class": "Source"}, None)
    assert rig.configs.connector("a") is None


async def test_a_request_writes_nothing_after_the_leadership_is_lost() -> None:
    rig = HerderRig()
    await rig.create("a")
    await rig.until(lambda: bool(rig.tasks("a")))
    log = rig.logs.by_topic["c"]
    log.held = b"commit-a"
    stopping = asyncio.create_task(rig.herder.stop("a"))
    await asyncio.wait_for(log.holding.wait(), 30)
    rig.group.leads = False
    log.may_go.set()
    with pytest.raises(Conflict):
        await stopping
    assert rig.herder.stored("a").target is TargetState.STARTED
    with pytest.raises(Conflict):
        await rig.configs.put_connector("a", {})
    await rig.configs.put_logger_level("root", "INFO")  # written by any worker
    rig.group.leads = True
    await rig.close()
