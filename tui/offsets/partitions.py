"""Partitions, offsets and verdicts as text for users, and as keys that do not depend on the order of JSON fields."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tui.formatting import editable
from tui.model import Certainty, Connector, Offset, Verdict

Json = Any
# json.dumps() would create an encoder for each of thousands of offsets
_IN_ORDER, _SORTED = json.JSONEncoder(ensure_ascii=False), json.JSONEncoder(ensure_ascii=False, sort_keys=True)
MAX_DIGITS = 100  # of a number as text: Python converts at most 4,300


def key(partition: Json) -> str:
    """A key that is equal for equal partitions, whatever the order of fields; a sink's partition may be text."""
    if isinstance(partition, dict) and "kafka_topic" in partition and "kafka_partition" in partition:
        number = partition["kafka_partition"]
        is_text = isinstance(number, str) and number.isascii() and number.isdecimal()
        return f"kafka {partition['kafka_topic']} {(number.lstrip('0') or '0') if is_text else number}"
    return _SORTED.encode(partition)


def compact(value: Json) -> str:
    """One line of JSON, with a space after commas and colons for readability."""
    return editable(_IN_ORDER.encode(value))


def shown(partition: Json) -> str:
    """`orders-3` for a topic's partition; the value alone where a source partition has a single field."""
    if isinstance(partition, dict):
        if {"kafka_topic", "kafka_partition"} <= partition.keys():
            return f"{partition['kafka_topic']}-{partition['kafka_partition']}"
        if len(partition) == 1:
            ((name, value),) = partition.items()
            return f"{name} {value if isinstance(value, str) else compact(value)}"
    return compact(partition)


def shown_offset(offset: Json) -> str:
    """`position 12`; `reset` for null, which resets the partition."""
    if offset is None:
        return "reset"
    if isinstance(offset, dict) and len(offset) == 1:
        ((name, value),) = offset.items()
        plain = isinstance(value, str | int | float) and not isinstance(value, bool)
        return f"{name.removeprefix('kafka_')} {value if plain else compact(value)}"
    return compact(offset)


def offset_cell(offset: Json) -> str:
    """As `shown_offset`, under a heading that names the offset: `12` for a sink, `position 12` for a file source."""
    return shown_offset(offset).removeprefix("offset ")


def is_entry(value: Json) -> bool:
    """Whether the value has the shape of an entry: an object with a partition and an offset."""
    return isinstance(value, dict) and value.keys() == {"partition", "offset"}


def by_hand(verdict: Verdict | None) -> str:
    """The step that remains to be done by hand; empty without a verdict, and after a definite success."""
    if verdict is None or verdict.certainty is Certainty.DEFINITE:
        return ""
    return (
        "possible success: the connector did not confirm the change. If it keeps offsets in an external system, "
        "change them there by hand before it is resumed"
    )


def document(offsets: Iterable[Offset]) -> str:
    """The text for the editor: the body of PATCH, two lines for each partition."""
    entries = [
        f'    {{"partition": {compact(entry.partition)},\n     "offset": {compact(entry.offset)}}}' for entry in offsets
    ]
    return '{"offsets": [\n' + ",\n".join(entries) + ("\n" if entries else "") + "]}\n"


def template(connector: Connector) -> str:
    """A first entry for a connector without offsets, in the shape that its kind of connector expects."""
    if connector.type == "sink":
        topic = connector.config.get("topics", "").partition(",")[0].strip() or "topic"
        example = Offset({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": 0})
    elif is_file_source(connector):
        example = Offset({"filename": connector.config.get("file", "")}, {"position": 0})
    else:
        example = Offset({}, {})
    return document([example])


def is_file_source(connector: Connector) -> bool:
    return connector.short_class in ("FileStreamSource", "FileStreamSourceConnector")
