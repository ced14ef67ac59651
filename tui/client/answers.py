"""Shapes of the answers of the Connect REST API, as far as the console reads them.

`fitting` checks each answer, so that code which uses the answer need not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tui.client.shapes import TIME, Flag, ListOf, MapOf, Maybe, Number, Object, Shape, Text, parsed
from tui.errors import MalformedAnswer

if TYPE_CHECKING:
    from tui.client.answer_types import ListedAnswer

Json = Any
ANYTHING, TEXT, FLAG, COUNT = Shape(), Text(), Flag(), Number()
PART = Object()

ROOT = Object(optional={"version": TEXT, "commit": TEXT, "kafka_cluster_id": TEXT})
NAMES = ListOf(TEXT)
LISTED = MapOf(PART)
"""Status and info of each connector; `tui.model.connector` checks those that have changed."""

CONFIG = MapOf(ANYTHING)
INFO = Object(optional={"name": TEXT, "type": TEXT, "config": CONFIG})
TASK = {"state": TEXT, "worker_id": TEXT, "version": TEXT, "trace": TEXT}
STATUS = Object(
    optional={
        "name": TEXT,
        "type": TEXT,
        "connector": Object(optional=TASK),
        "tasks": ListOf(Object({"id": COUNT}, TASK)),
    }
)
TASKS = ListOf(Object({"id": Object({"task": COUNT}), "config": CONFIG}))
TOPICS = MapOf(Object(optional={"topics": NAMES}))
LOGS = ListOf(Object(optional={"time": TIME, "level": TEXT, "task": COUNT, "message": TEXT}))
ENTRY = {"partition": MapOf(ANYTHING), "offset": MapOf(ANYTHING)}
OFFSETS = Object(
    optional={
        "offsets": ListOf(
            Object(
                optional={
                    **ENTRY,
                    "end": COUNT,
                    "lag": Object(optional={"records": COUNT, "ms": COUNT}),
                    "age_ms": COUNT,
                }
            )
        ),
        "stalled": ListOf(COUNT),
        "expires_at": TIME,
    }
)
ENTRIES = ListOf(Object(optional=ENTRY))
HISTORY = Object(
    {
        "history": ListOf(
            Object(
                {
                    "number": COUNT,
                    "time": TIME,
                    "action": TEXT,
                    "who": TEXT,
                    "why": TEXT,
                    "before": ENTRIES,
                    "after": ENTRIES,
                }
            )
        )
    }
)
CONFIG_HISTORY = Object(
    {
        "history": ListOf(
            Object(
                {
                    "number": COUNT,
                    "time": TIME,
                    "action": TEXT,
                    "who": TEXT,
                    "why": TEXT,
                    "state": TEXT,
                    "before": Maybe(CONFIG),
                    "after": Maybe(CONFIG),
                }
            )
        )
    }
)
DELETED = Object({"deleted": ListOf(Object({"name": TEXT, "time": TIME, "who": TEXT, "why": TEXT}))})
ORPHANS = Object(
    {
        "sources": ListOf(Object({"connector": TEXT, "partitions": COUNT})),
        "sinks": ListOf(Object({"connector": TEXT, "partitions": COUNT, "group": TEXT})),
    }
)
RESOLVED = Object(
    {
        "changes": ListOf(
            Object(
                {
                    "partition": Object({"kafka_topic": TEXT, "kafka_partition": COUNT}),
                    "from": Maybe(COUNT),
                    "to": COUNT,
                    "reread": COUNT,
                    "skipped": COUNT,
                }
            )
        )
    }
)
SIDE = Maybe(Object({"topic": ANYTHING}))
FATE = Object({"result": TEXT}, {"by": ANYTHING})
PREVIEW = Object(
    {
        "records": ListOf(
            Object(
                {
                    "result": TEXT,
                    "by": ANYTHING,
                    "before": SIDE,
                    "after": SIDE,
                    "stages": ListOf(
                        Object({"alias": TEXT}, {"changes": ListOf(Object({"at": TEXT}))}),
                    ),
                },
                {"kafka": Object({"topic": ANYTHING}, {"partition": COUNT, "offset": COUNT}), "now": FATE},
            )
        ),
        "summary": Object({"records": COUNT}),
        "warnings": NAMES,
    }
)
ERRORS = Object(
    optional={
        "since": TIME,
        "total": MapOf(COUNT),
        "stages": MapOf(MapOf(COUNT)),
        "last": ListOf(Object(optional={"time": TIME})),
    }
)
RECORDED = Object({"points": ListOf(Object({"time": TIME, "written": COUNT, "lag": Maybe(COUNT)}))})
RESTARTS = Object({
    "name": TEXT,
    "policy": Object({"attempts": Number((int,))}),
    "units": ListOf(Object({
        "task": Maybe(COUNT), "attempts": COUNT, "due": Maybe(TIME), "ended": FLAG,
        "history": ListOf(Object({"time": TIME, "attempt": COUNT, "error": TEXT})),
    })),
})  # fmt: skip
PLUGINS = ListOf(Object({"class": TEXT, "type": TEXT}, {"version": TEXT}))
PLUGIN_DETAILS = ListOf(Object({"class": TEXT, "type": TEXT, "version": TEXT, "language": TEXT, "from": TEXT}))
RELOAD = Object({"workers": MapOf(Maybe(Object({"plugins": ListOf(ANYTHING), "restarted": NAMES, "missing": NAMES})))})
KEY = {
    **dict.fromkeys(("type", "importance", "documentation", "group"), TEXT),
    "required": FLAG,
    "order_in_group": COUNT,
}
KEYS = ListOf(Object({"name": TEXT}, KEY))
VALIDATION = Object(
    optional={
        "error_count": COUNT,
        "configs": ListOf(
            Object(
                optional={
                    "definition": Object({"name": TEXT}, KEY),
                    "value": Object(
                        optional={
                            "name": TEXT,
                            "errors": NAMES,
                            "recommended_values": ListOf(ANYTHING),
                            "visible": FLAG,
                        }
                    ),
                }
            )
        ),
    }
)
LOGGERS = MapOf(Object(optional={"level": TEXT, "last_modified": TIME}))
UNIT = {"connector": TEXT, "task": COUNT}
WORKERS = Object(
    {
        "workers": ListOf(
            Object(
                {"worker_id": TEXT, "connectors": NAMES, "tasks": ListOf(Object(UNIT))},
                {
                    **dict.fromkeys(("url", "implementation", "version", "state"), TEXT),
                    "leader": FLAG,
                    "here": FLAG,
                    "slots": COUNT,
                    "slots_without_core": ListOf(COUNT),
                    "load": Number((int, float), 0),
                },
            )
        )
    },
    {
        "group_id": TEXT,
        "generation": COUNT,
        "leader": TEXT,
        "rebalancing": FLAG,
        "waiting": ListOf(Object({**UNIT, "until": TIME})),
    },
)
HEALTH = Object(optional={"status": TEXT, "message": TEXT})

RATE = Number((int, float), 0)
PROGRESS = MapOf(
    Object(
        optional={
            "lag": Object(optional={"records": COUNT}),
            "age_ms": COUNT,
            "stalled": ListOf(COUNT),
            "read": COUNT,
            "failed": COUNT,
            "written": Number((int, float), 0),
            "limit": Maybe(Object(optional={"records": Maybe(RATE), "bytes": Maybe(RATE)})),
        }
    )
)
NOTICE = Object(optional={"level": TEXT, "message": TEXT, "connector": TEXT, "task": COUNT})
EVENTS: dict[str, Shape] = {
    "snapshot": Object({"connectors": LISTED}, {"progress": PROGRESS, "changed_at": MapOf(TIME)}),
    "progress": Object({"connectors": PROGRESS}),
    "connector": Object({"name": TEXT}, {"status": PART, "info": PART}),
    "removed": Object({"name": TEXT}),
    "log": NOTICE,
    "notice": NOTICE,
}
"""Data of `GET /events` by event name; other events belong to newer workers."""


def fitting(answer: Json, shape: Shape, what: str) -> Json:
    """Returns the answer; raises MalformedAnswer, which names the request (`what`) and the place of the error."""
    if found := shape.misfit(answer):
        place, why = found
        raise MalformedAnswer(f"malformed {what}: {place.removeprefix('.') or 'the whole answer'}: {why}")
    return answer


def listed(answer: Json) -> dict[str, ListedAnswer]:
    """Connectors with status and info. There may be thousands, so they are checked quickly first."""
    if isinstance(answer, dict) and all(type(part) is dict for part in answer.values()):
        return answer
    return dict(fitting(answer, LISTED, "answer to GET /connectors"))


def event(name: str, data: str) -> Json:
    """The data of an event, checked for its kind of event; raises MalformedAnswer."""
    try:
        found = parsed(data)
    except ValueError as error:
        raise MalformedAnswer(f"malformed {name} event: {error}") from None
    return fitting(found, EVENTS.get(name, PART), f"{name} event")
