"""The rights that the workers and their connectors need on the brokers, as commands for kafka-acls.

docs/security.md#rights-on-the-brokers explains them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from shlex import quote

from runtime.config.properties import comma_separated
from runtime.config.worker_config import WorkerConfig
from runtime.migrate.connect_cluster import RunningConnector

PRINCIPAL = "User:CONNECT"
"""A placeholder: the file names a login, and only the brokers know its principal."""


def commands(config: WorkerConfig, connectors: Iterable[RunningConnector]) -> Iterator[str]:
    """One command for each resource."""
    topics = (config.configs.topic, config.offsets.topic, config.statuses.topic, config.journal_topic)
    for topic in topics:
        yield _command(config, f"--topic {quote(topic)}", "Describe", "DescribeConfigs", "Read", "Write")
    yield _command(config, f"--topic {quote(config.journal_topic)}", "Create")
    yield _command(config, f"--group {quote(config.group_id)}", "Read")
    for connector in connectors:
        yield from _of_connector(config, connector)


def _of_connector(config: WorkerConfig, connector: RunningConnector) -> Iterator[str]:
    if connector.type == "sink":
        group = connector.config.get("consumer.override.group.id") or f"connect-{connector.name}"
        yield _command(config, f"--group {quote(group)}", "Read", "Describe", "Delete")
        for topic in comma_separated(connector.config.get("topics", "")):
            yield _command(config, f"--topic {quote(topic)}", "Read", "Describe")
    elif config.exactly_once.transactional_leader:
        ids = f"--transactional-id {quote(f'{config.group_id}-{connector.name}-')} --resource-pattern-type prefixed"
        yield _command(config, ids, "Write", "Describe")
    if letters := connector.config.get("errors.deadletterqueue.topic.name"):
        yield _command(config, f"--topic {quote(letters)}", "Describe", "Write")


def _command(config: WorkerConfig, resource: str, *operations: str) -> str:
    words = " ".join(f"--operation {operation}" for operation in operations)
    servers = f"--bootstrap-server {config.bootstrap_servers}"
    return f"kafka-acls {servers} --add --allow-principal {PRINCIPAL} {words} {resource}"
