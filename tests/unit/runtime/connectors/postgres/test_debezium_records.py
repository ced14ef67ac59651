"""PostgresCdcSource writes what Debezium 3.2 has written for the same tables and changes: schemas, keys, values and
headers. Recorded by tests/scenario/java/connectors/test_postgres_cdc.py, which compares both on one server."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable

import pytest

from runtime.api.data.record import SourceRecord
from tests.support.tasks.cdc_comparison import MODES, Event, comparable, recorded, shortened
from tests.support.tasks.cdc_tables import CHANGES, TABLES
from tests.support.tasks.json_converter import json_converter
from tests.support.tasks.postgres_cdc import CdcRun, Database


def _event(record: SourceRecord, prefix: str) -> Event:
    keys, values = json_converter(True, True), json_converter()
    key = None if record.key is None else keys.from_connect(record.topic, record.key_schema, record.key)
    value = None if record.value is None else values.from_connect(record.topic, record.value_schema, record.value)
    headers = [(name, json.dumps(item).encode()) for name, _, item in record.headers or []]
    return comparable(key, value, headers, prefix)


@pytest.mark.parametrize("mode", MODES)
def test_records(mode: str, database: Database, run: Callable[..., CdcRun]) -> None:
    for statement in TABLES:
        database.execute(statement)
    source = run(**{name.replace(".", "_"): value for name, value in MODES[mode].items()}).streaming()
    for statement in CHANGES:
        database.execute(statement)
    source.until(lambda: _is_last(source.records[-1]), "the last change")
    tables: dict[str, list[Event]] = defaultdict(list)
    for record in source.records:
        tables[record.topic.removeprefix(database.name)].append(_event(record, database.name))
    ours, theirs = shortened(tables), recorded(mode)
    assert list(ours) == list(theirs)
    for table, expected in theirs.items():
        assert ours[table]["schemas"] == expected["schemas"], table
        assert ours[table]["events"] == expected["events"], table


def _is_last(record: SourceRecord) -> bool:
    return record.topic.endswith(".zlast") and record.value is not None and record.value["after"]["id"] == 2
