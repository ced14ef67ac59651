"""Storage and group membership of a worker: topics and a group (distributed), or files (standalone)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from runtime.config.standalone_config import StandaloneConfig
from runtime.config.worker_config import WorkerConfig
from runtime.kafka.clients.settings import client_config
from runtime.kafka.cluster_monitor import ClusterMonitor
from runtime.kafka.group.membership import Joined, Membership
from runtime.kafka.log.log import TopicLogs
from runtime.storage.file_logs import FileLogs
from runtime.storage.file_offsets import OffsetsFile
from runtime.storage.port import Logs


class GroupMembership(Protocol):
    """A worker's membership in the group of its Connect cluster."""

    async def join(self) -> Joined:
        """Join the group; waits without a time limit."""

    async def leave(self) -> None:
        """Leave the group, so that another worker can take over at once."""

    @property
    def trouble(self) -> str:
        """The reason why the membership is not confirmed; empty while it is confirmed."""

    @property
    def confirmed_until(self) -> float:
        """The time.monotonic() until which no other worker can take over."""


@dataclass(frozen=True, slots=True)
class WorkerStorage:
    """The logs in which a worker's stores are kept, and its group."""

    logs: Logs
    membership: GroupMembership


StorageFactory = Callable[[WorkerConfig, str, Callable[[str], None]], WorkerStorage]
"""Arguments: the configuration, the URL that other workers use for this worker, and a callback that is called with the
reason when the membership is lost."""


class NoGroup:
    """The membership of a standalone worker, which does not join a group."""

    confirmed_until = math.inf
    trouble = ""

    async def join(self) -> Joined:
        return Joined("", 0)

    async def leave(self) -> None:
        return


def kafka_storage(config: WorkerConfig, url: str, on_lost: Callable[[str], None]) -> WorkerStorage:
    """A distributed worker: three topics and a group."""
    settings = admin_settings(config)
    times = config.session_timeout, config.heartbeat, config.rebalance_timeout
    return WorkerStorage(TopicLogs(settings), Membership(settings, config.group_id, f"{url}/", on_lost, *times))


def file_storage(standalone: StandaloneConfig) -> StorageFactory:
    """A standalone worker: a file for the offsets, another file for the journal of their changes, and no group."""

    def make(config: WorkerConfig, url: str, on_lost: Callable[[str], None]) -> WorkerStorage:
        offsets = standalone.offsets_file
        journal = offsets.with_name(f"{offsets.name}.journal")
        files = {config.offsets.topic: OffsetsFile(offsets), config.journal_topic: OffsetsFile(journal)}
        return WorkerStorage(FileLogs(ClusterMonitor(admin_settings(config)), files), NoGroup())

    return make


def admin_settings(config: WorkerConfig) -> dict[str, object]:
    """librdkafka's settings for the worker's own admin requests."""
    return client_config(config.originals, "admin", client_id=f"{config.group_id}-worker").settings


def client_warnings(config: WorkerConfig) -> list[str]:
    """Warnings about Kafka client properties of the worker's file that have no effect here."""
    found = list(client_config(config.originals, "admin").warnings)
    for kind in ("producer", "consumer", "admin"):
        found += (f"{kind}.: {warning}" for warning in client_config(config.originals, kind, {}).warnings)
    https = any(listener.scheme == "https" for listener in config.listeners)
    return [w for w in dict.fromkeys(found) if not (https and w.startswith("ssl."))]  # https listeners use them


def lease_remaining(membership: GroupMembership) -> Callable[[], float]:
    """A function that returns the seconds for which slots may continue to run tasks."""
    return lambda: membership.confirmed_until - time.monotonic()
