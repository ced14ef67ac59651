"""`connector.client.config.override.policy`: which settings of Kafka clients connectors may override (KIP-458)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runtime.api.errors import ConfigError
from runtime.config.foreign_plugins import ClientPolicy
from runtime.config.properties import comma_separated
from runtime.config.worker_config import WorkerConfig

KEY = "connector.client.config.override.policy"
ALLOWLIST_KEY = "connector.client.config.override.allowlist"
_PACKAGE, _SUFFIX = "org.apache.kafka.connect.connector.policy.", "ConnectorClientConfigOverridePolicy"
_PRINCIPAL = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})


def policy_of(worker: WorkerConfig) -> ClientPolicy:
    """The worker's policy. ConfigError for a class that this worker does not have."""
    return worker.client_policy or OverridePolicy.of(worker.originals)


@dataclass(frozen=True, slots=True)
class OverridePolicy:
    """A policy with the settings that it allows; `allowed` is None if it allows all."""

    name: str
    allowed: frozenset[str] | None

    @classmethod
    def of(cls, props: Mapping[str, str]) -> OverridePolicy:
        """The policy in the worker's properties; ConfigError for a Java class that this worker does not have."""
        given = props.get(KEY) or "All"
        name = given.removeprefix(_PACKAGE).removesuffix(_SUFFIX)
        listed = frozenset(comma_separated(props.get(ALLOWLIST_KEY, "")))
        known = {"All": None, "None": frozenset[str](), "Principal": _PRINCIPAL, "Allowlist": listed}
        if name not in known:
            raise ConfigError(
                f"{KEY}={given}: this worker does not have this policy; add its jars, with an entry in "
                f"META-INF/services, to plugin.path, or choose from {', '.join(known)}"
            )
        return cls(name, known[name])

    def refusals(
        self, name: str, kind: str, connector_class: str, client: str, settings: Mapping[str, str], parsed: bool = False
    ) -> dict[str, Sequence[str]]:
        """As ClientPolicy.refusals()."""
        return {setting: [reason] for setting in settings if (reason := self.refusal(setting)) is not None}

    def refusal(self, setting: str) -> str | None:
        """The reason why this client setting may not be overridden; None if overriding is allowed."""
        if self.allowed is None or setting in self.allowed:
            return None
        return f"The '{self.name}' policy does not allow '{setting}' to be overridden in the connector configuration."
