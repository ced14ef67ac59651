"""What a worker reaches outside its process, besides its storage and its group: other processes, Kafka, other workers.

The deterministic simulation (docs/architecture/simulation.md) replaces all of it."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runtime.engine.port import EngineListener
from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.supervisor import SparkEngine
from runtime.herder.fencing.zombie_fencing import Fence
from runtime.herder.group.awaited_view import AwaitView
from runtime.herder.group.peer_watch import Connect, connect
from runtime.herder.offsets.stored_offsets import NewWriter
from runtime.host.environment_hosts import EnvironmentHosts
from runtime.host.port import HostListener
from runtime.host.settings import HostSettings
from runtime.kafka.fencing import fence
from runtime.kafka.groups import Groups
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.kafka.positions import Positions
from runtime.logs.formats import Scrub
from runtime.storage.connector_offsets import NewLogs, own_logs

if TYPE_CHECKING:
    import httpx  # imported when the first request is sent

Settings = Mapping[str, Any]
"""librdkafka settings that reach the cluster."""


@dataclass(frozen=True, slots=True)
class Outside:
    """`transport` replaces the network between workers; None: the network."""

    plugin_host: Callable[[HostSettings, HostListener, Scrub], EnvironmentHosts] = EnvironmentHosts
    engine: Callable[[EngineSettings, EngineListener, Callable[[], float]], SparkEngine] = SparkEngine
    groups: Callable[[Settings], Groups] = Groups
    positions: Callable[[Settings], Positions] = Positions
    new_writer: NewWriter = TransactionalWriter
    fence: Fence = fence
    own_logs: NewLogs = own_logs
    await_view: AwaitView = concurrent.futures.Future.result
    connect: Connect = connect
    transport: httpx.AsyncBaseTransport | None = None


REAL = Outside()
"""Other processes, Kafka and the network."""
