"""The one place where the parts of a worker are put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from starlette.types import ASGIApp

from runtime.config.secret_values import PassingSecrets, Secrets
from runtime.config.worker_config import Storage, WorkerConfig
from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.supervisor import SparkEngine
from runtime.herder.configs.checks import WorkerChecks
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.configs.task_specs import offsets_topic
from runtime.herder.control.connectors import Connectors
from runtime.herder.control.crash_loop import CrashLoopGuard
from runtime.herder.control.tasks import TaskServices
from runtime.herder.herder import Herder, TopicTracking
from runtime.herder.internal_requests import InternalRequests
from runtime.herder.loggers import Loggers
from runtime.herder.monitoring.expiry import Expiry
from runtime.herder.monitoring.health import WorkerHealth
from runtime.herder.monitoring.metrics import Metrics
from runtime.herder.monitoring.offset_views import OffsetViews
from runtime.herder.monitoring.progress import OffsetProgress
from runtime.herder.monitoring.progress_watch import ProgressWatch
from runtime.herder.monitoring.stalls import Stalls
from runtime.herder.offsets.offset_requests import OffsetRequests
from runtime.herder.offsets.orphans import Orphans
from runtime.herder.offsets.seek import SeekResolver
from runtime.herder.offsets.stored_offsets import StoredOffsets
from runtime.herder.previews import Previews
from runtime.herder.status.events import EventLog
from runtime.herder.status.status_board import StatusBoard
from runtime.host.client import PluginHostClient
from runtime.host.previews import PreviewHost
from runtime.host.settings import HostSettings
from runtime.kafka.groups import Groups
from runtime.kafka.log.log import TopicSpec
from runtime.kafka.positions import Positions
from runtime.logs.lines import ConnectorLines
from runtime.rest.admin import admin_routes
from runtime.rest.app import application
from runtime.rest.events import EventStream
from runtime.rest.http.receiving import BodyMemory
from runtime.rest.openapi.openapi import openapi_route
from runtime.rest.routes import Services, routes
from runtime.rest.security.masking import Masks
from runtime.storage.configs import ConfigStore
from runtime.storage.connector_offsets import ConnectorOffsets
from runtime.storage.journal import OffsetJournal
from runtime.storage.offsets import OffsetStore
from runtime.storage.port import Logs
from runtime.storage.statuses import StatusStore
from runtime.worker.worker_storage import GroupMembership, WorkerStorage, admin_settings, lease_remaining


@dataclass(frozen=True, slots=True)
class WorkerParts:
    """A worker's parts, for the one who starts and ends them."""

    logs: Logs
    configs: ConfigStore
    place: GroupMembership
    host: ResolvingHost
    engine: SparkEngine
    fleet: Connectors
    board: StatusBoard
    events: EventLog
    health: WorkerHealth
    herder: Herder
    desk: OffsetRequests
    progress: ProgressWatch
    api: ASGIApp
    admin: ASGIApp  # /admin alone, for listeners of its own
    loggers: Loggers
    lines: ConnectorLines
    for_tasks: TaskServices


def assemble(config: WorkerConfig, url: str, backing: WorkerStorage, secrets: Secrets) -> WorkerParts:
    """All parts, knowing each other, none started. `url` is where others reach this worker."""
    worker_id = url.partition("://")[2]
    logs = backing.logs
    configs = ConfigStore(logs, _topic(config.configs, "config.storage", single=True))
    membership = lease_remaining(backing.place)
    statuses = StatusStore(logs, _topic(config.statuses, "status.storage"), is_member=lambda: membership() > 0)
    in_topic = OffsetStore(logs, _topic(config.offsets, "offset.storage"))
    offsets = _offsets(config, configs, in_topic)
    groups = Groups(admin_settings(config))
    events = EventLog()
    board = StatusBoard(statuses, events, worker_id, secrets)
    journal = OffsetJournal(logs, _journal(config))
    fleet = Connectors(configs, statuses, board, CrashLoopGuard(journal.documents))
    passing = PassingSecrets(secrets)
    plugins = PluginHostClient(_host(config), fleet, scrub=passing.scrub)
    host = ResolvingHost(plugins, config, secrets, passing, WorkerChecks(config))
    engine = SparkEngine(_engine(config), fleet, lease=membership)
    herder = Herder(configs, statuses, host, fleet, TopicTracking(config.topic_tracking, config.topic_tracking_reset))
    health = WorkerHealth(logs, waiting_for=f"Kafka at {config.bootstrap_servers}", place=backing.place)
    places = StoredOffsets(offsets, groups)
    desk = OffsetRequests(herder, configs, fleet, host, places, journal)
    positions = Positions(admin_settings(config))
    herder.check_free, herder.check_not_finishing = desk.changes.check_free, desk.changes.check_not_finishing
    loggers = Loggers(configs, engine)
    lines = ConnectorLines(secrets.scrub)
    orphans = Orphans(herder, desk.changes, configs, in_topic, places, groups, host)
    runner = PreviewHost(_host(config), scrub=passing.scrub)
    previews = Previews(config, herder, statuses, host, runner, secrets, passing)
    expiry = Expiry(configs, journal, positions.offsets_retention)
    stalls = Stalls(board.meters, statuses.is_running, board.notice, config.stalled)
    progress = ProgressWatch(herder, board, events, stalls, expiry, config.progress)
    offset_views = OffsetViews(
        herder, desk, places, journal, OffsetProgress(positions, in_topic), SeekResolver(positions), stalls, expiry
    )
    internal = InternalRequests(herder, configs)
    metrics = Metrics(herder, statuses, board, engine, stalls, lambda: health.ready)
    masks = Masks(host.password_keys)
    stream = EventStream(events, herder, progress, masks)
    admin = admin_routes(loggers)
    services = Services(
        herder, desk, offset_views, orphans, health, stream, lines, previews, board.errors, metrics, masks, internal
    )
    api = routes(services)
    body_memory = BodyMemory()
    served = [*api, *(admin if config.admin_listeners is None else [])]
    board.entry = herder.entry
    configs.on_change = fleet.look
    return WorkerParts(
        logs, configs, backing.place, host, engine, fleet, board, events, health, herder, desk, progress,
        application([*served, openapi_route(served)], body_memory), application(admin, body_memory), loggers, lines,
        TaskServices(config, engine, offsets, statuses, groups, board, host),
    )  # fmt: skip


def _offsets(config: WorkerConfig, configs: ConfigStore, worker: OffsetStore) -> ConnectorOffsets:
    def spec(topic: str) -> TopicSpec:
        return _topic(replace(config.offsets, topic=topic), "offset.storage")

    def topic_in(connector: Mapping[str, str]) -> str:
        return offsets_topic(config, connector) or ""

    def stored_topic(name: str) -> str:
        stored = configs.connector(name)
        return topic_in(stored.config) if stored else ""

    return ConnectorOffsets(worker, spec, admin_settings(config), stored_topic, topic_in, configs.names)


def _topic(storage: Storage, prefix: str, single: bool = False) -> TopicSpec:
    return TopicSpec(storage.topic, storage.partitions, storage.replication_factor, prefix, single, storage.settings)


def _journal(config: WorkerConfig) -> TopicSpec:
    """Beside the offset topic, of as many replicas; one partition, for what is in it has one order."""
    return TopicSpec(config.journal_topic, 1, config.offsets.replication_factor, "headrace.journal", single=True)


def _host(config: WorkerConfig) -> HostSettings:
    key, value, header = (config.converter(which)[0] for which in ("key", "value", "header"))
    return HostSettings(config.plugin_path, key, value, header)


def _engine(config: WorkerConfig) -> EngineSettings:
    return EngineSettings(
        slots=config.slots,
        spark_conf=config.spark(),
        lease_ttl=config.lease,
        stuck_after=config.stuck,
        slot_memory=config.slot_memory,
    )
