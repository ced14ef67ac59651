"""JSON Schemas of request and answer bodies; /openapi.json refers to them by name."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
SCALAR: Schema = {"type": ["string", "number", "boolean", "null"]}
"""A value that Connect accepts as a string, in its original spelling."""
NOTHING: Schema = {"type": "null"}
OBJECT: Schema = {"type": "object"}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def nullable(schema: Schema) -> Schema:
    """The schema, or null."""
    return {"anyOf": [schema, NOTHING]}


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def mapping(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def strict(optional: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    """An object with these fields only; all are required except the optional ones."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def object_with(*names: str) -> Schema:
    """An object with at least these fields."""
    return {"type": "object", "required": list(names)}


_STATE = {"enum": ["UNASSIGNED", "RUNNING", "PAUSED", "STOPPED", "FAILED", "RESTARTING", "DESTROYED"]}
_RUN = {"state": _STATE, "worker_id": TEXT, "version": nullable(TEXT), "trace": TEXT}
_TYPE = {"enum": ["source", "sink", "unknown"]}
_PARTITION = {"partition": nullable(OBJECT), "offset": nullable(OBJECT)}
_WHERE = {"kafka_topic": TEXT, "kafka_partition": NUMBER}
_TARGET = strict(("kafka_topic", "kafka_partition"), to={"type": ["string", "integer"]}, **_WHERE)

SCHEMAS: dict[str, Schema] = {
    "Error": strict(error_code=NUMBER, message=nullable(TEXT)),
    "Root": strict(version=TEXT, commit=TEXT, kafka_cluster_id=nullable(TEXT)),
    "Health": strict(status={"enum": ["healthy", "starting", "unhealthy"]}, message=TEXT),
    "Alive": strict(status={"const": "alive"}),
    "Document": object_with("openapi", "info", "paths", "components"),
    "Events": TEXT,
    "Metrics": TEXT,
    "Names": array(TEXT),
    "Config": mapping(TEXT),
    "GivenConfig": mapping(SCALAR),
    "TaskId": strict(connector=TEXT, task=NUMBER),
    "Connector": strict(
        ("initial_offsets_response",),
        name=TEXT, config=ref("Config"), tasks=array(ref("TaskId")), type=_TYPE, initial_offsets_response=TEXT,
    ),
    "Create": {
        **strict(
            ("initial_state", "initial_offsets"),
            name=SCALAR, config=ref("GivenConfig"),
            initial_state=nullable({"type": "string", "description": "RUNNING, PAUSED or STOPPED, in any case"}),
            initial_offsets=nullable({**array(ref("GivenOffset")), "minItems": 1}),
        ),
        "examples": [{
            "name": "lines", "initial_state": "STOPPED",
            "config": {"connector.class": "FileStreamSource", "file": "/var/log/messages", "topic": "lines"},
        }],
    },
    "Tasks": array(strict(id=ref("TaskId"), config=ref("Config"))),
    "TaskConfigs": array(ref("GivenConfig")),
    "ConnectorState": strict(("trace",), **_RUN),
    "TaskState": strict(("trace",), id=NUMBER, **_RUN),
    "Status": strict(name=TEXT, connector=ref("ConnectorState"), tasks=array(ref("TaskState")), type=_TYPE),
    "Connectors": {
        "anyOf": [
            ref("Names"),
            mapping(strict(("status", "info"), status=ref("Status"), info=ref("Connector"))),
        ],
    },
    "Topics": mapping(strict(topics=array(TEXT))),
    "Message": strict(message=TEXT),
    "GivenOffset": strict(("partition", "offset"), **_PARTITION),
    "GivenOffsets": strict(offsets={**array(ref("GivenOffset")), "minItems": 1}),
    "Offsets": strict(
        ("stalled", "expires_at"),
        stalled=array(NUMBER), expires_at=nullable(NUMBER),
        offsets=array(strict(
            ("end", "lag", "written", "age_ms"),
            **_PARTITION, end=nullable(NUMBER), lag=nullable(strict(records=NUMBER, ms=nullable(NUMBER))),
            written=nullable(NUMBER), age_ms=nullable(NUMBER),
        ))
    ),
    "History": strict(
        history=array(strict(
            number=NUMBER, time=NUMBER, action=TEXT, who=TEXT, why=TEXT,
            before=array(ref("GivenOffset")), after=array(ref("GivenOffset")),
        ))
    ),
    "Targets": {"anyOf": [_TARGET, strict(targets={**array(_TARGET), "minItems": 1})]},
    "Resolved": strict(
        offsets=array(ref("GivenOffset")), reread=NUMBER, skipped=NUMBER,
        changes=array(strict(
            partition=OBJECT, to=NUMBER, reread=NUMBER, skipped=NUMBER, beginning=NUMBER, end=NUMBER,
            **{"from": nullable(NUMBER)},
        )),
    ),
    "Orphans": strict(
        sources=array(strict(connector=TEXT, partitions=NUMBER)),
        sinks=array(strict(connector=TEXT, group=TEXT, partitions=NUMBER)),
    ),
    "Lines": array(strict(time=NUMBER, level=TEXT, task=nullable(NUMBER), logger=TEXT, message=TEXT)),
    "Stack": strict(
        ("host",), id=NUMBER, slot=NUMBER, pid=NUMBER, call=TEXT, seconds={"type": "number"}, stack=array(TEXT),
        host=TEXT,
    ),
    "Plugins": array(
        strict(
            **{"class": TEXT}, version=nullable(TEXT),
            type={"enum": ["source", "sink", "transformation", "predicate", "converter", "header_converter"]},
        )
    ),
    "PluginDetails": array(
        strict(
            **{"class": TEXT, "from": TEXT}, version=TEXT, language={"enum": ["java", "python"]},
            type={"enum": ["source", "sink", "transformation", "predicate", "converter", "header_converter"]},
        )
    ),
    "Definition": strict(
        name=TEXT, required=FLAG, default_value=nullable(TEXT), documentation=TEXT, group=nullable(TEXT),
        type={"enum": ["BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"]},
        importance={"enum": ["HIGH", "MEDIUM", "LOW"]}, order_in_group=NUMBER,
        width={"enum": ["NONE", "SHORT", "MEDIUM", "LONG"]}, display_name=nullable(TEXT), dependents=array(TEXT),
    ),
    "Definitions": array(ref("Definition")),
    "Validation": strict(
        ("unchecked",), unchecked=array(TEXT), name=TEXT, error_count=NUMBER, groups=array(TEXT),
        configs=array(strict(
            definition=nullable(ref("Definition")),
            value=strict(
                name=TEXT, value=nullable(TEXT), recommended_values=array(nullable(TEXT)), errors=array(TEXT),
                visible=FLAG,
            ),
        )),
    ),
    "Preview": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "config": nullable(ref("GivenConfig")), "topics": nullable(array(TEXT)),
            "last": nullable({**NUMBER, "minimum": 1}),
            "records": nullable({"type": "array", "minItems": 1}),
        },
    },
    "Notice": strict(time=NUMBER, level=TEXT, connector=nullable(TEXT), task=nullable(NUMBER), message=TEXT),
    "Progress": strict(
        read=NUMBER, written=NUMBER, failed=NUMBER, lag=nullable(strict(records=NUMBER, ms=nullable(NUMBER))),
        age_ms=nullable(NUMBER), stalled=array(NUMBER), throttled_ms=NUMBER,
        limit=nullable(strict(records=nullable({"type": "number"}), bytes=nullable({"type": "number"}))),
    ),
    "OwnEvents": strict(last=TEXT, notices=array(ref("Notice")), progress=mapping(ref("Progress"))),
    "Previewed": object_with("name", "type", "warnings"),
    "RecordErrors": strict(
        ("missing",),
        name=TEXT, since=NUMBER, total=mapping(NUMBER), stages=mapping(mapping(NUMBER)), missing=array(TEXT),
        tasks=array(strict(id=NUMBER, total=mapping(NUMBER), stages=mapping(mapping(NUMBER)))),
        last=array({
            **object_with("time", "task", "stage", "message"),
            "properties": {"time": NUMBER, "task": NUMBER, "stage": TEXT, "message": TEXT},
        }),
    ),
    "ProgressHistory": {
        **object_with("name", "points"),
        "properties": {
            "name": TEXT,
            "points": array(strict(time=NUMBER, read=NUMBER, written=NUMBER, failed=NUMBER, lag=nullable(NUMBER))),
            "missing": array(TEXT),
        },
    },
    "ConfigHistory": strict(
        history=array(strict(
            number=NUMBER, time=NUMBER, action=TEXT, who=TEXT, why=TEXT, state=TEXT,
            before=nullable(ref("Config")), after=nullable(ref("Config")),
        ))
    ),
    "Deleted": strict(deleted=array(strict(name=TEXT, time=NUMBER, who=TEXT, why=TEXT))),
    "Restarts": strict(
        name=TEXT,
        policy=strict(attempts=NUMBER, delay_ms=NUMBER, delay_max_ms=NUMBER, errors=array(TEXT), reset_ms=NUMBER),
        units=array(strict(
            task=nullable(NUMBER), attempts=NUMBER, due=nullable(NUMBER), ended=FLAG,
            history=array(strict(time=NUMBER, attempt=NUMBER, restarted=nullable(NUMBER), error=TEXT)),
        )),
    ),
    "Workers": strict(
        ("missing",),
        missing=array(TEXT), group_id=TEXT, generation=NUMBER, leader=TEXT, rebalancing=FLAG,
        workers=array(strict(
            worker_id=TEXT, url=TEXT, leader=FLAG, here=FLAG, implementation={"enum": ["headrace", "connect"]},
            version=TEXT, slots=NUMBER, slots_without_core=nullable(array(NUMBER)),
            load={"type": "number"}, load_at=NUMBER, memory=nullable(NUMBER), java_memory=nullable(NUMBER),
            state={"enum": ["ACTIVE", "CORDONED", "DRAINING", "FOREIGN"]},
            connectors=array(TEXT), tasks=array(ref("TaskId")),
        )),
        waiting=array(strict(connector=TEXT, task=NUMBER, until=NUMBER)),
    ),
    "Reloaded": strict(workers=mapping(nullable(strict(
        plugins=array(strict(**{"class": TEXT}, version=TEXT, environment=TEXT)),
        restarted=array(TEXT), missing=array(TEXT),
    )))),
    "Level": strict(level=TEXT, last_modified=nullable(NUMBER)),
    "Loggers": mapping(ref("Level")),
    "GivenLevel": {**mapping(SCALAR), "properties": {"level": SCALAR}, "required": ["level"]},
}  # fmt: skip
"""Every schema by name."""
