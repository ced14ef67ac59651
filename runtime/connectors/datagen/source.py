"""The DatagenSource connector: configuration, tasks and offsets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width, grouped
from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.record import SourceRecord
from runtime.api.task import SourceTask
from runtime.connectors.config_keys import TOPIC_KEY
from runtime.connectors.datagen.generators import RecordGenerator, field_generators, fields_from_json
from runtime.connectors.numbered_source import NumberedOffsets, NumberedSourceConnector


class DatagenTemplate(NamedTuple):
    """Fields as in the key `fields`, and the field that is the key of the records by default."""

    key_field: str
    fields: Mapping[str, Mapping[str, Any]]


_COUNTRIES = {"values": ["DE", "FR", "ES", "IT", "PL", "NL", "US", "JP"], "weights": [20, 16, 12, 12, 10, 6, 18, 6]}

TEMPLATES: Mapping[str, DatagenTemplate] = {
    "orders": DatagenTemplate(
        "order_id",
        {
            "order_id": {"generator": "sequence", "start": 1},
            "customer_id": {"generator": "integer", "min": 1, "max": 10_000},
            "item": {"generator": "pattern", "pattern": "SKU-####"},
            "quantity": {"generator": "integer", "min": 1, "max": 9},
            "amount": {"generator": "number", "min": 1, "max": 500, "digits": 2},
            "status": {
                "generator": "choice",
                "values": ["created", "paid", "shipped", "cancelled"],
                "weights": [4, 3, 2, 1],
            },
            "created_at": {"generator": "timestamp", "start": "2026-01-01T00:00:00Z", "step.ms": 1000},
        },
    ),
    "users": DatagenTemplate(
        "user_id",
        {
            "user_id": {"generator": "sequence", "start": 1},
            "name": {"generator": "pattern", "pattern": "user-????"},
            "country": {"generator": "choice", **_COUNTRIES},
            "birth_year": {"generator": "integer", "min": 1940, "max": 2010},
            "subscribed": {"generator": "boolean", "probability": 0.7},
            "referrer": {"generator": "choice", "values": ["search", "newsletter", "friend"], "null": 0.4},
            "registered_at": {"generator": "timestamp", "start": "2026-01-01T00:00:00Z", "step.ms": 60_000},
        },
    ),
    "clicks": DatagenTemplate(
        "session",
        {
            "session": {"generator": "pattern", "pattern": "s-######"},
            "user_id": {"generator": "integer", "min": 1, "max": 10_000, "null": 0.2},
            "page": {
                "generator": "choice",
                "values": ["/", "/search", "/item", "/cart", "/checkout"],
                "weights": [30, 25, 30, 10, 5],
            },
            "duration_ms": {"generator": "integer", "min": 5, "max": 3000},
            "status": {"generator": "choice", "values": [200, 304, 404, 500], "weights": [90, 6, 3, 1]},
            "clicked_at": {"generator": "timestamp", "start": "2026-01-01T00:00:00Z", "step.ms": 100},
        },
    ),
    "measurements": DatagenTemplate(
        "gate",
        {
            "number": {"generator": "sequence", "start": 1},
            "gate": {"generator": "sequence", "start": 1, "modulo": 4},
            "flow": {"generator": "wave", "min": 20, "max": 40, "period": 360, "noise": 0.5, "digits": 2},
            "level": {"generator": "wave", "min": 7, "max": 9, "period": 280, "noise": 0.05, "digits": 2},
            "unit": {"generator": "choice", "values": ["m"]},
        },
    ),
}


TOPIC, TEMPLATE, FIELDS, KEY_FIELD, SCHEMA_NAME = "topic", "template", "fields", "key.field", "schema.name"
RATE, COUNT, SEED, BATCH_SIZE = "rate", "count", "seed", "batch.size"
TASK, RECORDS = "task", "records"
_OFFSETS = NumberedOffsets(TASK, RECORDS, "a number of records")
_TASK_ID = "datagen.task"  # set by the connector
_CATCH_UP = 1.0  # seconds of records that a task generates at once after a delay
_LONGEST_WAIT = 1.0  # seconds between two polls


class DatagenSourceTask(SourceTask):
    """Generates records at a rate, from the committed number of records on."""

    timestamps_are_now = True

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` in seconds determines how many records are due."""
        super().__init__()
        self._clock = clock

    def start(self, config: Mapping[str, str]) -> None:
        settings = DatagenSourceConnector.config_def.parse(config)
        task = int(config.get(_TASK_ID, "0"))
        self._generator = _generator(settings, task)
        self._key_field = _key_field(settings)
        self._topic: str = settings[TOPIC]
        self._partition = {TASK: task}
        self._batch_size: int = settings[BATCH_SIZE]
        self._rate: float = settings[RATE]
        self._end: float = settings[COUNT] if settings[COUNT] >= 0 else float("inf")
        offset = self.context.offsets.offset(self._partition)
        self._next = 0 if offset is None else _OFFSETS.number(offset)
        self._from, self._since = self._next, self._clock()

    def poll(self) -> Sequence[SourceRecord] | None:
        count = self._due()
        if count <= 0:
            return None
        first = self._next
        values = self._generator.values(first, count)
        self._next += values.count
        batch = SourceBatch(
            self._partition, lambda n: {RECORDS: first + n + 1}, self._topic, values, int(time.time() * 1000)
        )
        if self._key_field:
            batch.keys = ValueBatch(self._generator.key_schema(self._key_field), values.columns[self._key_field])
        return batch

    def _due(self) -> int:
        """Records to generate now."""
        left = min(self._batch_size, self._end - self._next)
        if self._rate > 0:
            elapsed = self._clock() - self._since
            late = elapsed - (self._next - self._from) / self._rate
            if late > _CATCH_UP:  # paused, or slower than the rate: the rest is not caught up
                self._from, self._since = self._next, self._clock() - _CATCH_UP
                elapsed = _CATCH_UP
            due = int(self._from + elapsed * self._rate) + 1 - self._next
            if due <= 0:
                self.idle_poll = min((self._next - self._from) / self._rate - elapsed, _LONGEST_WAIT)
            left = min(left, due)
        return int(left)


class DatagenSourceConnector(NumberedSourceConnector):
    """Generated records for demos, tests and load; each task has records of its own."""

    java_name = "headrace.DatagenSourceConnector"
    task_key = _TASK_ID
    own_offsets = _OFFSETS  # {"records": 1000} in {"task": 0}: continue after 1000 records
    task_class = DatagenSourceTask
    config_def = ConfigDef(
        *grouped("Records", 1,
            TOPIC_KEY,
            ConfigKey(TEMPLATE, ConfigType.STRING, None, Importance.HIGH,
                 "The kind of records: " + ", ".join(f"`{name}`" for name in TEMPLATES)
                 + ". Set either this key or `fields`.",
                 validators.optional(validators.one_of(*TEMPLATES)), width=Width.SHORT, display_name="Template"),
            ConfigKey(FIELDS, ConfigType.STRING, None, Importance.HIGH, "Fields of the records with their generators, "
                 "as JSON: `{\"id\": \"uuid\", \"n\": {\"generator\": \"integer\"}}`.",
                 validators.optional(lambda name, value: _check_fields(value)), width=Width.LONG,
                 display_name="Fields"),
            ConfigKey(KEY_FIELD, ConfigType.STRING, None, Importance.MEDIUM, "Field whose value is the key of the "
                 "record; empty for records without a key. By default the template's key, and no key with `fields`.",
                 width=Width.SHORT, display_name="Key field"),
            ConfigKey(SCHEMA_NAME, ConfigType.STRING, None, Importance.LOW, "Name of the schema of the values.",
                 width=Width.MEDIUM, display_name="Schema name"),
        ),
        *grouped("Amount", 1,
            ConfigKey(RATE, ConfigType.DOUBLE, 10.0, Importance.HIGH, "Records per second of each task; 0 for as many "
                 "as possible.", validators.at_least(0), width=Width.SHORT, display_name="Rate"),
            ConfigKey(COUNT, ConfigType.LONG, -1, Importance.MEDIUM, "Number of records of each task; -1 for no limit.",
                 validators.at_least(-1), width=Width.SHORT, display_name="Count"),
            ConfigKey(SEED, ConfigType.LONG, 0, Importance.MEDIUM, "Seed of the random values. Connectors with the "
                 "same seed, fields and task generate the same records.", width=Width.SHORT, display_name="Seed"),
            ConfigKey(BATCH_SIZE, ConfigType.INT, 1024, Importance.LOW, "Maximum number of records in a batch.",
                 validators.between(1, 10_000), width=Width.SHORT, display_name="Batch size"),
        ),
        conflicts=lambda settings: _conflicts(settings),
    )  # fmt: skip

    def start(self, config: Mapping[str, str]) -> None:
        self.config_def.parse(config)
        super().start(config)


def _check_fields(text: str) -> None:
    fields_from_json(text)


def _generator(settings: Mapping[str, Any], task: int) -> RecordGenerator:
    text, template = settings[FIELDS], settings[TEMPLATE]
    fields = fields_from_json(text) if text is not None else field_generators(TEMPLATES[template].fields)
    name = settings[SCHEMA_NAME] or (f"headrace.datagen.{template}" if template else None)
    return RecordGenerator(fields, name, settings[SEED], task)


def _key_field(settings: Mapping[str, Any]) -> str | None:
    field: str | None = settings[KEY_FIELD]
    return TEMPLATES[settings[TEMPLATE]].key_field if field is None and settings[TEMPLATE] else field


def _conflicts(settings: Mapping[str, Any]) -> dict[str, str]:
    """The errors of keys that do not fit each other (ConfigDef)."""
    if settings.keys() != DatagenSourceConnector.config_def.keys.keys():
        return {}  # others have errors already
    if (settings[TEMPLATE] is None) == (settings[FIELDS] is None):
        message = f"Set either {TEMPLATE} or {FIELDS}"
        return {TEMPLATE: message, FIELDS: message}
    field = _key_field(settings)
    generator = _generator(settings, 0)
    if field and generator.key_schema(field) is None:
        names = ", ".join(field.name for field in generator.schema.fields)
        return {KEY_FIELD: f"Invalid value {field} for configuration {KEY_FIELD}: the fields are {names}"}
    return {}
