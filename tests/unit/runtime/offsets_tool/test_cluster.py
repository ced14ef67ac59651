"""Consumer groups of sinks, read from the config topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from runtime.config.providers import providers
from runtime.kafka.formats import compact
from runtime.offsets_tool.cluster import OfflineCluster, Record
from runtime.offsets_tool.errors import ToolError

ENV = {
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
}


class _ClusterWithOneSink(OfflineCluster):
    """Reads one record of its config topic from `group` instead of Kafka."""

    group = ""

    def read(self, topic: str, take: Callable[[Sequence[Record]], None]) -> None:
        config = {"properties": {"topics": "t", "consumer.override.group.id": self.group}}
        take([(b"connector-a", compact(config), 0, 0)])


def _sinks(group: str) -> dict[str, str]:
    cluster = type("_Cluster", (_ClusterWithOneSink,), {"group": group})
    found: dict[str, str] = cluster("workers", "c", "o", "j", {}, providers(ENV)).sinks()
    return found


def test_a_group_may_be_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TEST_GROUP", "elsewhere")
    assert _sinks("${env:HEADRACE_TEST_GROUP}") == {"a": "elsewhere"}
    assert _sinks("plain") == {"a": "plain"}


@pytest.mark.parametrize("group", ["${env:HEADRACE_TEST_NOT_SET}", "${env:a:b}", "${vault:path:key}"])
def test_a_group_that_cannot_be_resolved_is_not_guessed(group: str) -> None:
    with pytest.raises(ToolError, match="of connector a"):
        _sinks(group)
