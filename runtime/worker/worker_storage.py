"""Storage and group membership of a worker: topics and a group (distributed), or files (standalone)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from runtime.config.exactly_once import leader_transactional_id
from runtime.config.standalone_config import StandaloneConfig
from runtime.config.worker_config import WorkerConfig
from runtime.kafka.clients.settings import client_config, record_limit
from runtime.kafka.cluster_monitor import ClusterMonitor
from runtime.kafka.errors import ClientConfigError
from runtime.kafka.group.group_member import GroupMember, Times
from runtime.kafka.log.clients import LogClients
from runtime.kafka.log.log import TopicLogs
from runtime.kafka.log.reader import FETCH_WAIT, FETCH_WAIT_TRANSACTIONS
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.storage.file_logs import FileLogs
from runtime.storage.file_offsets import OffsetsFile
from runtime.storage.port import Logs
from runtime.system.lease_clock import lease_time


@dataclass(frozen=True, slots=True)
class WorkerStorage:
    """The logs in which a worker's stores are kept, and its membership in a group; None for a standalone worker.
    `leader` writes the config topic while this worker leads, if the cluster supports exactly-once sources."""

    logs: Logs
    member: GroupMember | None
    leader: TransactionalWriter | None = None


StorageFactory = Callable[[WorkerConfig, str], WorkerStorage]
"""Arguments: the configuration, and the URL that other workers use for this worker (`http://host:port`)."""

MAX_HEARTBEAT_INTERVAL = 0.5
"""Seconds between two heartbeats at most: members learn of a rebalance by their next heartbeat."""


def kafka_storage(config: WorkerConfig, url: str) -> WorkerStorage:
    """A distributed worker: three topics and a group."""
    settings = admin_settings(config)
    producer = {**settings, **record_limit(config.originals)}
    times = Times(config.session_timeout, min(config.heartbeat, MAX_HEARTBEAT_INTERVAL), config.rebalance_timeout)
    client_id = f"connect-{urlsplit(url).netloc}"
    member = GroupMember(settings, config.group_id, client_id, times)
    leader = None
    if config.exactly_once.transactional_leader:
        leader = TransactionalWriter(producer, leader_transactional_id(config.group_id))
    wait = FETCH_WAIT_TRANSACTIONS if config.exactly_once.transactional_leader else FETCH_WAIT
    return WorkerStorage(TopicLogs(LogClients(settings, settings, producer), fetch_wait=wait), member, leader)


def file_storage(standalone: StandaloneConfig) -> StorageFactory:
    """A standalone worker: a file for the offsets, another file for the journal of their changes, and no group."""

    def make(config: WorkerConfig, url: str) -> WorkerStorage:
        offsets = standalone.offsets_file
        journal = offsets.with_name(f"{offsets.name}.journal")
        files = {config.offsets.topic: OffsetsFile(offsets), config.journal_topic: OffsetsFile(journal)}
        return WorkerStorage(FileLogs(ClusterMonitor(admin_settings(config)), files), None)

    return make


def admin_settings(config: WorkerConfig) -> dict[str, object]:
    """librdkafka's settings for the worker's own admin requests."""
    return client_config(config.originals, "admin", client_id=f"{config.group_id}-worker").settings


def client_warnings(config: WorkerConfig) -> list[str]:
    """Warnings about Kafka client properties of the worker's file that have no effect here."""
    warnings = list(client_config(config.originals, "admin").warnings)
    for kind in ("producer", "consumer", "admin"):
        warnings += (f"{kind}.: {warning}" for warning in _warnings(config, kind))
    https = any(listener.scheme == "https" for listener in config.listeners)
    return [w for w in dict.fromkeys(warnings) if not (https and w.startswith("ssl."))]  # https listeners use them


def _warnings(config: WorkerConfig, kind: str) -> tuple[str, ...]:
    try:
        return client_config(config.originals, kind, {}).warnings
    except ClientConfigError as e:
        raise ClientConfigError(f"{kind}.: {e}") from None


def lease_remaining(member: GroupMember | None) -> Callable[[], float]:
    """A function that returns the seconds for which slots may continue to run tasks."""
    if member is None:
        return lambda: math.inf
    return lambda: member.confirmed_until - lease_time()
