"""What the worker itself has against a connector's configuration, beyond what plugins and Connect's keys say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.config import WorkerConfig
from runtime.herder import topic_creation
from runtime.herder.assignment import DEDICATED, ISOLATION, SHARED
from runtime.herder.overrides import OverridePolicy
from runtime.kafka.clients import client_config
from runtime.kafka.errors import ClientConfigError
from runtime.vocabulary import ConnectorType

_DEAD_LETTERS = "errors.deadletterqueue.topic.name"
_GROUP = "consumer.override.group.id"
_FILE_CONNECTORS = ("FileStreamSource", "FileStreamSink")


@dataclass(frozen=True, slots=True)
class Finding:
    """An error at a key."""

    key: str
    message: str


class WorkerChecks:
    """Adds errors to the answer of a validation."""

    def __init__(self, worker: WorkerConfig) -> None:
        self._worker = worker
        self._policy = OverridePolicy.of(worker.originals)
        self._paths = tuple(Path(p).resolve() for p in worker.file_paths)

    def apply(self, kind: str, config: Mapping[str, str], answer: dict[str, Any]) -> None:
        """`config` is of a connector of this kind (source, sink), its variables resolved."""
        for finding in self._find(kind, config):
            _add(answer, finding, config.get(finding.key))

    def _find(self, kind: str, config: Mapping[str, str]) -> Iterator[Finding]:
        for client in _clients(kind, config):
            yield from self._overrides(client, config)
        if kind == ConnectorType.SINK:
            yield from self._group(config)
        yield from self._file(config)
        if config.get(ISOLATION, SHARED) not in (SHARED, DEDICATED):
            values = f"must be one of: {SHARED}, {DEDICATED}"
            yield Finding(ISOLATION, f"Invalid value {config[ISOLATION]} for configuration {ISOLATION}: {values}")

    def _overrides(self, client: str, config: Mapping[str, str]) -> Iterator[Finding]:
        prefix = f"{client}.override."
        for key in [k for k in config if k.startswith(prefix)]:
            refusal = self._policy.refusal(key[len(prefix) :])
            if refusal is not None:
                yield Finding(key, refusal)
                continue
            try:
                client_config({}, client, {key: config[key]})
            except ClientConfigError as e:
                yield Finding(key, str(e))

    def _group(self, config: Mapping[str, str]) -> Iterator[Finding]:
        """A sink in the workers' own group would keep them from ever agreeing on anything."""
        name, ours = config.get("name", ""), self._worker.group_id
        if _GROUP in config:
            if config[_GROUP] == ours:
                yield Finding(_GROUP, f"Consumer group {ours} conflicts with Connect worker group {ours}")
        elif f"connect-{name}" == ours:
            message = f"Consumer group for sink connector named {name} conflicts with Connect worker group {ours}"
            yield Finding("name", message)

    def _file(self, config: Mapping[str, str]) -> Iterator[Finding]:
        """`headrace.file.paths`: below which folders the file connectors may name files."""
        cls = config.get("connector.class", "").rpartition(".")[2].removesuffix("Connector")
        if not self._paths or cls not in _FILE_CONNECTORS:
            return
        file = config.get("file", "")
        if not any(Path(file).resolve().is_relative_to(path) for path in self._paths):
            yield Finding("file", f"Invalid value {file} for configuration file: not below one of headrace.file.paths")


def _clients(kind: str, config: Mapping[str, str]) -> list[str]:
    """The Kafka clients that the connector makes the worker use: overrides of others mean nothing."""
    if kind == ConnectorType.SOURCE:
        created = any(key.startswith(topic_creation.PREFIX) for key in config)
        return ["producer", "admin"] if created else ["producer"]
    return ["consumer", "producer", "admin"] if config.get(_DEAD_LETTERS) else ["consumer"]


def _add(answer: dict[str, Any], finding: Finding, value: str | None) -> None:
    answer["error_count"] += 1
    for entry in answer["configs"]:
        if entry["value"]["name"] == finding.key:
            entry["value"]["errors"].append(finding.message)
            return
    definition = {
        "name": finding.key, "type": "STRING", "required": False, "default_value": None, "importance": "MEDIUM",
        "documentation": "", "group": None, "order_in_group": -1, "width": "NONE", "display_name": finding.key,
        "dependents": [],
    }  # fmt: skip
    found = {"name": finding.key, "value": value, "recommended_values": [], "errors": [finding.message]}
    answer["configs"].append({"definition": definition, "value": {**found, "visible": True}})
