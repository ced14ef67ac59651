"""The table of every path of the REST API and its handlers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.routing import Route

from runtime.herder.group.session_keys import SessionKeys
from runtime.herder.group.workers import Workers
from runtime.herder.herder import Herder
from runtime.herder.internal_requests import InternalRequests
from runtime.herder.monitoring.metrics import Metrics
from runtime.herder.monitoring.offset_views import OffsetViews
from runtime.herder.monitoring.progress_history import ProgressHistory
from runtime.herder.offsets.offset_requests import OffsetRequests
from runtime.herder.offsets.orphans import Orphans
from runtime.herder.plugin_reload import PluginReload
from runtime.herder.previews import Previews
from runtime.herder.restarts.auto_restart import AutoRestarts
from runtime.herder.status.error_board import ErrorBoard
from runtime.logs.lines import ConnectorLines
from runtime.rest.config_history import ConfigHistoryHandlers
from runtime.rest.connectors import ConnectorHandlers, StateHandlers
from runtime.rest.events import EventStream
from runtime.rest.forwarding.forwarding import Forwarding
from runtime.rest.forwarding.peers import Peers
from runtime.rest.guards import Guards, Health
from runtime.rest.internal import InternalHandlers
from runtime.rest.monitoring import METRICS, DiagnosticHandlers, ProgressHandlers, WorkerHandlers
from runtime.rest.offsets import OffsetHandlers
from runtime.rest.plugins import PluginHandlers
from runtime.rest.preview import RecordHandlers
from runtime.rest.resource import Handler, Resource
from runtime.rest.security.access import Role
from runtime.rest.security.masking import Masks
from runtime.rest.workers import GroupHandlers
from runtime.storage.config_history import ConfigHistory

NONE, READ, OPERATE = Role.NONE, Role.READ, Role.OPERATE


@dataclass(frozen=True, slots=True)
class Services:
    """The objects that carry out requests."""

    herder: Herder
    offsets: OffsetRequests
    offset_views: OffsetViews
    orphans: Orphans
    health: Health
    events: EventStream
    lines: ConnectorLines
    previews: Previews
    errors: ErrorBoard
    progress: ProgressHistory
    metrics: Metrics
    masks: Masks
    internal: InternalRequests
    session_keys: SessionKeys
    mixed: bool  # the group may have workers of Apache
    workers: Workers
    forwarding: Forwarding
    peers: Peers
    plugins: PluginReload
    restarts: AutoRestarts
    config_history: ConfigHistory


def routes(s: Services) -> Sequence[Route]:
    """The table of routes."""
    guards = Guards(s.health, s.forwarding, s.herder.check_restartable)
    ready, leader = guards.ready, guards.leader
    connectors, states = ConnectorHandlers(s.herder, s.offsets, s.masks), StateHandlers(s.herder, guards)
    offsets = OffsetHandlers(s.herder, s.offsets, s.offset_views, s.orphans, s.peers)
    plugins = PluginHandlers(s.herder, s.plugins, s.peers)
    records = RecordHandlers(s.herder, s.previews, s.errors, s.peers)
    diagnostics = DiagnosticHandlers(s.herder, s.lines, s.peers, s.forwarding)
    progress = ProgressHandlers(s.herder, s.progress, s.restarts, s.peers)
    configs = ConfigHistoryHandlers(s.herder, s.config_history, s.masks)
    worker, group = WorkerHandlers(s.health, s.metrics), GroupHandlers(s.workers, leader)
    internal = InternalHandlers(s.internal, s.session_keys, s.mixed)

    def signed(handler: Handler) -> Handler:
        return ready(internal.signed(leader(handler)))

    return [
        Route("/", Resource(consumes="", get=worker.root)),
        Route("/health", Resource(consumes="", get=worker.health)),
        Route("/health/live", Resource(consumes="", get=worker.alive)),
        Route("/metrics", Resource(*METRICS, get=worker.metrics)),
        Route("/events", Resource("text/event-stream", get=ready(s.events.stream))),
        Route("/events/own", Resource(get=ready(s.events.own))),
        Route("/connectors", Resource(get=ready(connectors.list), post=leader(connectors.create))),
        Route("/connectors/{name}", Resource(get=ready(connectors.info), delete=leader(connectors.delete))),
        Route(
            "/connectors/{name}/config",
            Resource(
                get=ready(connectors.config), put=leader(connectors.put_config), patch=leader(connectors.patch_config)
            ),
        ),
        Route("/connectors/{name}/config/history", Resource(get=ready(configs.history))),
        Route("/deleted-connectors", Resource(get=ready(configs.deleted))),
        Route("/connectors/{name}/status", Resource(get=ready(connectors.status))),
        Route(
            "/connectors/{name}/tasks",
            Resource(role=NONE, get=ready(connectors.tasks), post=signed(internal.task_configs)),
        ),
        Route("/connectors/{name}/fence", Resource(role=NONE, put=signed(internal.fence))),
        Route("/connectors/{name}/settled", Resource(post=ready(internal.settled))),
        Route("/connectors/{name}/tasks/{task}/status", Resource(get=ready(connectors.task_status))),
        Route("/connectors/{name}/logs", Resource(get=ready(diagnostics.logs))),
        Route("/connectors/{name}/tasks/{task}/stack", Resource(get=ready(diagnostics.task_stack))),
        Route("/connectors/{name}/tasks/{task}/restart", Resource(role=OPERATE, post=ready(states.restart_task))),
        Route("/connectors/{name}/pause", Resource(role=OPERATE, put=leader(states.pause))),
        Route("/connectors/{name}/resume", Resource(role=OPERATE, put=leader(states.resume))),
        Route("/connectors/{name}/stop", Resource(role=OPERATE, put=leader(states.stop))),
        Route("/connectors/{name}/restart", Resource(role=OPERATE, post=states.restart)),
        Route("/connectors/{name}/restarts", Resource(get=ready(progress.restarts))),
        Route("/connectors/{name}/progress", Resource(get=ready(progress.progress))),
        Route("/connectors/{name}/topics", Resource(get=ready(connectors.topics))),
        Route("/connectors/{name}/topics/reset", Resource(role=OPERATE, put=ready(connectors.reset_topics))),
        Route(
            "/connectors/{name}/offsets",
            Resource(get=ready(offsets.get), patch=leader(offsets.patch), delete=leader(offsets.delete)),
        ),
        Route("/connectors/{name}/offsets/history", Resource(get=ready(offsets.history))),
        Route("/connectors/{name}/offsets/resolve", Resource(role=READ, post=ready(offsets.resolve))),
        Route("/orphaned-offsets", Resource(get=ready(offsets.orphaned))),
        Route("/orphaned-offsets/{name}", Resource(delete=leader(offsets.remove_orphaned))),
        Route("/connectors/{name}/preview", Resource(post=ready(records.preview_connector))),
        Route("/connectors/{name}/errors", Resource(get=ready(records.failed))),
        Route("/connector-plugins/{name}/preview", Resource(post=ready(records.preview_plugin))),
        Route("/workers", Resource(get=ready(group.view))),
        Route("/workers/{worker_id}/cordon", Resource(role=OPERATE, put=leader(group.cordon))),
        Route("/workers/{worker_id}/uncordon", Resource(role=OPERATE, put=leader(group.uncordon))),
        Route("/workers/{worker_id}/drain", Resource(role=OPERATE, put=leader(group.drain))),
        Route("/connector-plugins", Resource(get=plugins.list)),
        Route("/connector-plugins/{name}/config", Resource(get=plugins.config)),
        Route("/connector-plugins/{name}/config/validate", Resource(role=READ, put=plugins.validate)),
        Route("/connector-plugins/details", Resource(get=ready(plugins.details))),
        Route("/connector-plugins/reload", Resource(post=ready(plugins.reload))),
    ]
