"""The console's types of responses against the worker's OpenAPI document: each field that the console reads exists
there, with a type that the console's check accepts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, NotRequired, get_args, get_origin

import pytest

from runtime.rest.openapi.operations import OPERATIONS
from runtime.rest.openapi.schemas import SCHEMAS
from tui.client import responses

EXPECTED: dict[str, Any] = {
    "Root": responses.RootResponse,
    "Health": responses.HealthResponse,
    "Connector": responses.InfoResponse,
    "Status": responses.StatusResponse,
    "Tasks": list[responses.TaskResponse],
    "Topics": dict[str, responses.TopicsResponse],
    "Lines": list[responses.LoggedLine],
    "Offsets": responses.OffsetsResponse,
    "History": responses.HistoryResponse,
    "ConfigHistory": responses.ConfigHistoryResponse,
    "Deleted": responses.DeletedResponse,
    "Orphans": responses.OrphansResponse,
    "Resolved": responses.ResolvedResponse,
    "ProgressHistory": responses.ProgressHistoryResponse,
    "Restarts": responses.RestartsResponse,
    "Plugins": list[responses.PluginResponse],
    "PluginDetails": list[responses.PluginDetailsResponse],
    "Definitions": list[responses.KeyResponse],
    "Validation": responses.ValidationResponse,
    "Reloaded": responses.ReloadResponse,
    "Loggers": dict[str, responses.LoggerResponse],
    "Workers": responses.WorkersResponse,
}
_JSON = {str: "string", int: "integer", float: "number", bool: "boolean"}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_console_reads_what_the_worker_describes(name: str) -> None:
    assert list(_differences(EXPECTED[name], SCHEMAS[name], name)) == []


def test_every_schema_is_the_response_of_an_operation() -> None:
    assert EXPECTED.keys() <= {name for operation in OPERATIONS for name in operation.responses.values()}


def test_a_difference_is_found() -> None:
    schema = {"type": "object", "properties": {"load": {"type": "string"}}}
    assert list(_differences(responses.WorkerResponse, schema, "worker"))[:2] == [
        "worker.worker_id: not in the document",
        "worker.connectors: not in the document",
    ]
    assert "worker.load: the console expects number" in list(_differences(responses.WorkerResponse, schema, "worker"))


def _differences(kind: Any, schema: dict[str, Any], place: str) -> Iterator[str]:
    if "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    if get_origin(kind) in (NotRequired, Annotated):
        yield from _differences(get_args(kind)[0], schema, place)
    elif "anyOf" in schema:
        present = [part for part in schema["anyOf"] if part != {"type": "null"}]
        for part in present:
            yield from _differences(kind, part, place)
    elif type(None) in get_args(kind):
        yield from _differences(get_args(kind)[0], schema, place)
    elif hasattr(kind, "__required_keys__"):
        for name, field in kind.__annotations__.items():
            yield from _of_field(field, name, schema, f"{place}.{name}")
    elif get_origin(kind) is list:
        yield from _differences(get_args(kind)[0], schema["items"], f"{place}[]")
    elif get_origin(kind) is dict and isinstance(schema.get("additionalProperties"), dict):
        yield from _differences(get_args(kind)[1], schema["additionalProperties"], f"{place}.*")
    elif kind in _JSON and "enum" not in schema and schema.get("type") not in (_JSON[kind], None):
        yield f"{place}: the console expects {_JSON[kind]}"


def _of_field(field: Any, name: str, schema: dict[str, Any], place: str) -> Iterator[str]:
    properties = schema.get("properties")
    if properties is None:  # an object whose fields a plugin chooses
        return
    if name not in properties:
        yield f"{place}: not in the document"
    else:
        yield from _differences(field, properties[name], place)
