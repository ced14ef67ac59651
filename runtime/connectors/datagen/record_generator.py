"""Generates the records of one task, as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Schema, struct_schema
from runtime.api.errors import ConfigError
from runtime.connectors.datagen.generators import BLOCK, GENERATORS, FieldGenerator, block_random
from runtime.connectors.datagen.options import FieldOptions

_Fields = Mapping[str, FieldGenerator]


class GeneratedBlock(NamedTuple):
    """A block of records: the number of its first record and the columns of its fields."""

    first: int
    columns: Mapping[str, Sequence[Any]]


class RecordGenerator:
    """Record n of a task, as a function of the seed, the task and n."""

    def __init__(self, fields: _Fields, name: str | None, seed: int, task: int) -> None:
        self._fields, self._seed, self._task = fields, seed, task
        schema = struct_schema({field: generator.schema for field, generator in fields.items()})
        self.schema: Schema = schema.replace(name=name)
        self._block = GeneratedBlock(-1, {})

    def key_schema(self, field: str) -> Schema | None:
        """The schema of a field; None if there is no such field."""
        return self.schema.field(field)

    def values(self, first: int, count: int) -> ValueBatch:
        """The records from number `first` on: at most `count`, fewer at the end of a block."""
        start = first - first % BLOCK
        if self._block.first != start:
            self._block = GeneratedBlock(start, self._columns(start))
        begin, end = first - start, min(first - start + count, BLOCK)
        columns = self._block.columns
        if end - begin < BLOCK:
            columns = {name: column[begin:end] for name, column in columns.items()}
        return ValueBatch.struct(self.schema, columns, end - begin)

    def _columns(self, start: int) -> dict[str, Sequence[Any]]:
        block = start // BLOCK
        return {
            name: generator.column(block_random(self._seed, self._task, name, block), start)
            for name, generator in self._fields.items()
        }


def fields_from_json(text: str) -> dict[str, FieldGenerator]:
    """The generators of the key `fields`, a JSON object; ConfigError if it is invalid."""
    try:
        fields = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"Invalid value for configuration fields: not valid JSON: {error}") from None
    if not isinstance(fields, dict) or not fields:
        raise ConfigError("Invalid value for configuration fields: must be a JSON object with at least one field")
    return field_generators(fields)


def field_generators(fields: Mapping[str, Any]) -> dict[str, FieldGenerator]:
    """The generators of fields with their options; ConfigError if they are invalid."""
    return {name: _generator(name, options) for name, options in fields.items()}


def _generator(name: str, options: Any) -> FieldGenerator:
    if isinstance(options, str):
        options = {"generator": options}
    kind = options.get("generator") if isinstance(options, dict) else None
    if not name or not isinstance(kind, str) or kind not in GENERATORS:
        known = ", ".join(sorted(GENERATORS))
        raise ConfigError(f"Invalid value for configuration fields: field {name}: generator must be one of {known}")
    checked = FieldOptions(name, options)
    generator = GENERATORS[kind](checked)
    checked.finish()
    return _with_nulls(generator, checked.probability("null", 0.0))


def _with_nulls(generator: FieldGenerator, probability: float) -> FieldGenerator:
    """Replaces values by null with this probability."""
    if probability == 0.0:
        return generator

    def column(random: Any, first: int) -> Sequence[Any]:
        return [None if random() < probability else value for value in generator.column(random, first)]

    return FieldGenerator(generator.schema.replace(optional=True), column)
