"""Generators of fields: each returns the values of consecutive records as a column.

Values are a function of the seed and of the number of the record. Records are generated in blocks of `BLOCK`, each with
random numbers of its own, so that any record can be generated without those before it. Only `Random.random()` is used,
whose results Python guarantees for a seed.
"""

from __future__ import annotations

import math
import time
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate
from random import Random
from typing import Any, NamedTuple

import orjson

from runtime.api.data.columns import ValueBatch
from runtime.api.data.logical import TIMESTAMP_SCHEMA, datetime_of, decimal_of, decimal_schema
from runtime.api.data.schema import (
    BOOLEAN_SCHEMA,
    FLOAT64_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    Schema,
    struct_schema,
)
from runtime.api.errors import ConfigError
from runtime.connectors.datagen.options import FieldOptions


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


BLOCK = 1024
"""Records that share a sequence of random numbers. A change would change all generated values."""

_DIGITS = "0123456789"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

Column = Sequence[Any]
Random01 = Callable[[], float]


class FieldGenerator(NamedTuple):
    """A schema, and a function of the random numbers of a block and the number of its first record that returns the
    values of its records."""

    schema: Schema
    column: Callable[[Random01, int], Column]


_Fields = Mapping[str, FieldGenerator]


def block_random(seed: int, task: int, path: str, block: int) -> Random01:
    """The random numbers of one field in one block."""
    return Random(f"{seed}/{task}/{path}/{block}").random


def sequence(options: FieldOptions) -> FieldGenerator:
    """`start`, `start + step`, …; with `modulo`, the values repeat after that many records."""
    start, step, modulo = options.integer("start", 0), options.integer("step", 1), options.integer("modulo", 0)

    def column(random: Random01, first: int) -> Column:
        if modulo > 0:
            return [start + n % modulo * step for n in range(first, first + BLOCK)]
        return list(range(start + first * step, start + (first + BLOCK) * step, step)) if step else [start] * BLOCK

    return FieldGenerator(INT64_SCHEMA, column)


def integer(options: FieldOptions) -> FieldGenerator:
    """A whole number from `min` to `max`, both included."""
    low, high = options.bounds(options.integer("min", 0), options.integer("max", 1_000_000))
    span = high - low + 1
    schema = INT32_SCHEMA if low >= -(1 << 31) and high < 1 << 31 else INT64_SCHEMA
    return FieldGenerator(schema, lambda random, first: [low + int(random() * span) for _ in range(BLOCK)])


def number(options: FieldOptions) -> FieldGenerator:
    """A floating-point number from `min` to `max`, rounded to `digits`."""
    low, high = options.bounds(options.number("min", 0.0), options.number("max", 1.0))
    digits, span = options.integer("digits", 6), high - low
    return FieldGenerator(
        FLOAT64_SCHEMA, lambda random, first: [round(low + random() * span, digits) for _ in range(BLOCK)]
    )


def decimal(options: FieldOptions) -> FieldGenerator:
    """A Decimal from `min` to `max` with `scale` digits after the point."""
    scale = options.integer("scale", 2)
    options.check(0 <= scale <= 18, "scale", "must be from 0 to 18")
    factor = Decimal(10) ** scale
    low, high = options.bounds(
        math.ceil(options.decimal("min", 0) * factor), math.floor(options.decimal("max", 1000) * factor)
    )
    span = high - low + 1
    return FieldGenerator(
        decimal_schema(scale),
        lambda random, first: [decimal_of(low + int(random() * span), scale) for _ in range(BLOCK)],
    )


def boolean(options: FieldOptions) -> FieldGenerator:
    """True with the given `probability`."""
    probability = options.probability("probability", 0.5)
    return FieldGenerator(BOOLEAN_SCHEMA, lambda random, first: [random() < probability for _ in range(BLOCK)])


def choice(options: FieldOptions) -> FieldGenerator:
    """One of `values`, which are all of one type; with `weights`, some more often than others."""
    values = options.values("values")
    schema = _common_schema(options, values)
    weights = options.weights("weights", len(values))
    if weights is None:
        count = len(values)
        return FieldGenerator(schema, lambda random, first: [values[int(random() * count)] for _ in range(BLOCK)])
    limits = list(accumulate(weights))
    total, last = limits[-1], len(values) - 1
    return FieldGenerator(
        schema, lambda random, first: [values[bisect(limits, random() * total, 0, last)] for _ in range(BLOCK)]
    )


def _common_schema(options: FieldOptions, values: Sequence[Any]) -> Schema:
    kinds = set(map(type, values))
    if kinds == {int}:
        return INT32_SCHEMA if all(-(1 << 31) <= v < 1 << 31 for v in values) else INT64_SCHEMA
    schemas: Mapping[type, Schema] = {str: STRING_SCHEMA, bool: BOOLEAN_SCHEMA, float: FLOAT64_SCHEMA}
    matching = [schemas[kind] for kind in kinds if kind in schemas]
    options.check(len(kinds) == 1 and bool(matching), "values", "must be strings, numbers or booleans of one type")
    return matching[0]


def pattern(options: FieldOptions) -> FieldGenerator:
    """Text in which each `#` of `pattern` is a random digit and each `?` a random letter."""
    text = options.text("pattern", "####-????")
    parts = [_DIGITS if c == "#" else _LETTERS if c == "?" else c for c in text]
    template = "".join("{}" if len(part) > 1 else part.replace("{", "{{").replace("}", "}}") for part in parts)
    drawn = [(part, len(part)) for part in parts if len(part) > 1]

    def column(random: Random01, first: int) -> Column:
        make = template.format
        return [make(*[part[int(random() * size)] for part, size in drawn]) for _ in range(BLOCK)]

    def only_digits(random: Random01, first: int) -> Column:
        span, whole = 10 ** len(drawn), whole_template
        return [whole % int(random() * span) for _ in range(BLOCK)]

    run = "#" * len(drawn)
    if 0 < len(drawn) <= 15 and run in text and "?" not in text:  # one random number for all digits
        whole_template = text.replace("%", "%%").replace(run, f"%0{len(drawn)}d")
        return FieldGenerator(STRING_SCHEMA, only_digits)
    return FieldGenerator(STRING_SCHEMA, column)


def uuid(options: FieldOptions) -> FieldGenerator:
    """A random UUID (version 4)."""

    def column(random: Random01, first: int) -> Column:
        made = []
        for _ in range(BLOCK):
            high, low = int(random() * (1 << 48)), int(random() * (1 << 48))
            rest = int(random() * (1 << 26))
            made.append(
                f"{high >> 16:08x}-{high & 0xFFFF:04x}-4{rest & 0xFFF:03x}-{0x8000 | rest >> 12:04x}-{low:012x}"
            )
        return made

    return FieldGenerator(STRING_SCHEMA, column)


def timestamp(options: FieldOptions) -> FieldGenerator:
    """A Timestamp that starts at `start` and advances by `step.ms` with each record."""
    start, step = options.instant("start", "2026-01-01T00:00:00Z"), options.integer("step.ms", 1000)
    options.check(
        start + step * 10**9 < 253_402_300_800_000, "step.ms", "is too large: the year 9999 would be exceeded"
    )
    return FieldGenerator(
        TIMESTAMP_SCHEMA, lambda random, first: [datetime_of(start + n * step) for n in range(first, first + BLOCK)]
    )


def now(options: FieldOptions) -> FieldGenerator:
    """The time at which the block of the record was generated: the only value that differs between runs."""
    return FieldGenerator(TIMESTAMP_SCHEMA, lambda random, first: [datetime_of(int(time.time() * 1000))] * BLOCK)


def wave(options: FieldOptions) -> FieldGenerator:
    """A sine wave from `min` to `max` with a `period` in records, random `noise` and `digits` after the point."""
    low, high = options.bounds(options.number("min", 0.0), options.number("max", 1.0))
    period, noise, digits = options.integer("period", 360), options.number("noise", 0.0), options.integer("digits", 6)
    options.check(period > 0, "period", "must be at least 1")
    middle, height = (low + high) / 2, (high - low) / 2
    turn = 2 * math.pi / period

    def column(random: Random01, first: int) -> Column:
        return [
            round(middle + height * math.sin(n % period * turn) + noise * (2 * random() - 1), digits)
            for n in range(first, first + BLOCK)
        ]

    return FieldGenerator(FLOAT64_SCHEMA, column)


GENERATORS: Mapping[str, Callable[[FieldOptions], FieldGenerator]] = {
    "boolean": boolean,
    "choice": choice,
    "decimal": decimal,
    "integer": integer,
    "now": now,
    "number": number,
    "pattern": pattern,
    "sequence": sequence,
    "timestamp": timestamp,
    "uuid": uuid,
    "wave": wave,
}
