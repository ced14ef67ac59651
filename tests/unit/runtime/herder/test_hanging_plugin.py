"""Requests while a method of a plugin does not return."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from runtime.host.port import PluginTimeoutError
from tests.support.herder.herder_rig import HerderRig


async def test_a_creation_reports_the_method_that_does_not_return(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(config: Mapping[str, str | None], text_only: bool = False) -> dict[str, Any]:
        raise PluginTimeoutError("validate", datetime.now(UTC), "validate got no response within 30 s")

    rig = HerderRig()
    monkeypatch.setattr(rig.host, "validate", hang)
    with pytest.raises(PluginTimeoutError, match="performing multi-property validation for the connector"):
        await rig.herder.create("a", {"connector.class": "Source"}, None)
    assert rig.configs.connector("a") is None
