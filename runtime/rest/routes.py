"""The table of every path of the REST API and its handlers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.herder.answers import InfoAnswer
from runtime.herder.errors import NOT_HERE, BadRequest, Conflict, NotFound, Unavailable
from runtime.herder.group.assignor import Unit
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
from runtime.kafka.group.protocol import CONNECTOR
from runtime.logs.lines import MAX_LINES, ConnectorLines
from runtime.rest.config_history import config_history_routes
from runtime.rest.diagnostics import all_lines, with_stalled
from runtime.rest.events import EventStream
from runtime.rest.forwarding.forwarding import Forwarding
from runtime.rest.forwarding.peers import Peers
from runtime.rest.http import bodies
from runtime.rest.http.answers import empty, json_answer
from runtime.rest.http.receiving import LARGE_BODY_LIMIT, parsed
from runtime.rest.internal import InternalHandlers
from runtime.rest.monitoring import metrics_routes, progress_routes, restart_routes
from runtime.rest.offsets import offset_routes, origin
from runtime.rest.plugins import plugin_routes
from runtime.rest.preview import record_routes
from runtime.rest.resource import Handler, Resource, parameter, path_name
from runtime.rest.security.access import Role, role_of
from runtime.rest.security.masking import Masks
from runtime.rest.workers import worker_routes
from runtime.storage.config_history import REQUEST_ORIGIN, ConfigHistory

NONE, OPERATE = Role.NONE, Role.OPERATE
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}")
_IN_PATH = "!$&'()*+,=:@/"  # the slash as in Connect, although such a name is reached with %2F
"""Characters that stay unescaped in a path segment (RFC 3986), except the semicolon, which starts a parameter."""


class Health(Protocol):
    """State of the worker, shown by GET / and GET /health."""

    @property
    def ready(self) -> bool:
        """Whether the storage topics have been read and requests can be served."""

    @property
    def trouble(self) -> str | None:
        """The reason why the worker is not ready or not healthy; None if the worker is ready and healthy."""

    @property
    def root(self) -> dict[str, str | None]:
        """Version, commit and cluster id."""


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
    """The table of routes. Handlers wrapped in `ready` answer 503 until the stores have been read; those wrapped in
    `leader` also run at the leader, and those in `owner` where the connector or task runs."""
    h, o, internal = s.herder, s.offsets, InternalHandlers(s.internal, s.session_keys, s.mixed)

    def ready(handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            if not s.health.ready:
                if parameter(request, "forward"):  # from a worker that does not know yet that this one starts or ends
                    raise Conflict(NOT_HERE)
                raise Unavailable(f"Worker is still starting up: {s.health.trouble or 'reading its storage topics'}")
            return await handler(request)

        return guarded

    def leader(handler: Handler) -> Handler:
        async def at_leader(request: Request) -> Response:
            REQUEST_ORIGIN.set(origin(request))
            return await s.forwarding.at_leader(request, handler)

        return ready(at_leader)

    def signed(handler: Handler) -> Handler:
        return ready(internal.signed(leader(handler)))

    def owner(handler: Handler) -> Handler:
        async def at_owner(request: Request) -> Response:
            return await s.forwarding.at_owner(request, _unit(request), h.check_restartable, handler)

        return ready(at_owner)

    async def root(_: Request) -> Response:
        return json_answer(s.health.root)

    async def health(_: Request) -> Response:
        return _health(s.health)

    async def alive(_: Request) -> Response:
        """Liveness: answers whenever the process can, even while it waits for Kafka or its group."""
        return json_answer({"status": "alive"})

    async def list_connectors(r: Request) -> Response:
        expansions = r.query_params.getlist("expand")
        if not expansions:
            return json_answer(h.connectors())
        return json_answer(await s.masks.expanded(r.scope, await h.expanded(set(expansions))))

    async def create(r: Request) -> Response:
        q = await parsed(r, bodies.create_request)
        if q.initial_offsets is not None:
            return json_answer(await o.create(q.name, q.config, q.initial_state, q.initial_offsets, origin(r)))
        return _created(r, q.name, await h.create(q.name, q.config, q.initial_state))

    async def info(r: Request) -> Response:
        return json_answer(await s.masks.info(r.scope, await h.info(path_name(r))))

    async def delete(r: Request) -> Response:
        if _flag(r, "offsets", False):
            return json_answer(await o.delete(path_name(r), origin(r)))
        await h.delete(path_name(r))
        return empty(204)

    async def config(r: Request) -> Response:
        return json_answer(await s.masks.config(r.scope, h.config(path_name(r))))

    async def put_config(r: Request) -> Response:
        name = path_name(r)
        new, info = await h.put_config(name, await parsed(r, bodies.config))
        return _created(r, name, info) if new else json_answer(info)

    async def patch_config(r: Request) -> Response:
        h.stored(path_name(r))  # so that 404 precedes any error in the body
        return json_answer(await h.patch_config(path_name(r), await parsed(r, bodies.config)))

    async def status(r: Request) -> Response:
        return json_answer(await h.status(path_name(r)))

    async def tasks(r: Request) -> Response:
        name = path_name(r)
        return json_answer(await s.masks.tasks(r.scope, h.config(name), h.tasks(name)))

    async def task_status(r: Request) -> Response:
        return json_answer(await h.task_status(path_name(r), _task(r)))

    async def restart_task(r: Request) -> Response:
        name, task = path_name(r), _task(r)
        if task < 0:  # such a number stands for the connector itself in a Unit
            h.check_restartable(Unit(name, CONNECTOR))
            raise NotFound(f"Unknown task: {name}-{task}")
        return await owner(restart_task_here)(r)

    async def restart_task_here(r: Request) -> Response:
        await h.restart_task(path_name(r), _task(r))
        return empty(204)

    async def logs(r: Request) -> Response:
        name = path_name(r)
        h.stored(name)
        task, most = _number(r, "task", -1), _number(r, "lines", MAX_LINES)
        here = s.lines.last(name, most, None if task < 0 else task)
        return json_answer(all_lines(here, await s.peers.collect(r, "Lines"), most))

    async def task_stack(r: Request) -> Response:
        worker = (await h.task_status(path_name(r), _task(r)))["worker_id"]
        return await s.forwarding.at_worker(r, worker, stack_here)

    async def stack_here(r: Request) -> Response:
        return json_answer(await h.task_stack(path_name(r), _task(r)))

    async def pause(r: Request) -> Response:
        await h.pause(path_name(r))
        return empty(202)

    async def resume(r: Request) -> Response:
        await h.resume(path_name(r))
        return empty(202)

    async def stop(r: Request) -> Response:
        await h.stop(path_name(r))
        return empty(204)

    async def restart(r: Request) -> Response:
        """Without parameters the owner restarts the instance; otherwise the leader writes a request for all owners."""
        plain = not _flag(r, "includeTasks", False) and not _flag(r, "onlyFailed", False)
        return await (owner if plain else leader)(restart_here)(r)

    async def restart_here(r: Request) -> Response:
        status = await h.restart(path_name(r), _flag(r, "includeTasks", False), _flag(r, "onlyFailed", False))
        return empty(204) if status is None else json_answer(status, 202)

    async def topics(r: Request) -> Response:
        return json_answer(await h.topics(path_name(r)))

    async def reset_topics(r: Request) -> Response:
        await h.reset_topics(path_name(r))
        return empty(202)

    async def offsets(r: Request) -> Response:
        if not _flag(r, "detail", False):
            return json_answer(await o.read(path_name(r)))
        details = await s.offset_views.detail(path_name(r))
        elsewhere = await s.peers.collect(r, "Offsets", h.task_workers(path_name(r)))
        return json_answer(with_stalled(details, elsewhere))

    async def patch_offsets(r: Request) -> Response:
        h.stored(path_name(r))
        return json_answer(await o.alter(path_name(r), await parsed(r, bodies.offsets, LARGE_BODY_LIMIT), origin(r)))

    async def delete_offsets(r: Request) -> Response:
        return json_answer(await o.reset(path_name(r), origin(r)))

    async def plugins(r: Request) -> Response:
        return json_answer(await h.plugins(_flag(r, "connectorsOnly", True)))

    async def plugin_config(r: Request) -> Response:
        return json_answer(await h.plugin_config(path_name(r), parameter(r, "version")))

    async def validate(r: Request) -> Response:
        text_only = role_of(r.scope) < Role.ADMIN
        return json_answer(await h.validate(path_name(r), await parsed(r, bodies.config), text_only))

    return [
        Route("/", Resource(consumes="", get=root)),
        Route("/health", Resource(consumes="", get=health)),
        Route("/health/live", Resource(consumes="", get=alive)),
        *metrics_routes(s.metrics),
        Route("/events", Resource("text/event-stream", get=ready(s.events.answer))),
        Route("/events/own", Resource(get=ready(s.events.own))),
        Route("/connectors", Resource(get=ready(list_connectors), post=leader(create))),
        Route("/connectors/{name}", Resource(get=ready(info), delete=leader(delete))),
        Route(
            "/connectors/{name}/config", Resource(get=ready(config), put=leader(put_config), patch=leader(patch_config))
        ),
        Route("/connectors/{name}/status", Resource(get=ready(status))),
        Route(
            "/connectors/{name}/tasks", Resource(role=Role.NONE, get=ready(tasks), post=signed(internal.task_configs))
        ),
        Route("/connectors/{name}/fence", Resource(role=Role.NONE, put=signed(internal.fence))),
        Route("/connectors/{name}/settled", Resource(post=ready(internal.settled))),
        Route("/connectors/{name}/tasks/{task}/status", Resource(get=ready(task_status))),
        Route("/connectors/{name}/logs", Resource(get=ready(logs))),
        Route("/connectors/{name}/tasks/{task}/stack", Resource(get=ready(task_stack))),
        Route("/connectors/{name}/tasks/{task}/restart", Resource(role=OPERATE, post=ready(restart_task))),
        Route("/connectors/{name}/pause", Resource(role=OPERATE, put=leader(pause))),
        Route("/connectors/{name}/resume", Resource(role=OPERATE, put=leader(resume))),
        Route("/connectors/{name}/stop", Resource(role=OPERATE, put=leader(stop))),
        Route("/connectors/{name}/restart", Resource(role=OPERATE, post=restart)),
        Route("/connectors/{name}/topics", Resource(get=ready(topics))),
        Route("/connectors/{name}/topics/reset", Resource(role=OPERATE, put=ready(reset_topics))),
        Route(
            "/connectors/{name}/offsets",
            Resource(get=ready(offsets), patch=leader(patch_offsets), delete=leader(delete_offsets)),
        ),
        *offset_routes(s.offset_views, s.orphans, ready, leader),
        *record_routes(s.previews, s.errors, s.peers, h.stored, ready),
        *progress_routes(s.progress, s.peers, h.stored, ready),
        *config_history_routes(s.config_history, h.connectors, s.masks, ready),
        *restart_routes(s.restarts, h.stored, ready),
        *worker_routes(s.workers, ready, leader),
        *plugin_routes(s.plugins, s.peers, ready),
        Route("/connector-plugins", Resource(get=plugins)),
        Route("/connector-plugins/{name}/config", Resource(get=plugin_config)),
        Route("/connector-plugins/{name}/config/validate", Resource(role=Role.READ, put=validate)),
    ]


def _health(health: Health) -> Response:
    if not health.ready:
        message = f"Worker is still starting up: {health.trouble or 'reading its storage topics'}."
        return json_answer({"status": "starting", "message": message}, 503)
    if health.trouble is not None:
        return json_answer({"status": "unhealthy", "message": health.trouble}, 500)
    message = "Worker has completed startup and is ready to handle requests."
    return json_answer({"status": "healthy", "message": message})


def _created(request: Request, name: str, info: InfoAnswer) -> Response:
    location = f"{request.url.scheme}://{request.url.netloc}/connectors/{quote(name, safe=_IN_PATH)}"
    return json_answer(info, 201, {"Location": location})


def _task(request: Request) -> int:
    """The task's number. Other text is an unknown path, whose 404 has a Content-Type here (FACTS.md, 3)."""
    number = path_name(request, "task")
    if not _NUMBER.fullmatch(number) or not -(2**31) <= int(number) < 2**31:
        raise NotFound("HTTP 404 Not Found")
    return int(number)


def _unit(request: Request) -> Unit:
    """The connector or task in the path."""
    return Unit(path_name(request), _task(request) if "task" in request.path_params else CONNECTOR)


def _number(request: Request, name: str, default: int) -> int:
    """A query parameter that is a whole number."""
    value = parameter(request, name)
    if value is None:
        return default
    if not value.isascii() or not value.isdigit() or len(value) > 9:
        raise BadRequest(f"The query parameter '{name}' must be a whole number, not '{value}'")
    return int(value)


def _flag(request: Request, name: str, default: bool) -> bool:
    """A boolean query parameter: any value but `true` is false, and an empty value means the default, as in Java."""
    value = parameter(request, name)
    return value.lower() == "true" if value else default
