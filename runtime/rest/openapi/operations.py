"""The table from which /openapi.json is built: parameters, bodies and responses of each path and method."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.rest.http.responses import JSON
from runtime.rest.openapi.json_schema import NUMBER, TEXT, Schema, array

_COUNT: Schema = {**NUMBER, "minimum": 0, "maximum": 999_999_999}
_FLAG: Schema = {**TEXT, "description": "`true` in upper or lower case; any other value is false."}
_ORIGIN: Mapping[str, Schema] = {
    "Headrace-User": {**TEXT, "description": "The user, if the worker has no authentication; kept in the history."},
    "Headrace-Reason": {**TEXT, "description": "The reason; kept in the history."},
}

_USER: Mapping[str, Schema] = {
    "Headrace-User": {**TEXT, "description": "The user, if the worker has no authentication; kept with the state."},
}


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """One method of one path.

    `responses` maps the status of each successful response to the name of a schema, empty for no body. `errors` are
    error statuses in addition to those of every path. `links` are operations that take the connector's name from this
    one.
    """

    method: str
    path: str
    id: str
    summary: str
    responses: Mapping[int, str]
    errors: tuple[int, ...] = ()
    query: Mapping[str, Schema] = field(default_factory=dict)
    headers: Mapping[str, Schema] = field(default_factory=dict)
    body: str = ""
    body_required: bool = True
    produces: tuple[str, ...] = (JSON,)
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def path_parameters(self) -> list[str]:
        return re.findall(r"\{(\w+)\}", self.path)


_ON_CREATED = dict.fromkeys(
    (
        "connector", "status", "config", "patchConfig", "tasks", "pause", "resume", "stop", "restart", "offsets",
        "resetOffsets", "alterOffsets", "topics", "resetTopics", "logs", "delete", "history", "preview", "errors",
        "progress", "restarts", "configHistory",
    ),
    "$response.body#/name",
)  # fmt: skip
_C = "/connectors/{name}"
_T = f"{_C}/tasks/{{task}}"
_P = "/connector-plugins/{name}"
_W = "/workers/{worker_id}"
_READ, _CHANGE = (404, 503), (400, 404, 409, 503)

OPERATIONS: tuple[ApiOperation, ...] = (
    ApiOperation("GET", "/", "root", "Version, and the id of the Kafka cluster", {200: "Root"}),
    ApiOperation(
        "GET", "/health", "health", "Readiness: whether the worker can do its work",
        {200: "Health", 500: "Health", 503: "Health"}
    ),
    ApiOperation("GET", "/health/live", "alive", "Liveness: whether the process answers", {200: "Alive"}),
    ApiOperation("GET", "/openapi.json", "openapi", "This document", {200: "Document"}),
    ApiOperation(
        "GET", "/events", "events", "Events of connectors and tasks as they happen (server-sent events)",
        {200: "Events"}, (503,), headers={"Last-Event-ID": TEXT}, produces=("text/event-stream",),
    ),
    ApiOperation(
        "GET", "/events/own", "ownEvents", "Internal: notices and progress of this worker alone", {200: "OwnEvents"},
        (403, 503), query={"after": TEXT},
    ),
    ApiOperation(
        "GET", "/metrics", "metrics", "Worker, connectors and tasks in Prometheus' text format", {200: "Metrics"},
        produces=("text/plain", "application/openmetrics-text"),
    ),
    ApiOperation(
        "GET", "/connectors", "connectors", "Names of all connectors; with `expand` their status and info",
        {200: "Connectors"}, (503,), query={"expand": array(TEXT)},
    ),
    ApiOperation(
        "POST", "/connectors", "create", "Create a connector, optionally with `initial_offsets`",
        {200: "Connector", 201: "Connector"}, (400, 409, 503), body="Create", headers=_ORIGIN, links=_ON_CREATED,
    ),
    ApiOperation("GET", _C, "connector", "Config and tasks of a connector", {200: "Connector"}, _READ),
    ApiOperation(
        "DELETE", _C, "delete", "Delete a connector; with `offsets=true` its offsets too", {200: "Message", 204: ""},
        _CHANGE, query={"offsets": _FLAG}, headers=_ORIGIN,
    ),
    ApiOperation("GET", f"{_C}/config", "config", "The connector's config", {200: "Config"}, _READ),
    ApiOperation(
        "PUT", f"{_C}/config", "putConfig", "Create a connector, or replace its config",
        {200: "Connector", 201: "Connector"}, (400, 409, 503), body="GivenConfig",
    ),
    ApiOperation(
        "PATCH", f"{_C}/config", "patchConfig", "Change some keys of the config; null removes a key",
        {200: "Connector"}, _CHANGE, body="GivenConfig",
    ),
    ApiOperation("GET", f"{_C}/status", "status", "States of the connector and its tasks", {200: "Status"}, _READ),
    ApiOperation("GET", f"{_C}/tasks", "tasks", "Configs of the connector's tasks", {200: "Tasks"}, _READ),
    ApiOperation(
        "POST", f"{_C}/tasks", "putTasks", "Internal: for other workers, signed with their session key", {204: ""},
        (400, 403, 404, 409, 503),
        body="TaskConfigs",
    ),
    ApiOperation(
        "PUT", f"{_C}/fence", "fence", "Internal: for other workers, signed with their session key", {204: ""},
        (400, 403, 404, 409, 500, 503),
    ),
    ApiOperation(
        "POST", f"{_C}/settled", "settled", "Internal: waits until the connector's tasks have ended on this worker",
        {204: ""}, (400, 403, 409, 503), query={"within": _COUNT},
    ),
    ApiOperation("GET", f"{_T}/status", "taskStatus", "A task's state", {200: "TaskState"}, _READ),
    ApiOperation(
        "GET", f"{_T}/stack", "stack", "Stack of a task's thread, and the connector call that it is in", {200: "Stack"},
        (404, 409, 503),
    ),
    ApiOperation("POST", f"{_T}/restart", "restartTask", "Restart a task", {204: ""}, _CHANGE),
    ApiOperation(
        "GET", f"{_C}/logs", "logs", "Latest log lines of the connector and its tasks", {200: "Lines"},
        (400, 404, 503), query={"lines": _COUNT, "task": _COUNT},
    ),
    ApiOperation("PUT", f"{_C}/pause", "pause", "Pause: keep the tasks, but process no records", {202: ""}, _CHANGE),
    ApiOperation("PUT", f"{_C}/resume", "resume", "Resume a paused or stopped connector", {202: ""}, _CHANGE),
    ApiOperation("PUT", f"{_C}/stop", "stop", "Stop: end the tasks; offsets can be changed", {204: ""}, _CHANGE),
    ApiOperation(
        "POST", f"{_C}/restart", "restart", "Restart the connector, its tasks, or only the failed ones",
        {202: "Status", 204: ""}, _CHANGE, query={"includeTasks": _FLAG, "onlyFailed": _FLAG},
    ),
    ApiOperation("GET", f"{_C}/topics", "topics", "Topics that the connector has used", {200: "Topics"}, (503,)),
    ApiOperation("PUT", f"{_C}/topics/reset", "resetTopics", "Forget those topics", {202: ""}, (503,)),
    ApiOperation(
        "GET", f"{_C}/offsets", "offsets", "The connector's offsets; with `detail=true` also its lag",
        {200: "Offsets"}, (400, 404, 503), query={"detail": _FLAG},
    ),
    ApiOperation(
        "PATCH", f"{_C}/offsets", "alterOffsets", "Set or remove offsets of a stopped connector", {200: "Message"},
        _CHANGE, body="GivenOffsets", headers=_ORIGIN,
    ),
    ApiOperation(
        "DELETE", f"{_C}/offsets", "resetOffsets", "Remove all offsets of a stopped connector", {200: "Message"},
        _CHANGE, headers=_ORIGIN,
    ),
    ApiOperation(
        "GET", f"{_C}/offsets/history", "history", "Changes of the offsets, newest first", {200: "History"}, (503,)
    ),
    ApiOperation(
        "POST", f"{_C}/offsets/resolve", "resolve", "Convert a time or position to offsets of a sink; changes nothing",
        {200: "Resolved"}, (400, 404, 503), body="Targets",
    ),
    ApiOperation(
        "GET", "/orphaned-offsets", "orphanedOffsets", "Offsets of deleted connectors", {200: "Orphans"}, (503,)
    ),
    ApiOperation(
        "DELETE", "/orphaned-offsets/{name}", "removeOrphans", "Remove the offsets of a deleted connector",
        {200: "Message"}, (404, 409, 503), query={"group": TEXT}, headers=_ORIGIN,
    ),
    ApiOperation(
        "POST", f"{_C}/preview", "preview", "Run sample records through the connector's chain; changes nothing",
        {200: "Previewed"}, (400, 404, 503), body="Preview", body_required=False,
    ),
    ApiOperation("GET", f"{_C}/errors", "errors", "Failed records by stage", {200: "RecordErrors"}, _READ),
    ApiOperation(
        "GET", f"{_C}/progress", "progress", "Records and lag over the last hours, since the worker's start",
        {200: "ProgressHistory"}, _READ,
    ),
    ApiOperation(
        "GET", f"{_C}/config/history", "configHistory", "Changes of the config, newest first", {200: "ConfigHistory"},
        (503,),
    ),
    ApiOperation(
        "GET", "/deleted-connectors", "deletedConnectors", "Deleted connectors, which the history can restore",
        {200: "Deleted"}, (503,),
    ),
    ApiOperation(
        "GET", f"{_C}/restarts", "restarts", "Policy and history of the connector's automatic restarts",
        {200: "Restarts"}, _READ,
    ),
    ApiOperation(
        "GET", "/connector-plugins", "plugins", "Connector plugins; with `connectorsOnly=false` all plugins",
        {200: "Plugins"}, (503,),
        query={"connectorsOnly": _FLAG},
    ),
    ApiOperation(
        "GET", "/connector-plugins/details", "pluginDetails", "All plugins with their language and origin",
        {200: "PluginDetails"}, (503,),
    ),
    ApiOperation(
        "POST", "/connector-plugins/reload", "reloadPlugins",
        "Search plugins again on all workers; connectors with changed plugins restart", {200: "Reloaded"}, (404, 503),
        query={"plugin": TEXT},
    ),
    ApiOperation(
        "GET", f"{_P}/config", "pluginConfig", "Keys of a plugin's configuration", {200: "Definitions"},
        (400, 404, 503), query={"version": TEXT},
    ),
    ApiOperation(
        "PUT", f"{_P}/config/validate", "validate", "Validate a connector's config; changes nothing",
        {200: "Validation"}, (400, 404, 503), body="GivenConfig",
    ),
    ApiOperation(
        "POST", f"{_P}/preview", "previewPlugin", "Run sample records through the chain of a new connector",
        {200: "Previewed"}, (400, 404, 503), body="Preview", body_required=False,
    ),
    ApiOperation(
        "GET", "/workers", "workers", "The workers of the group with their connectors, tasks and load",
        {200: "Workers"}, (503,),
    ),
    ApiOperation(
        "PUT", f"{_W}/cordon", "cordon", "Cordon: the worker keeps its tasks, and receives no others", {202: ""},
        (404, 409, 503), headers=_USER,
    ),
    ApiOperation(
        "PUT", f"{_W}/uncordon", "uncordon", "Uncordon: the worker receives connectors and tasks again", {202: ""},
        (404, 409, 503), headers=_USER,
    ),
    ApiOperation(
        "PUT", f"{_W}/drain", "drain", "Drain: the worker's connectors and tasks move to other workers", {202: ""},
        (404, 409, 503), headers=_USER,
    ),
    ApiOperation("GET", "/admin/loggers", "loggers", "Loggers whose level is set", {200: "Loggers"}),
    ApiOperation("GET", "/admin/loggers/{name}", "logger", "A logger's level", {200: "Level"}, (404,)),
    ApiOperation(
        "PUT", "/admin/loggers/{name}", "setLevel", "Set a logger's level here, or with `scope=cluster` on all workers",
        {200: "Names", 204: ""}, (400, 404, 503), query={"scope": TEXT}, body="GivenLevel",
    ),
)  # fmt: skip
"""Every operation, in the order of the document."""
