"""DatagenSource: records, rate, offsets and configuration."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import pytest

from runtime.api.connector import ExactlyOnceSupport
from runtime.api.data.batch import SourceBatch
from runtime.api.data.validate import validate_struct
from runtime.api.errors import ConfigError, ConnectError
from runtime.connectors.datagen.source import TEMPLATES, DatagenSourceConnector, DatagenSourceTask
from tests.support.tasks.task_contexts import StoredOffsets, started

UNLIMITED = {"topic": "t", "template": "orders", "rate": "0"}
FIELDS = {
    "id": "uuid",
    "n": {"generator": "sequence", "start": 10, "step": -2},
    "price": {"generator": "decimal", "min": "0.01", "max": "99.99", "scale": 2},
    "code": {"generator": "pattern", "pattern": "100%-##"},
    "word": {"generator": "pattern", "pattern": "{?#}"},
    "maybe": {"generator": "boolean", "null": 0.5},
    "at": "now",
}


def _values(config: Mapping[str, str], count: int, offsets: StoredOffsets | None = None) -> list[Any]:
    task = started(DatagenSourceTask(), config, offsets)
    found: list[Any] = []
    while len(found) < count and (batch := task.poll()):
        found += [(record.value, record.source_offset) for record in batch]
    return found[:count]


def _errors(config: Mapping[str, str]) -> dict[str, list[str]]:
    return {v.name: v.errors for v in DatagenSourceConnector().validate(config) if v.errors}


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_records_of_a_template_match_their_schema_and_have_a_key(template: str) -> None:
    task = started(DatagenSourceTask(), {**UNLIMITED, "template": template})
    batch = task.poll()
    assert isinstance(batch, SourceBatch) and len(batch) == 1024
    for record in batch:
        assert record.value_schema is not None
        validate_struct(record.value_schema, record.value)
        assert record.key == record.value[TEMPLATES[template].key_field]


def test_a_record_depends_on_seed_task_and_number_only() -> None:
    whole = _values(UNLIMITED, 3000)
    assert [offset for _, offset in whole] == [{"records": n + 1} for n in range(3000)]
    for start in (1, 1023, 1024, 2500):
        resumed = StoredOffsets([({"task": 0}, {"records": start})])
        assert _values({**UNLIMITED, "batch.size": "100"}, 500, resumed) == whole[start : start + 500]
    amounts = [value["amount"] for value, _ in whole]
    for other in ({"seed": "7"}, {"datagen.task": "1"}):
        assert [value["amount"] for value, _ in _values({**UNLIMITED, **other}, 3000)] != amounts
    assert whole[0][0]["order_id"] == 1 and len(set(amounts)) > 2000


def test_generators_of_fields() -> None:
    config = {"topic": "t", "fields": json.dumps(FIELDS), "rate": "0", "count": "2000"}
    values = [value for value, _ in _values(config, 5000)]
    assert len(values) == 2000
    assert [value["n"] for value in values[:3]] == [10, 8, 6]
    assert all(0 < value["price"] < 100 and value["price"].as_tuple().exponent == -2 for value in values)
    assert all(value["code"].startswith("100%-") and len(value["code"]) == 7 for value in values)
    assert all(value["word"][1].isalpha() and value["word"][2].isdigit() for value in values)
    assert 800 < sum(value["maybe"] is None for value in values) < 1200
    assert len({value["id"] for value in values}) == 2000
    assert abs(values[0]["at"].timestamp() - time.time()) < 60


def test_the_rate_and_a_late_task() -> None:
    now = 100.0
    task = started(DatagenSourceTask(clock=lambda: now), {**UNLIMITED, "rate": "50"})
    assert len(task.poll() or ()) == 1
    assert not task.poll()
    assert task.idle_poll == pytest.approx(0.02)
    now += 0.5
    assert len(task.poll() or ()) == 25
    now += 3600.0
    assert len(task.poll() or ()) == 51, "an hour in PAUSED is not caught up"
    now += 0.105
    assert len(task.poll() or ()) == 5


def test_the_count_ends_the_records_also_after_a_restart() -> None:
    config = {**UNLIMITED, "count": "1500"}
    assert len(_values(config, 5000)) == 1500
    assert _values(config, 10, StoredOffsets([({"task": 0}, {"records": 1500})])) == []


def test_each_task_has_a_partition() -> None:
    connector = DatagenSourceConnector()
    connector.start(UNLIMITED)
    tasks = [started(DatagenSourceTask(), config) for config in connector.task_configs(3)]
    assert [next(iter(task.poll() or ())).source_partition for task in tasks] == [{"task": n} for n in range(3)]
    assert connector.exactly_once_support(UNLIMITED) is ExactlyOnceSupport.SUPPORTED


@pytest.mark.parametrize(
    ("config", "key", "message"),
    [
        ({"topic": "t"}, "template", "Set either template or fields"),
        ({"topic": "t", "template": "orders", "fields": '{"a": "uuid"}'}, "fields", "Set either template or fields"),
        ({"topic": "t", "template": "cars"}, "template", "must be one of: orders, users"),
        ({"topic": "t", "template": "orders", "key.field": "nope"}, "key.field", "the fields are order_id, "),
        ({"topic": "t", "template": "orders", "rate": "-1"}, "rate", "at least 0"),
        ({"topic": "t", "fields": "{"}, "fields", "not valid JSON"),
        ({"topic": "t", "fields": "[]"}, "fields", "must be a JSON object"),
        ({"topic": "t", "fields": '{"a": "nope"}'}, "fields", "field a: generator must be one of boolean, "),
        ({"topic": "t", "fields": '{"a": {"generator": "integer", "min": 9, "max": 1}}'}, "fields", "min is greater"),
        ({"topic": "t", "fields": '{"a": {"generator": "uuid", "x": 1}}'}, "fields", "x is not an option of this"),
        ({"topic": "t", "fields": '{"a": {"generator": "choice", "values": [1, "b"]}}'}, "fields", "of one type"),
        ({"topic": "t", "fields": '{"a": {"generator": "timestamp", "start": "now"}}'}, "fields", "must be a time"),
    ],
)
def test_invalid_configurations(config: Mapping[str, str], key: str, message: str) -> None:
    errors = _errors(config)
    assert message in " ".join(errors[key])
    with pytest.raises(ConfigError):
        DatagenSourceConnector().start(config)


def test_altered_offsets_are_checked() -> None:
    connector = DatagenSourceConnector()
    assert connector.alter_offsets(UNLIMITED, [({"task": 0}, {"records": 5}), ({"task": 1}, None)])
    for partition, offset in (
        ({"task": "0"}, {"records": 5}),
        ({"shard": 0}, None),
        ({"task": 0}, {"records": -1}),
        ({"task": 0}, {"position": 1}),
        ({"task": 0}, {"records": 1, "position": 1}),
    ):
        with pytest.raises(ConnectError):
            connector.alter_offsets(UNLIMITED, [(partition, offset)])
