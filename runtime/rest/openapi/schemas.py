"""JSON Schemas of the bodies of requests and responses; /openapi.json refers to them by name. Those of responses with a
type are derived from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, get_args, get_origin, get_type_hints

from runtime.herder import responses
from runtime.rest.openapi.json_schema import (
    FLAG,
    NUMBER,
    OBJECT,
    SCALAR,
    TEXT,
    Schema,
    array,
    mapping,
    nullable,
    object_with,
    ref,
    strict,
)

_SIMPLE: dict[Any, Schema] = {str: TEXT, int: NUMBER, float: {"type": "number"}, bool: FLAG, Any: {}}


def schemas_of(types: Mapping[str, Any]) -> dict[str, Schema]:
    """The schemas of these types by name; one that contains another of them refers to it."""
    names = {kind: name for name, kind in types.items()}
    return {name: _of_object(kind, names) for name, kind in types.items()}


def _of(kind: Any, names: Mapping[Any, str]) -> Schema:
    """A TypedDict, a list, a dictionary, a basic type, one of them or None, or `Annotated` with a schema."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:  # first, since it cannot be hashed
        schema: Schema = parts[1]
        return schema
    if kind in names:
        return ref(names[kind])
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if type(None) in parts:
        (present,) = (part for part in parts if part is not type(None))
        return nullable(_of(present, names))
    if origin is list:
        return array(_of(parts[0], names))
    if origin is None:
        return _of_object(kind, names)
    return OBJECT if parts[1] is Any else mapping(_of(parts[1], names))


def _of_object(kind: Any, names: Mapping[Any, str]) -> Schema:
    hints = get_type_hints(kind, include_extras=True)
    # With `from __future__ import annotations` a TypedDict does not know which of its fields are NotRequired.
    optional = {name for name, hint in hints.items() if get_origin(hint) is NotRequired} | kind.__optional_keys__
    fields = {name: get_args(hint)[0] if get_origin(hint) is NotRequired else hint for name, hint in hints.items()}
    return strict(tuple(optional), **{name: _of(field, names) for name, field in fields.items()})


_RESPONSES: dict[str, Any] = {
    "TaskId": responses.TaskIdResponse,
    "Connector": responses.InfoResponse,
    "Task": responses.TaskResponse,
    "ConnectorState": responses.StateResponse,
    "TaskState": responses.TaskStatusResponse,
    "Status": responses.StatusResponse,
    "Expanded": responses.ExpandedResponse,
    "ActiveTopics": responses.TopicsResponse,
    "Message": responses.MessageResponse,
    "Offset": responses.OffsetResponse,
    "Offsets": responses.DetailedOffsetsResponse,
    "History": responses.HistoryResponse,
    "Resolved": responses.ResolvedResponse,
    "Orphans": responses.OrphansResponse,
    "Stack": responses.StackResponse,
    "ProgressPoint": responses.ProgressPoint,
    "ConfigHistory": responses.ConfigHistoryResponse,
    "Deleted": responses.DeletedResponse,
    "Restarts": responses.RestartsResponse,
    "Workers": responses.WorkersResponse,
}
_PARTITION = {"partition": nullable(OBJECT), "offset": nullable(OBJECT)}
_WHERE = {"kafka_topic": TEXT, "kafka_partition": NUMBER}
_TARGET = strict(("kafka_topic", "kafka_partition"), to={"type": ["string", "integer"]}, **_WHERE)

SCHEMAS: dict[str, Schema] = {
    **schemas_of(_RESPONSES),
    "Tasks": array(ref("Task")),
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
    "TaskConfigs": array(ref("GivenConfig")),
    "Connectors": {
        "anyOf": [
            ref("Names"),
            mapping(ref("Expanded")),
        ],
    },
    "Topics": mapping(ref("ActiveTopics")),
    "GivenOffset": strict(("partition", "offset"), **_PARTITION),
    "GivenOffsets": strict(offsets={**array(ref("GivenOffset")), "minItems": 1}),
    "Targets": {"anyOf": [_TARGET, strict(targets={**array(_TARGET), "minItems": 1})]},
    "Lines": array(strict(time=NUMBER, level=TEXT, task=nullable(NUMBER), logger=TEXT, message=TEXT)),
    "Plugins": array(
        strict(
            **{"class": TEXT}, version=nullable(TEXT),
            type={"enum": ["source", "sink", "transformation", "predicate", "converter", "header_converter"]},
        )
    ),
    "PluginDetails": array(
        strict(
            ("worker_classes",), **{"class": TEXT, "from": TEXT}, version=TEXT, language={"enum": ["java", "python"]},
            worker_classes=mapping(TEXT),
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
            "points": array(ref("ProgressPoint")),
            "missing": array(TEXT),
        },
    },
    "Reloaded": strict(workers=mapping(nullable(strict(
        plugins=array(strict(**{"class": TEXT}, version=TEXT, environment=TEXT)),
        restarted=array(TEXT), missing=array(TEXT),
    )))),
    "Level": strict(level=TEXT, last_modified=nullable(NUMBER)),
    "Loggers": mapping(ref("Level")),
    "GivenLevel": {**mapping(SCALAR), "properties": {"level": SCALAR}, "required": ["level"]},
}  # fmt: skip
"""Every schema by name."""
