"""`connector.client.config.override.policy`: which settings of Kafka clients connectors may override (KIP-458)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.api.errors import ConfigError

KEY = "connector.client.config.override.policy"
ALLOWLIST_KEY = "connector.client.config.override.allowlist"
_PACKAGE, _SUFFIX = "org.apache.kafka.connect.connector.policy.", "ConnectorClientConfigOverridePolicy"
_PRINCIPAL = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})


@dataclass(frozen=True, slots=True)
class OverridePolicy:
    """`allowed` None: everything."""

    name: str
    allowed: frozenset[str] | None

    @classmethod
    def of(cls, props: Mapping[str, str]) -> OverridePolicy:
        """From the worker's properties; ConfigError for a policy of Java's alone."""
        given = props.get(KEY) or "All"
        name = given.removeprefix(_PACKAGE).removesuffix(_SUFFIX)
        listed = frozenset(k.strip() for k in props.get(ALLOWLIST_KEY, "").split(",") if k.strip())
        known = {"All": None, "None": frozenset[str](), "Principal": _PRINCIPAL, "Allowlist": listed}
        if name not in known:
            raise ConfigError(f"{KEY}={given}: this worker cannot run it; known are {', '.join(known)}")
        return cls(name, known[name])

    def refusal(self, setting: str) -> str | None:
        """Why this setting of a client may not be overridden; None when it may."""
        if self.allowed is None or setting in self.allowed:
            return None
        return f"The '{self.name}' policy does not allow '{setting}' to be overridden in the connector configuration."
