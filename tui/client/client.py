"""The Connect REST API: one method for each endpoint, over a blocking or an asynchronous transport.

`Connect` is written once, as coroutines. With the transport of `tui.wire.blocking` they never suspend, so `drive`
steps them to their end without an event loop; with `tui.wire.evented` they run on the screen's loop.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from tui import model
from tui.client import versions
from tui.client.calls import NO_ORIGIN, ApiCall, Json, RequestOrigin, Transport
from tui.client.checking import Response, fitting, listed
from tui.client.responses import (
    ConfigHistoryResponse,
    DeletedResponse,
    FailuresResponse,
    HealthResponse,
    HistoryResponse,
    InfoResponse,
    KeyResponse,
    ListedResponse,
    LoggedLine,
    LoggerResponse,
    OffsetsResponse,
    OrphansResponse,
    PluginDetailsResponse,
    PluginResponse,
    PreviewResponse,
    ProgressHistoryResponse,
    ReloadResponse,
    ResolvedResponse,
    RestartsResponse,
    RootResponse,
    StatusResponse,
    TaskResponse,
    TopicsResponse,
    ValidationResponse,
    WorkersResponse,
)
from tui.client.versions import Feature
from tui.errors import NO_WORKER, Conflict, HeadraceError, NotFound, Refused, Unsupported, may_have_arrived
from tui.scrubbing import without_user

EXPANDED_LIST = "/connectors?expand=status&expand=info"
MAY_BE_DONE = "the change may have taken effect"
REBALANCE_WAITS = (0.25, 0.5, 1.0, 2.0, 4.0)  # seconds before each further try of a 409 that passes by itself
RETRY_SECONDS = 15.0  # after the first request, from which no further try is made: each can take the worker 40 s
LONG_CONFLICT = "check that the worker reaches its Kafka brokers, and its log; then try again"


def _allow(call: ApiCall) -> None:
    """The guard of a context without restrictions."""


def _silent(message: str) -> None:
    """Discards notices."""


def is_transient(error: Conflict) -> bool:
    """Whether the conflict is temporary, a rebalance or a stale configuration, and not a name that is taken."""
    return error.message.startswith(("Cannot complete request", "Request cannot be completed"))


class Connect:
    """A Connect cluster. `guard` may refuse a call (a read-only context); `notice` is called for each retry. `clock`
    gives seconds, which limit the retries.

    Responses to reads are checked; responses to changes (`object`) are not, since the change has been made in any case.
    Requests raise the errors of `tui.errors`.
    """

    def __init__(
        self,
        transport: Transport,
        guard: Callable[[ApiCall], None] = _allow,
        notice: Callable[[str], None] = _silent,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.transport, self.guard, self.notice, self._clock = transport, guard, notice, clock
        self._version: str | None = None  # None until `GET /` was read

    @property
    def url(self) -> str:
        return without_user(self.transport.url)

    async def root(self) -> RootResponse:
        root = await self._checked("GET", "/", RootResponse)
        self._version = root.get("version") or ""
        return root

    async def missing(self, feature: Feature) -> str:
        """The reason why the worker's version cannot do it; empty if it can, or if the version is unknown."""
        return versions.missing(feature, await self._known_version())

    async def require(self, feature: Feature) -> None:
        """Raises Unsupported if the worker's version cannot do it."""
        versions.require(feature, await self._known_version())

    async def _known_version(self) -> str:
        if self._version is None:
            try:
                await self.root()
            except HeadraceError:
                return ""
        return self._version or ""

    async def expanded(self) -> dict[str, ListedResponse]:
        """`{name: {"status": …, "info": …}}` in one request; workers before 2.3 need one for each connector."""
        response = await self._send("GET", EXPANDED_LIST)
        if isinstance(response, list):
            names = fitting(response, list[str], "response to GET /connectors")
            return {name: {"status": await self.status(name), "info": await self.info(name)} for name in names}
        return listed(response)

    async def statuses(self) -> dict[str, Json]:
        """`{name: status}` in one request; the response is less than half as large as that of `expanded`."""
        response = await self._send("GET", "/connectors?expand=status")
        if isinstance(response, list):
            names = fitting(response, list[str], "response to GET /connectors")
            return {name: await self.status(name) for name in names}
        return {name: part.get("status") for name, part in listed(response).items()}

    async def names(self) -> list[str]:
        return await self._checked("GET", "/connectors", list[str])

    async def create(self, body: Mapping[str, Json]) -> object:
        feature = versions.INITIAL_STATE if "initial_state" in body else None
        return await self._send("POST", "/connectors", body, feature=feature)

    async def info(self, name: str) -> InfoResponse:
        return await self._checked("GET", _of(name), InfoResponse)

    async def status(self, name: str) -> StatusResponse:
        return await self._checked("GET", _of(name, "status"), StatusResponse)

    async def config(self, name: str) -> dict[str, str]:
        return model.config_text(await self._checked("GET", _of(name, "config"), dict[str, Any]))

    async def configure(self, name: str, config: Mapping[str, Json]) -> object:
        return await self._send("PUT", _of(name, "config"), config)

    async def patch_config(self, name: str, changed: Mapping[str, str | None]) -> object:
        """Changes only these keys; None removes a key. Refused with 405 by workers without KIP-477."""
        return await self._send("PATCH", _of(name, "config"), changed)

    async def tasks(self, name: str) -> list[TaskResponse]:
        return await self._checked("GET", _of(name, "tasks"), list[TaskResponse])

    async def topics(self, name: str) -> dict[str, TopicsResponse]:
        return await self._checked("GET", _of(name, "topics"), dict[str, TopicsResponse], feature=versions.TOPICS)

    async def reset_topics(self, name: str) -> None:
        await self._send("PUT", _of(name, "topics/reset"), feature=versions.TOPICS)

    async def logs(self, name: str, lines: int = 500) -> list[LoggedLine]:
        """The connector's last log lines, oldest first; Headrace workers only."""
        return await self._checked("GET", _of(name, f"logs?lines={lines}"), list[LoggedLine])

    async def stop(self, name: str) -> None:
        await self._send("PUT", _of(name, "stop"), feature=versions.STOP)

    async def pause(self, name: str) -> None:
        await self._send("PUT", _of(name, "pause"))

    async def resume(self, name: str) -> None:
        await self._send("PUT", _of(name, "resume"))

    async def restart(self, name: str, tasks: bool = False, only_failed: bool = False) -> object:
        """Workers without KIP-745 ignore the parameters and restart the connector alone; its tasks follow."""
        query = f"?includeTasks={str(tasks).lower()}&onlyFailed={str(only_failed).lower()}"
        response = await self._send("POST", _of(name, "restart") + (query if tasks or only_failed else ""))
        if response is None and tasks and await self.missing(versions.RESTART_TASKS):
            for task in model.connector(name, await self.status(name)).tasks:
                if task.state == "FAILED" or not only_failed:
                    await self.restart_task(name, task.id)
        return response

    async def restart_task(self, name: str, task: int) -> None:
        await self._send("POST", _of(name, f"tasks/{task}/restart"))

    async def delete(self, name: str) -> None:
        await self._send("DELETE", _of(name))

    async def delete_with_offsets(self, name: str, origin: RequestOrigin = NO_ORIGIN) -> object:
        """Headrace workers only: Apache's worker ignores the parameter and keeps the offsets."""
        return await self._send("DELETE", _of(name) + "?offsets=true", origin=origin)

    async def offsets(self, name: str) -> OffsetsResponse:
        return await self._checked("GET", _of(name, "offsets"), OffsetsResponse, feature=versions.GET_OFFSETS)

    async def offsets_in_detail(self, name: str) -> OffsetsResponse:
        """Headrace workers add `end` and `lag` for sinks, `age_ms` for sources; others ignore the parameter."""
        path = _of(name, "offsets?detail=true")
        return await self._checked("GET", path, OffsetsResponse, feature=versions.GET_OFFSETS)

    async def alter_offsets(self, name: str, entries: Sequence[Json], origin: RequestOrigin = NO_ORIGIN) -> object:
        """The response is `{"message": …}`: see `tui.model.Verdict`."""
        body = {"offsets": list(entries)}
        return await self._send("PATCH", _of(name, "offsets"), body, origin, feature=versions.ALTER_OFFSETS)

    async def reset_offsets(self, name: str, origin: RequestOrigin = NO_ORIGIN) -> object:
        return await self._send("DELETE", _of(name, "offsets"), origin=origin, feature=versions.ALTER_OFFSETS)

    async def offset_history(self, name: str) -> HistoryResponse:
        """`{"history": …}`, also of deleted connectors; Headrace workers only."""
        return await self._checked("GET", _of(name, "offsets/history"), HistoryResponse)

    async def config_history(self, name: str) -> ConfigHistoryResponse:
        """`{"history": …}`, also of deleted connectors; Headrace workers only."""
        return await self._checked("GET", _of(name, "config/history"), ConfigHistoryResponse)

    async def deleted_connectors(self) -> DeletedResponse:
        """`{"deleted": …}`, the latest first; Headrace workers only."""
        return await self._checked("GET", "/deleted-connectors", DeletedResponse)

    async def orphaned_offsets(self) -> OrphansResponse:
        """`{"sources": …, "sinks": …}`; Headrace workers only."""
        return await self._checked("GET", "/orphaned-offsets", OrphansResponse)

    async def remove_orphans(self, name: str, group: str | None, origin: RequestOrigin = NO_ORIGIN) -> object:
        """Deletes orphaned offsets of a source, or with `group` those of a sink; Headrace workers only."""
        query = f"?group={quoted(group)}" if group else ""
        return await self._send("DELETE", f"/orphaned-offsets/{quoted(name)}{query}", origin=origin)

    async def resolve_offsets(self, name: str, target: Json) -> ResolvedResponse:
        """Resolves a position in a sink's topics; Headrace workers only. Changes nothing."""
        return await self._checked("POST", _of(name, "offsets/resolve"), ResolvedResponse, body=target)

    async def preview(self, name: str, body: Json) -> PreviewResponse:
        """The result of a transformation chain for records; Headrace workers only. Changes nothing."""
        return await self._checked("POST", _of(name, "preview"), PreviewResponse, body=body)

    async def preview_plugin(self, plugin: str, body: Json) -> PreviewResponse:
        """As `preview`, for a connector that does not exist."""
        return await self._checked("POST", _plugin(plugin, "preview"), PreviewResponse, body=body)

    async def errors(self, name: str) -> FailuresResponse:
        """Counts of failed records by stage, and the newest failures; Headrace workers only."""
        return await self._checked("GET", _of(name, "errors"), FailuresResponse)

    async def progress(self, name: str) -> ProgressHistoryResponse:
        """Records and lag over the last hours; Headrace workers only."""
        return await self._checked("GET", _of(name, "progress"), ProgressHistoryResponse)

    async def restarts(self, name: str) -> RestartsResponse:
        """Policy and history of automatic restarts; Headrace workers only."""
        return await self._checked("GET", _of(name, "restarts"), RestartsResponse)

    async def plugins(self, connectors_only: bool = True) -> list[PluginResponse]:
        path = f"/connector-plugins?connectorsOnly={str(connectors_only).lower()}"
        return await self._checked("GET", path, list[PluginResponse])

    async def plugin_details(self) -> list[PluginDetailsResponse]:
        """All plugins with their language and origin. Headrace workers only."""
        return await self._checked("GET", "/connector-plugins/details", list[PluginDetailsResponse])

    async def plugin_config(self, plugin: str) -> list[KeyResponse]:
        """The keys of any plugin; of a connector also where the worker only validates its config (before KIP-769).
        Raises Unsupported there for others."""
        try:
            path, feature = _plugin(plugin, "config"), versions.PLUGIN_CONFIG
            return await self._checked("GET", path, list[KeyResponse], feature=feature)
        except Unsupported as error:
            lacking = error
        config = {"connector.class": plugin, "name": plugin, "topics": plugin}
        try:
            configs = (await self.validate(plugin, config)).get("configs") or ()
        except Refused:
            raise lacking from None
        return [key for entry in configs if (key := entry.get("definition"))]

    async def reload_plugins(self, plugin: str | None, origin: RequestOrigin = NO_ORIGIN) -> ReloadResponse:
        """Search plugins again on all workers; connectors with changed plugins restart. Headrace workers only."""
        query = "" if plugin is None else f"?plugin={quoted(plugin)}"
        path = f"/connector-plugins/reload{query}"
        return await self._checked("POST", path, ReloadResponse, origin=origin)

    async def validate(self, plugin: str, config: Mapping[str, Json]) -> ValidationResponse:
        path = _plugin(plugin, "config/validate")
        return await self._checked("PUT", path, ValidationResponse, body=config)

    async def loggers(self) -> dict[str, LoggerResponse]:
        """`{name: {"level", "last_modified"}}` of the worker that responds."""
        response = await self._send("GET", "/admin/loggers", feature=versions.LOGGERS)
        return fitting(response or {}, dict[str, LoggerResponse], "response to GET /admin/loggers")

    async def set_level(self, logger: str, level: str, scope: str = "worker") -> object:
        """The changed loggers for scope `worker`; None for `cluster`, where each worker applies the change itself.
        Workers without KIP-976 ignore the scope and return their changed loggers."""
        path = f"/admin/loggers/{quoted(logger)}?scope={scope}"
        return await self._send("PUT", path, {"level": level}, feature=versions.LOGGERS)

    async def metrics(self) -> str:
        """Metrics of the worker that responds, in Prometheus' text format; Headrace workers only."""
        call = ApiCall("GET", "/metrics", headers=(("Accept", "text/plain"),))
        self.guard(call)
        return str(await self.transport.send(call) or "")

    async def health(self) -> HealthResponse:
        """`{"status", "message"}` of the worker that responds (KIP-1017); refused with 500 or 503 when it is unwell."""
        return await self._checked("GET", "/health", HealthResponse, feature=versions.HEALTH)

    async def workers(self) -> WorkersResponse:
        """The workers of the group with their connectors and tasks; Headrace workers only."""
        return await self._checked("GET", "/workers", WorkersResponse)

    async def change_worker(self, worker_id: str, verb: str, origin: RequestOrigin = NO_ORIGIN) -> None:
        """`verb` is cordon, uncordon or drain; Headrace workers only."""
        await self._send("PUT", f"/workers/{quoted(worker_id)}/{verb}", origin=origin)

    def lines(self, path: str, lasting: float | None) -> AsyncGenerator[str, None]:
        """The lines of an event stream, for `lasting` seconds or until the stream closes."""
        self.guard(ApiCall("GET", path))
        return self.transport.lines(path, "", lasting)

    async def sleep(self, seconds: float) -> None:
        await self.transport.sleep(seconds)

    async def close(self) -> None:
        await self.transport.close()

    async def _checked(
        self,
        method: str,
        path: str,
        expected: type[Response],
        *,
        body: Json = None,
        origin: RequestOrigin = NO_ORIGIN,
        feature: Feature | None = None,
    ) -> Response:
        """Sends a call. Raises MalformedResponse for a response that does not have the expected type."""
        response = await self._send(method, path, body, origin, feature=feature)
        return fitting(response, expected, f"response to {method} {path.partition('?')[0]}")

    async def _send(
        self,
        method: str,
        path: str,
        body: Json = None,
        origin: RequestOrigin = NO_ORIGIN,
        *,
        feature: Feature | None = None,
    ) -> Json:
        """Sends a call. Raises Unsupported if it is refused since the worker's version lacks the feature."""
        call, since = ApiCall(method, path, body, origin.headers), self._clock()
        try:
            return await self._settled(call)
        except HeadraceError as error:
            if (took := self._clock() - since) > RETRY_SECONDS:
                error.delay = took
            if call.changes and may_have_arrived(error):
                error.advice = MAY_BE_DONE
            elif isinstance(error, Refused):
                await self._explain(error, path, feature)
            raise

    async def _explain(self, error: Refused, path: str, feature: Feature | None) -> None:
        """Raises Unsupported, or adds the version of a worker that does not know the path."""
        if feature is not None and _is_unknown(error):
            await self.require(feature)
        is_unknown_path = isinstance(error, NotFound) and error.advice == NO_WORKER and path != "/"
        if is_unknown_path and (version := await self._known_version()):
            error.advice = f"this worker, version {version}, does not know the request"

    async def _settled(self, call: ApiCall) -> Json:
        """Sends a call. A temporary conflict is retried for a limited time, with a notice for each try."""
        self.guard(call)
        since = self._clock()
        for wait in REBALANCE_WAITS:
            try:
                return await self.transport.send(call)
            except Conflict as error:
                if not is_transient(error):
                    raise
                if self._clock() - since + wait > RETRY_SECONDS:
                    error.advice = error.advice or LONG_CONFLICT
                    raise
                subject = f"{call.connector}: " if call.connector else ""
                self.notice(f"{subject}409 {error.message}: next try in {wait:g} s")
            await self.transport.sleep(wait)
        return await self.transport.send(call)


def _is_unknown(error: Refused) -> bool:
    """Whether the worker does not know the path, the method or a field of the request."""
    return error.message.startswith(("HTTP 404", "HTTP 405")) or "Unrecognized field" in error.message


def quoted(text: str) -> str:
    """The text as a part of a path. Bytes of the command line that the locale cannot decode are sent as they are."""
    return quote(text.encode("utf-8", "surrogateescape"), safe="")


def _plugin(name: str, part: str) -> str:
    return f"/connector-plugins/{quoted(name)}/{part}"


def _of(name: str, part: str = "") -> str:
    return f"/connectors/{quoted(name)}" + (f"/{part}" if part else "")
