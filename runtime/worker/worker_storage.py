"""What the two kinds of worker stand on: where their stores are kept, and their place beside other workers."""

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
    """A worker's place in a group."""

    async def join(self) -> Joined:
        """Take the place; waits for it as long as it takes."""

    async def leave(self) -> None: ...

    @property
    def trouble(self) -> str:
        """Why the membership is not confirmed; empty while it is."""

    @property
    def confirmed_until(self) -> float:
        """The time.monotonic() until which the place is surely ours."""


@dataclass(frozen=True, slots=True)
class WorkerStorage:
    """What a worker stands on."""

    logs: Logs
    place: GroupMembership


StorageFactory = Callable[[WorkerConfig, str, Callable[[str], None]], WorkerStorage]
"""From a config, the URL by which others reach the worker, and what to call when its place is lost."""


class NoGroup:
    """The place of a worker that shares its work with nobody."""

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
    """A standalone worker: a file for the offsets, one beside it for what is being done to them, and no group."""

    def make(config: WorkerConfig, url: str, on_lost: Callable[[str], None]) -> WorkerStorage:
        offsets = standalone.offsets_file
        journal = offsets.with_name(f"{offsets.name}.journal")
        files = {config.offsets.topic: OffsetsFile(offsets), config.journal_topic: OffsetsFile(journal)}
        return WorkerStorage(FileLogs(ClusterMonitor(admin_settings(config)), files), NoGroup())

    return make


def admin_settings(config: WorkerConfig) -> dict[str, object]:
    """librdkafka's settings for the worker's own requests."""
    return client_config(config.originals, "admin", client_id=f"{config.group_id}-worker").settings


def client_warnings(config: WorkerConfig) -> list[str]:
    """What the file says to Kafka clients that has no effect on ours."""
    found = list(client_config(config.originals, "admin").warnings)
    for kind in ("producer", "consumer", "admin"):
        found += (f"{kind}.: {warning}" for warning in client_config(config.originals, kind, {}).warnings)
    https = any(listener.scheme == "https" for listener in config.listeners)
    return [w for w in dict.fromkeys(found) if not (https and w.startswith("ssl."))]  # listeners have them then


def lease_remaining(place: GroupMembership) -> Callable[[], float]:
    """Seconds for which slots may go on."""
    return lambda: place.confirmed_until - time.monotonic()
