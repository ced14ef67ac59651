"""Wiring: the one place where the parts of a worker are constructed and connected."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from starlette.types import ASGIApp

from runtime import __version__
from runtime.api.errors import ConfigError
from runtime.config.listeners import https_settings
from runtime.config.secret_values import CallSecrets, Secrets
from runtime.config.spark_cluster import on_cluster
from runtime.config.worker_config import Storage, WorkerConfig
from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.supervisor import SparkEngine
from runtime.herder.configs.checks import WorkerChecks
from runtime.herder.configs.resolving_host import ResolvingHost, has_class
from runtime.herder.configs.sink_clusters import SinkClusters
from runtime.herder.configs.task_specs import offsets_topic
from runtime.herder.connector_entries import ConnectorEntries
from runtime.herder.control.connector_locks import ConnectorLocks
from runtime.herder.control.connectors import Connectors
from runtime.herder.control.crash_loop import CrashLoopGuard
from runtime.herder.control.start_control import StartControl
from runtime.herder.control.tasks import TaskServices, connector_limit
from runtime.herder.fencing.zombie_fencing import TaskFencing, ZombieFencing
from runtime.herder.group.departures import Departures
from runtime.herder.group.group import SoleWorker
from runtime.herder.group.leader_view import GroupSettings, ViewSources
from runtime.herder.group.peer_watch import PeerWatch
from runtime.herder.group.session_keys import SessionKeys
from runtime.herder.group.task_loads import TaskLoads
from runtime.herder.group.worker_group import WorkerGroup
from runtime.herder.group.workers import Cordons, Workers
from runtime.herder.group.write_claim import WriteClaim
from runtime.herder.group_duties import GroupDuties
from runtime.herder.herder import Herder, TopicTracking
from runtime.herder.internal_requests import InternalRequests
from runtime.herder.loggers import Loggers
from runtime.herder.monitoring.expiry import Expiry
from runtime.herder.monitoring.metrics import Metrics, WorkerHealth
from runtime.herder.monitoring.offset_views import OffsetViews
from runtime.herder.monitoring.progress import OffsetProgress
from runtime.herder.monitoring.progress_watch import ProgressWatch
from runtime.herder.monitoring.stalls import Stalls
from runtime.herder.offsets.offset_change import OffsetChanges
from runtime.herder.offsets.offset_requests import OffsetRequests
from runtime.herder.offsets.orphans import Orphans
from runtime.herder.offsets.settling import GroupSettling
from runtime.herder.offsets.stored_offsets import SourceTransactions, StoredOffsets
from runtime.herder.plugin_reload import PluginReload
from runtime.herder.previews import Previews
from runtime.herder.restarts.auto_restart import AutoRestarts
from runtime.herder.restarts.restart_record import RestartRecords
from runtime.herder.status.events import EventLog
from runtime.herder.status.status_board import StatusBoard
from runtime.host.previews import PreviewHost
from runtime.host.settings import HostSettings
from runtime.kafka.clients.settings import CONSUMER_FIXED, reaching_config, record_limit
from runtime.kafka.errors import ClientConfigError
from runtime.kafka.group.group_member import GroupMember
from runtime.kafka.log.clients import LogClients
from runtime.kafka.log.log import TopicSpec
from runtime.logs.lines import ConnectorLines
from runtime.model.rate_limit import RateLimit
from runtime.rest.admin import admin_routes
from runtime.rest.app import application
from runtime.rest.events import EventStream
from runtime.rest.forwarding.forwarding import Forwarding, SharedStores
from runtime.rest.forwarding.leader_client import LeaderClient
from runtime.rest.forwarding.peer_events import PeerEvents
from runtime.rest.forwarding.peers import Peers
from runtime.rest.forwarding.request_copies import RequestCopies
from runtime.rest.forwarding.worker_clients import WorkerClients
from runtime.rest.http.receiving import BodyMemory
from runtime.rest.openapi.openapi import openapi_route
from runtime.rest.routes import Services, routes
from runtime.rest.security.callers import SignedCallers
from runtime.rest.security.masking import Masks
from runtime.rest.security.tls import client_context
from runtime.storage.config_history import ConfigHistory
from runtime.storage.configs import ConfigStore
from runtime.storage.connector_offsets import ConnectorOffsets
from runtime.storage.journal import OffsetJournal
from runtime.storage.offsets import OffsetStore
from runtime.storage.port import Logs
from runtime.storage.statuses import StatusStore
from runtime.worker.outside import REAL, Outside
from runtime.worker.worker_storage import WorkerStorage, admin_settings, lease_remaining


@dataclass(frozen=True, slots=True)
class WorkerParts:
    """The parts of a worker that are needed to start and stop it."""

    logs: Logs
    configs: ConfigStore
    group: WorkerGroup | SoleWorker
    peers: PeerWatch | None  # None without a group
    duties: GroupDuties
    host: ResolvingHost
    engine: SparkEngine
    connectors: Connectors
    board: StatusBoard
    events: EventLog
    health: WorkerHealth
    herder: Herder
    offset_requests: OffsetRequests
    progress: ProgressWatch
    api: ASGIApp
    admin: ASGIApp  # /admin alone, for `admin.listeners`
    loggers: Loggers
    lines: ConnectorLines
    task_services: TaskServices
    between_workers: RequestsBetweenWorkers


@dataclass(frozen=True, slots=True)
class RequestsBetweenWorkers:
    """The parts that send and verify requests between the workers of the group."""

    keys: SessionKeys
    callers: SignedCallers
    clients: WorkerClients
    leader: LeaderClient

    async def close(self) -> None:
        self.keys.close()
        await self.clients.close()


def assemble(
    config: WorkerConfig, url: str, storage: WorkerStorage, secrets: Secrets, outside: Outside = REAL
) -> WorkerParts:
    """Build all parts without starting any. `url` is the address that other workers use for this worker."""
    worker_id = url.partition("://")[2]
    logs = storage.logs
    lease = lease_remaining(storage.member)
    configs = ConfigStore(
        logs, _topic(config, config.configs, "config.storage", single=True), storage.leader, config.mixed_group
    )
    statuses = StatusStore(logs, _topic(config, config.statuses, "status.storage"), is_member=lambda: lease() > 0)
    worker_offsets = OffsetStore(logs, _topic(config, config.offsets, "offset.storage"))
    journal = OffsetJournal(logs, _journal(config), storage.leader)
    offsets = _offsets(config, configs, worker_offsets, outside)
    groups, positions = outside.groups(admin_settings(config)), outside.positions(admin_settings(config))

    events = EventLog()
    entries = ConnectorEntries(configs, statuses)
    board = StatusBoard(statuses, events, worker_id, secrets, entries.entry)
    config_history = ConfigHistory(journal.documents)
    configs.keep(config_history.add)
    cordons = Cordons(journal.documents)
    loads = TaskLoads(board.meters)

    sources = ViewSources(
        Departures(journal.documents), cordons.states, lambda: loads.lasting, lambda name: has_class(host, name)
    )
    group = _group(config, url, storage, configs, statuses, sources, outside)
    keys = SessionKeys(configs, config.session_keys)
    callers = SignedCallers(keys, worker_id)
    clients = WorkerClients(lambda: client_context(https_settings(config.originals)), outside.transport)
    copies = RequestCopies(group, callers, config.mixed_group)
    shared = SharedStores(configs, journal)
    forwarding = Forwarding(group, clients, copies, shared)
    peers = Peers(group, clients, copies)
    leader = LeaderClient(group, clients, copies, keys, configs)
    starts = StartControl(CrashLoopGuard(journal.documents, worker_id=worker_id))
    restarts = AutoRestarts(
        config.originals, config.providers, configs, RestartRecords(journal.documents), events, config.restart_budget
    )
    board.subscribe(restarts.state)
    connectors = Connectors(configs, statuses, board, group, restarts, starts, leader.put_tasks)

    def changed(name: str) -> None:
        group.configured(name)
        connectors.config_changed(name)

    configs.subscribe(changes=changed)
    call_secrets = CallSecrets(secrets)
    plugins = outside.plugin_host(_host(config), connectors, call_secrets.scrub)
    host = ResolvingHost(plugins, config, secrets, call_secrets, WorkerChecks(config), connectors.reload)
    engine = outside.engine(_engine(config, storage.member), connectors, lease)
    if storage.member is not None:
        storage.member.subscribe_losses(engine.revoke_leases)

    clusters = SinkClusters(config, host, configs.config, outside.groups, outside.positions)
    settling = GroupSettling(connectors, statuses, group, peers)

    locks = ConnectorLocks()
    stored_offsets = StoredOffsets(
        offsets, clusters, SourceTransactions(config, host, outside.new_writer), connectors.forget_secrets
    )
    changes = OffsetChanges(journal, configs, stored_offsets, settling, locks, lambda: group.leads)
    tracking = TopicTracking(config.topic_tracking, config.topic_tracking_reset)
    herder = Herder(
        configs, statuses, host, connectors, entries, tracking, locks, changes, group, config.request_timeout
    )
    fencing = ZombieFencing(config, herder, configs, host, outside.fence)
    leader.use(fencing)
    transactional = config.exactly_once.transactional_tasks
    task_fencing = TaskFencing(config, configs, leader.fence, outside.fence) if transactional else None
    fence_earlier = fencing.fence_earlier if transactional else None
    offset_requests = OffsetRequests(herder, configs, settling, host, stored_offsets, changes, fence_earlier)
    orphans = Orphans(herder, changes, configs, worker_offsets, stored_offsets, groups, host)
    internal = InternalRequests(herder, configs, connectors, fencing)
    loggers = Loggers(configs, engine, hosts=plugins)
    runner = PreviewHost(_host(config), scrub=call_secrets.scrub)
    previews = Previews(config, herder, statuses, host, runner, call_secrets)

    health = WorkerHealth(logs, waiting_for=f"Kafka at {config.bootstrap_servers}", membership=group, engine=engine)
    lines = ConnectorLines(secrets.scrub_of)
    expiry = Expiry(configs, journal, positions.offsets_retention)
    stalls = Stalls(board.meters, board.runs, board.notice, config.stalled)

    def limit_of(name: str) -> RateLimit:
        return connector_limit(configs.connector(name), config.providers)

    progress = ProgressWatch(herder, board, events, stalls, expiry, config.progress, limit_of)
    lag = OffsetProgress(worker_offsets, _isolation(config))
    offset_views = OffsetViews(herder, offset_requests, stored_offsets, journal, lag, clusters, stalls, expiry)
    policy = config.client_policy
    metrics = Metrics(herder, statuses, board, engine, stalls, restarts, policy, limit_of, lambda: health.ready)

    workers = Workers(
        group, cordons, configs, config.slots, lambda: loads.total,
        running=lambda: engine.slots, without_core=lambda: engine.slots_without_core,
    )  # fmt: skip
    masks = Masks(host.password_keys)
    stream = EventStream(events, herder, progress, masks, PeerEvents(peers, events, progress))
    admin = admin_routes(loggers)
    api = routes(Services(
        herder, offset_requests, offset_views, orphans, health, stream, lines, previews, board.errors,
        progress.history, metrics, masks,
        internal, keys, config.mixed_group, workers, forwarding, peers,
        PluginReload(plugins, host, configs, connectors), restarts, config_history,
    ))  # fmt: skip
    duties = GroupDuties(connectors, statuses, board, changes, loads, shared.read_to_end)
    peer_watch = PeerWatch(group, connect=outside.connect) if isinstance(group, WorkerGroup) else None
    body_memory = BodyMemory()
    served = [*api, *(admin if config.admin_listeners is None else [])]
    return WorkerParts(
        logs, configs, group, peer_watch, duties, host, engine, connectors, board, events, health, herder,
        offset_requests, progress,
        application([*served, openapi_route(served)], body_memory), application(admin, body_memory),
        loggers, lines,
        TaskServices(config, engine, offsets, statuses, clusters, board, host, task_fencing),
        RequestsBetweenWorkers(keys, callers, clients, leader),
    )  # fmt: skip


def _group(
    config: WorkerConfig, url: str, storage: WorkerStorage, configs: ConfigStore, statuses: StatusStore,
    sources: ViewSources, outside: Outside,
) -> WorkerGroup | SoleWorker:  # fmt: skip
    if storage.member is None:
        return SoleWorker(url.partition("://")[2], configs.names)
    settings = GroupSettings(
        f"{url}/", __version__, config.slots, config.rebalance_delay, config.mixed_group, on_cluster(config.spark()),
        {
            "config.storage.topic": config.configs.topic,
            "offset.storage.topic": config.offsets.topic,
            "status.storage.topic": config.statuses.topic,
        },
    )  # fmt: skip
    claim = WriteClaim(storage.leader, config.configs.topic)
    return WorkerGroup(storage.member, settings, configs, statuses, sources, claim, await_view=outside.await_view)


def _offsets(config: WorkerConfig, configs: ConfigStore, worker: OffsetStore, outside: Outside) -> ConnectorOffsets:
    def spec(topic: str) -> TopicSpec:
        return _topic(config, replace(config.offsets, topic=topic), "offset.storage")

    def topic_in(connector: Mapping[str, str]) -> str:
        return offsets_topic(config, connector) or ""

    def clients(connector: Mapping[str, str]) -> LogClients:
        resolved = config.providers.resolve(connector).config
        try:
            admin, consumer, producer = (
                reaching_config(config.originals, kind, resolved) for kind in ("admin", "consumer", "producer")
            )
            return LogClients(admin, consumer, {**producer, **record_limit(config.originals)})
        except ClientConfigError as e:
            raise ConfigError(str(e)) from None

    return ConnectorOffsets(
        worker, spec, clients, configs.config, topic_in, configs.names, new_logs=outside.own_logs
    )  # fmt: skip


def _topic(config: WorkerConfig, storage: Storage, prefix: str, single: bool = False) -> TopicSpec:
    return TopicSpec(
        storage.topic, storage.partitions, storage.replication_factor, prefix, single, storage.settings,
        created=config.internal_topic_creation,
    )  # fmt: skip


def _journal(config: WorkerConfig) -> TopicSpec:
    """The journal topic: as many replicas as the offset topic, and one partition, so that all changes are in one
    order."""
    return TopicSpec(
        config.journal_topic, 1, config.offsets.replication_factor, "headrace.journal", single=True,
        created=config.internal_topic_creation,
    )  # fmt: skip


def _host(config: WorkerConfig) -> HostSettings:
    key, value, header = (config.converter(which)[0] for which in ("key", "value", "header"))
    keys = [f"{which}.converter.plugin.version" for which in ("key", "value", "header")]
    versions = {name: config.originals[name] for name in keys if name in config.originals}
    transactional = config.exactly_once.transactional_tasks
    return HostSettings(
        config.plugin_path, config.file_paths, key, value, header, transactional, converter_versions=versions,
        plugin_discovery=config.plugin_discovery, java_prefer=config.java_prefer, java_heap=config.java_heap,
        java_options=config.java_options, call_timeout=config.request_timeout,
    )  # fmt: skip


def _isolation(config: WorkerConfig) -> str:
    """The `isolation.level` of sinks that do not set their own."""
    return config.originals.get("consumer.isolation.level", str(CONSUMER_FIXED["isolation.level"])).strip().lower()


def _engine(config: WorkerConfig, member: GroupMember | None) -> EngineSettings:
    return EngineSettings(
        slots=config.slots,
        spark_conf=config.spark(),
        lease_ttl=config.lease,
        membership=math.inf if member is None else min(config.session_timeout, config.rebalance_timeout),
        stuck_after=config.stuck,
        slot_memory=config.slot_memory,
        slot_port=config.slot_port,
        java_heap=config.java_heap,
        java_options=config.java_options,
        plugin_path=config.plugin_path,
        file_paths=config.file_paths,
    )
