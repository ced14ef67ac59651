"""Runs the cases through Headrace: one by one, and together if a plugin processes columns."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from runtime.api.data.batch import SinkBatch, SourceBatch
from runtime.api.data.columns import ConstantColumn, ValueBatch, batch_method
from runtime.api.data.projection import project
from runtime.api.data.record import SinkRecord
from runtime.api.data.schema import Schema, Type
from runtime.api.data.schema_builder import SchemaBuilder
from runtime.api.data.validate import validate_value
from runtime.api.java_compat.regex import java_regex
from runtime.config.jaas.entries import JaasError, LoginModule, login_module, named_modules
from runtime.pipeline.chain.column_steps import apply_to_batches, batch_step
from runtime.pipeline.chain.step import ChainStep
from runtime.pipeline.task.failure import java_name, message_of
from runtime.plugins.registry import load
from tests.contract.differential.encoding import (
    Json,
    read_record,
    read_schema,
    read_value,
    write_pair,
    write_record,
    write_schema,
    write_value,
)
from tests.support.tasks.python_messages import Message

_KINDS = {
    **dict.fromkeys(("to_connect", "from_connect"), "converter"),
    **dict.fromkeys(("to_header", "from_header"), "header_converter"),
    "transform": "transformation",
    "predicate": "predicate",
}


def answer(asked: Json) -> Json:
    """Headrace's result of a case: `{"ok": …}`, or class and message of the error. `outcome`: only whether the case
    succeeds."""
    try:
        if "outcome" in asked:
            return {"ok": _outcome(asked)}
        return {"ok": _RUN[asked["op"]](asked)}
    except Exception as error:
        return {"error": java_name(error), "message": message_of(error)}


def answers_together(cases: Sequence[Json]) -> list[Json] | None:
    """The results of cases that differ in their data only, processed as columns; None if they are not."""
    try:
        found = _TOGETHER[cases[0]["op"]](cases)
    except Exception:  # processed one by one instead
        return None
    return None if found is None else [{"ok": one} for one in found]


def alike(asked: Json) -> str | None:
    """A key shared by cases that may be processed together; None for cases that are always processed alone."""
    if asked["op"] not in _TOGETHER or "outcome" in asked:
        return None
    if asked["op"] == "transform":
        record = asked["record"]
        if (record["timestamp"] is None) if record["sink"] else (record["partition"] is not None):
            return None  # batches do not have this form
        parts = [record["topic"], record["sink"], record["key"][0], record["value"][0], record["timestamp"]]
        return json.dumps([asked["class"], asked["config"], *parts])
    if asked.get("data", "") is None:
        return None
    return json.dumps([asked["op"], asked["class"], asked["config"], asked["key"], asked.get("schema")])


def _plugin(asked: Json) -> Any:
    return _made(_KINDS[asked["op"]], asked["class"], json.dumps(asked["config"]), asked.get("key", False))


@cache
def _made(kind: str, name: str, config: str, key: bool) -> Any:
    """One instance for all cases with the same configuration: state from one case must not change another."""
    plugin = load(kind, name)()
    given = json.loads(config)
    if kind == "converter":
        plugin.configure(given, key)
    else:
        plugin.configure({**given, "converter.type": "header"} if kind == "header_converter" else given)
    return plugin


def _bytes(data: bytes | None) -> Json:
    return write_value(None, data)


def _data(asked: Json) -> bytes | None:
    return None if asked["data"] is None else base64.b64decode(asked["data"])


def _outcome(asked: Json) -> bool:
    """The answer; an error for values nested too deeply to encode."""
    _plugin(asked).to_connect("topic", _data(asked))
    return True


def _to_connect(asked: Json) -> Json:
    return write_pair(*_plugin(asked).to_connect("topic", _data(asked)))


def _from_connect(asked: Json) -> Json:
    schema = read_schema(asked["schema"])
    return _bytes(_plugin(asked).from_connect("topic", schema, read_value(schema, asked["value"])))


def _to_header(asked: Json) -> Json:
    return write_pair(*_plugin(asked).to_connect_header("topic", "h", _data(asked)))


def _from_header(asked: Json) -> Json:
    schema = read_schema(asked["schema"])
    return _bytes(_plugin(asked).from_connect_header("topic", "h", schema, read_value(schema, asked["value"])))


def _transform(asked: Json) -> Json:
    return write_record(_plugin(asked).apply(read_record(asked["record"])))


def _project(asked: Json) -> Json:
    source, target = _given(asked["source"]), _given(asked["target"])
    return write_value(target, project(source, read_value(source, asked["value"]), target))


def _validate(asked: Json) -> Json:
    schema = _given(asked["schema"])
    validate_value(schema, read_value(schema, asked["value"]), asked["name"])


def _given(node: Json) -> Schema:
    schema = read_schema(node)
    assert schema is not None
    return schema


def _build(asked: Json) -> Json:
    builder: SchemaBuilder
    for name, given in asked["calls"]:
        if name == "type":
            builder = SchemaBuilder(Type[given])
        elif name == "array":
            builder = SchemaBuilder.array(read_schema(given))
        elif name == "map":
            builder = SchemaBuilder.map(read_schema(given[0]), read_schema(given[1]))
        elif name in ("optional", "required"):
            getattr(builder, name)()
        elif name == "default":
            builder.default(read_value(builder.build(), given))
        elif name == "parameter":
            builder.parameter(*given)
        elif name == "field":
            builder.field(given[0], read_schema(given[1]))
        else:
            getattr(builder, name)(given)
    return write_schema(builder.build())


def _jaas(asked: Json) -> Json:
    try:
        if not asked["file"]:
            return _modules([login_module(asked["text"])])
        return _modules(named_modules(asked["text"], {}).get("KafkaClient"))
    except JaasError:
        return "refused"


def _modules(modules: Sequence[LoginModule] | None) -> Json:
    if modules is None:
        return None
    return [[module.name, *map(list, sorted(module.options.items()))] for module in modules]


_RUN: dict[str, Callable[[Json], Json]] = {
    "to_connect": _to_connect,
    "from_connect": _from_connect,
    "to_header": _to_header,
    "from_header": _from_header,
    "transform": _transform,
    "predicate": lambda asked: _plugin(asked).test(read_record(asked["record"])),
    "project": _project,
    "validate": _validate,
    "build": _build,
    "regex": lambda asked: java_regex(asked["pattern"]).fullmatch(asked["text"]) is not None,
    "jaas": _jaas,
}


def _all_to_connect(cases: Sequence[Json]) -> list[Json] | None:
    convert = batch_method(_plugin(cases[0]), "to_connect", "to_connect_batch")
    values = convert("topic", [_data(case) for case in cases])
    return None if values is None else [write_pair(values.schema, value) for value in values.rows]


def _all_from_connect(cases: Sequence[Json]) -> list[Json] | None:
    convert = batch_method(_plugin(cases[0]), "from_connect", "from_connect_batch")
    schema = read_schema(cases[0]["schema"])
    found = convert("topic", ValueBatch(schema, [read_value(schema, case["value"]) for case in cases]))
    return None if found is None else list(map(_bytes, found))


def _all_transform(cases: Sequence[Json]) -> list[Json] | None:
    step = batch_step(ChainStep(_plugin(cases[0])))
    changed = None if step is None else apply_to_batches(step, [_batch(cases)], lambda error: None)
    if changed is None:
        return None
    return list(map(write_record, changed[0].records)) if changed else [None] * len(cases)


def _batch(cases: Sequence[Json]) -> Any:
    nodes = [case["record"] for case in cases]
    records = [read_record(node) for node in nodes]
    first = records[0]
    keys = ValueBatch(first.key_schema, [record.key for record in records])
    values = ValueBatch(first.value_schema, [record.value for record in records])
    headers = [record.headers or None for record in records]
    if isinstance(first, SinkRecord):
        times = first.timestamp if first.timestamp is not None else -1
        messages = [Message(node["offset"], None, None, None, first.topic, node["partition"], times) for node in nodes]
        return SinkBatch(first.topic, messages, keys, values, headers)
    batch = SourceBatch({}, lambda n: {}, first.topic, values, first.timestamp)
    batch.keys, batch.headers = keys, headers if any(headers) else ConstantColumn(None, len(records))
    return batch


_TOGETHER: dict[str, Callable[[Sequence[Json]], list[Json] | None]] = {
    "to_connect": _all_to_connect,
    "from_connect": _all_from_connect,
    "transform": _all_transform,
}
