"""The table behind /openapi.json: what each path takes and answers, readable from top to bottom."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.rest.http.answers import JSON
from runtime.rest.openapi.schemas import NUMBER, TEXT, Schema, array

_COUNT: Schema = {**NUMBER, "minimum": 0, "maximum": 999_999_999}
_FLAG: Schema = {**TEXT, "description": "`true` in any case; all else is false."}
_WHY: Mapping[str, Schema] = {
    "Headrace-User": {**TEXT, "description": "Who asks, where there is no authentication; kept in the history."},
    "Headrace-Reason": {**TEXT, "description": "Why; kept in the history."},
}


@dataclass(frozen=True, slots=True)
class Operation:
    """`answers` are those that went well: status and the name of a schema, empty for no body. `errors` are the ones
    beyond those that every path may answer. `links`: operations that take the connector's name from here."""

    method: str
    path: str
    id: str
    summary: str
    answers: Mapping[int, str]
    errors: tuple[int, ...] = ()
    query: Mapping[str, Schema] = field(default_factory=dict)
    headers: Mapping[str, Schema] = field(default_factory=dict)
    body: str = ""
    body_required: bool = True
    produces: str = JSON
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def path_parameters(self) -> list[str]:
        return re.findall(r"\{(\w+)\}", self.path)


_ON_CREATED = dict.fromkeys(
    (
        "connector", "status", "config", "patchConfig", "tasks", "pause", "resume", "stop", "restart", "offsets",
        "resetOffsets", "alterOffsets", "topics", "resetTopics", "logs", "delete", "history", "preview", "errors",
    ),
    "$response.body#/name",
)  # fmt: skip
_C = "/connectors/{name}"
_T = f"{_C}/tasks/{{task}}"
_P = "/connector-plugins/{name}"
_READ, _CHANGE = (404, 503), (400, 404, 409, 503)

OPERATIONS: tuple[Operation, ...] = (
    Operation("GET", "/", "root", "Version, and the id of the Kafka cluster", {200: "Root"}),
    Operation(
        "GET", "/health", "health", "Whether the worker can do its work", {200: "Health", 500: "Health", 503: "Health"}
    ),
    Operation("GET", "/health/live", "alive", "Whether the process answers", {200: "Alive"}),
    Operation("GET", "/openapi.json", "openapi", "This document", {200: "Document"}),
    Operation(
        "GET", "/events", "events", "Events of connectors and tasks as they happen (server-sent events)",
        {200: "Events"}, (503,), headers={"Last-Event-ID": TEXT}, produces="text/event-stream",
    ),
    Operation(
        "GET", "/metrics", "metrics", "Worker, connectors and tasks in Prometheus' text format", {200: "Metrics"},
        produces="text/plain",
    ),
    Operation(
        "GET", "/connectors", "connectors", "Names of all connectors; with `expand` their status and info",
        {200: "Connectors"}, (503,), query={"expand": array(TEXT)},
    ),
    Operation(
        "POST", "/connectors", "create", "Create a connector; with `initial_offsets` it starts from there",
        {200: "Connector", 201: "Connector"}, (400, 409, 503), body="Create", headers=_WHY, links=_ON_CREATED,
    ),
    Operation("GET", _C, "connector", "Config and tasks of a connector", {200: "Connector"}, _READ),
    Operation(
        "DELETE", _C, "delete", "Delete a connector; with `offsets=true` its offsets too", {200: "Message", 204: ""},
        _CHANGE, query={"offsets": _FLAG}, headers=_WHY,
    ),
    Operation("GET", f"{_C}/config", "config", "The connector's config", {200: "Config"}, _READ),
    Operation(
        "PUT", f"{_C}/config", "putConfig", "Create a connector, or give it another config",
        {200: "Connector", 201: "Connector"}, (400, 409, 503), body="GivenConfig",
    ),
    Operation(
        "PATCH", f"{_C}/config", "patchConfig", "Change some keys of the config; null takes one away",
        {200: "Connector"}, _CHANGE, body="GivenConfig",
    ),
    Operation("GET", f"{_C}/status", "status", "States of the connector and its tasks", {200: "Status"}, _READ),
    Operation("GET", f"{_C}/tasks", "tasks", "Configs of the connector's tasks", {200: "Tasks"}, _READ),
    Operation(
        "POST", f"{_C}/tasks", "putTasks", "For workers among themselves, signed with their session key", {204: ""},
        (400, 403, 404, 409, 503),
        body="TaskConfigs",
    ),
    Operation(
        "PUT", f"{_C}/fence", "fence", "For workers among themselves, signed with their session key", {204: ""},
        (400, 403, 404, 409, 500, 503),
    ),
    Operation("GET", f"{_T}/status", "taskStatus", "A task's state", {200: "TaskState"}, _READ),
    Operation(
        "GET", f"{_T}/stack", "stack", "Where a task's thread is now, and in which call", {200: "Stack"},
        (404, 409, 503),
    ),
    Operation("POST", f"{_T}/restart", "restartTask", "Restart a task", {204: ""}, _CHANGE),
    Operation(
        "GET", f"{_C}/logs", "logs", "Newest log lines of the connector and its tasks", {200: "Lines"},
        (400, 404, 503), query={"lines": _COUNT, "task": _COUNT},
    ),
    Operation("PUT", f"{_C}/pause", "pause", "Pause: tasks stay, and do nothing", {202: ""}, _CHANGE),
    Operation("PUT", f"{_C}/resume", "resume", "Resume a paused or stopped connector", {202: ""}, _CHANGE),
    Operation("PUT", f"{_C}/stop", "stop", "Stop: no tasks; offsets may be changed", {204: ""}, _CHANGE),
    Operation(
        "POST", f"{_C}/restart", "restart", "Restart the connector, its tasks, or what has failed of them",
        {202: "Status", 204: ""}, _CHANGE, query={"includeTasks": _FLAG, "onlyFailed": _FLAG},
    ),
    Operation("GET", f"{_C}/topics", "topics", "Topics that the connector has used", {200: "Topics"}, (503,)),
    Operation("PUT", f"{_C}/topics/reset", "resetTopics", "Forget those topics", {202: ""}, (503,)),
    Operation(
        "GET", f"{_C}/offsets", "offsets", "The connector's offsets; with `detail=true` how far behind it is",
        {200: "Offsets"}, (400, 404, 503), query={"detail": _FLAG},
    ),
    Operation(
        "PATCH", f"{_C}/offsets", "alterOffsets", "Set or remove offsets of a stopped connector", {200: "Message"},
        _CHANGE, body="GivenOffsets", headers=_WHY,
    ),
    Operation(
        "DELETE", f"{_C}/offsets", "resetOffsets", "Remove all offsets of a stopped connector", {200: "Message"},
        _CHANGE, headers=_WHY,
    ),
    Operation(
        "GET", f"{_C}/offsets/history", "history", "Who changed the offsets, when and why", {200: "History"}, (503,)
    ),
    Operation(
        "POST", f"{_C}/offsets/resolve", "resolve", "The offsets of a moment, for a sink; changes nothing",
        {200: "Resolved"}, (400, 404, 503), body="Targets",
    ),
    Operation(
        "GET", "/orphaned-offsets", "orphanedOffsets", "Offsets whose connector is gone", {200: "Orphans"}, (503,)
    ),
    Operation(
        "DELETE", "/orphaned-offsets/{name}", "removeOrphans", "Remove offsets whose connector is gone",
        {200: "Message"}, (404, 409, 503), query={"group": TEXT}, headers=_WHY,
    ),
    Operation(
        "POST", f"{_C}/preview", "preview", "What the connector's chain makes of records; changes nothing",
        {200: "Previewed"}, (400, 404, 503), body="Preview", body_required=False,
    ),
    Operation("GET", f"{_C}/errors", "errors", "Records that have failed so far", {200: "RecordErrors"}, _READ),
    Operation(
        "GET", "/connector-plugins", "plugins", "Connectors that can be run; or all plugins", {200: "Plugins"}, (503,),
        query={"connectorsOnly": _FLAG},
    ),
    Operation(
        "GET", f"{_P}/config", "pluginConfig", "Keys of a plugin's configuration", {200: "Definitions"},
        (400, 404, 503), query={"version": TEXT},
    ),
    Operation(
        "PUT", f"{_P}/config/validate", "validate", "What is wrong with a connector's config; changes nothing",
        {200: "Validation"}, (400, 404, 503), body="GivenConfig",
    ),
    Operation(
        "POST", f"{_P}/preview", "previewPlugin", "What the chain of a connector to be makes of records",
        {200: "Previewed"}, (400, 404, 503), body="Preview", body_required=False,
    ),
    Operation("GET", "/admin/loggers", "loggers", "Loggers with a level of their own", {200: "Loggers"}),
    Operation("GET", "/admin/loggers/{name}", "logger", "A logger's level", {200: "Level"}, (404,)),
    Operation(
        "PUT", "/admin/loggers/{name}", "setLevel", "Set a logger's level: here, or with `scope=cluster` everywhere",
        {200: "Names", 204: ""}, (400, 404, 503), query={"scope": TEXT}, body="GivenLevel",
    ),
)  # fmt: skip
"""Every operation, in the order of the document."""
