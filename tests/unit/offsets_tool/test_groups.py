"""Consumer groups of sinks as the tool finds them in the config topic."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtime.config.providers import providers
from runtime.kafka.formats import compact
from runtime.offsets_tool.cluster import Cluster, Record
from runtime.offsets_tool.errors import ToolError

ENV = {
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
}


def _sinks(monkeypatch: pytest.MonkeyPatch, group: str) -> dict[str, str]:
    config = {"properties": {"topics": "t", "consumer.override.group.id": group}}

    def read(_: Cluster, topic: str, take: Callable[[list[Record]], None]) -> None:
        take([(b"connector-a", compact(config), 0, 0)])

    monkeypatch.setattr(Cluster, "read", read)
    return Cluster("workers", "c", "o", "j", {}, providers(ENV)).sinks()


def test_a_group_may_be_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TEST_GROUP", "elsewhere")
    assert _sinks(monkeypatch, "${env:HEADRACE_TEST_GROUP}") == {"a": "elsewhere"}
    assert _sinks(monkeypatch, "plain") == {"a": "plain"}


@pytest.mark.parametrize("group", ["${env:HEADRACE_TEST_NOT_SET}", "${env:a:b}", "${vault:path:key}"])
def test_a_group_that_cannot_be_resolved_is_not_guessed(monkeypatch: pytest.MonkeyPatch, group: str) -> None:
    with pytest.raises(ToolError, match="of connector a"):
        _sinks(monkeypatch, group)
