"""Cases: examples of plugins with everything that the conformance suite needs to run them.

A configuration may contain `{folder}`, which is replaced by a new, empty folder for each check. If a plugin needs a
server or files, `environment` is a context manager that receives this folder, prepares them, and yields additional keys
of the configuration.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from runtime.api.connector import SinkConnector, SourceConnector
from runtime.api.converter import Converter, HeaderConverter
from runtime.api.data.logical import TIMESTAMP_SCHEMA, decimal_schema
from runtime.api.data.record import SinkRecord
from runtime.api.data.schema import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT64_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    struct_schema,
)
from runtime.api.transformation import Predicate, Transformation

_ORDER = struct_schema({"id": INT64_SCHEMA, "text": OPTIONAL_STRING_SCHEMA, "at": TIMESTAMP_SCHEMA})

VALUES: Sequence[tuple[Schema | None, Any]] = (
    (None, None),
    (OPTIONAL_STRING_SCHEMA, None),
    (STRING_SCHEMA, "text"),
    (STRING_SCHEMA, ""),
    (INT64_SCHEMA, 1),
    (FLOAT64_SCHEMA, 1.5),
    (BOOLEAN_SCHEMA, True),
    (BYTES_SCHEMA, b"\x00\xff"),
    (decimal_schema(2), Decimal("1.25")),
    (_ORDER, {"id": 1, "text": None, "at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}),
    (_ORDER, {"id": 2, "text": "b", "at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC)}),
    (None, "text"),
    (None, 1),
    (None, [1, "a", None]),
    (None, {"id": 1, "nested": {"list": [1, 2], "map": {"a": 1}}, "missing": None}),
    (None, {}),
)
"""Schema and value of each."""


Config = Mapping[str, str]
Environment = Callable[[Path], AbstractContextManager[Config]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An example of a plugin. `skip` names checks that cannot apply to it, each with the reason."""

    config: Config = field(default_factory=dict)
    environment: Environment | None = None
    invalid: Mapping[str, str] = field(default_factory=dict)
    """Invalid values by key, in addition to those that the suite finds itself."""
    skip: Mapping[str, str] = field(default_factory=dict)
    name: str = ""

    @property
    def plugin(self) -> type:
        """The plugin's class."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """The name of the case; by default the plugin's class name."""
        return self.name or self.plugin.__name__

    @contextmanager
    def opened(self) -> Iterator[Config]:
        """A configuration that works, while its folder and environment exist."""
        with tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True) as folder:
            config = {key: text.replace("{folder}", folder) for key, text in self.config.items()}
            if self.environment is None:
                yield config
            else:
                with self.environment(Path(folder)) as more:
                    yield {**config, **more}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCase(Case):
    """A source connector that delivers at least `records` records with this configuration, from the same offsets
    always the same records."""

    connector: type[SourceConnector]
    records: int = 100

    @property
    def plugin(self) -> type[SourceConnector]:
        return self.connector


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkCase(Case):
    """A sink connector that writes `records` records with this configuration.

    `value` makes the value of a record from its number, `written` reads the numbers of all records back from the system
    to which the connector has written, in any order, and repeated if a record was written twice; None if they cannot be
    read back. `poison` are values that the sink cannot write. `exactly_once`: a record that is delivered again must not
    be written twice."""

    connector: type[SinkConnector]
    value: Callable[[int], Any]
    written: Callable[[Config], Iterable[int]] | None = None
    schema: Schema | None = None
    key: Callable[[int], Any] | None = None
    key_schema: Schema | None = None
    records: int = 100
    poison: Sequence[tuple[Schema | None, Any]] = ()
    exactly_once: bool = False

    @property
    def plugin(self) -> type[SinkConnector]:
        return self.connector

    def record(self, number: int, topic: str) -> SinkRecord:
        """The record of a number."""
        key = None if self.key is None else self.key(number)
        return SinkRecord(topic, 0, self.key_schema, key, self.schema, self.value(number), number, 1_700_000_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformationCase(Case):
    """A transformation, and values of records that it can transform. The suite adds values that it may refuse."""

    transformation: type[Transformation]
    values: Sequence[tuple[Schema | None, Any]] = ()

    @property
    def plugin(self) -> type[Transformation]:
        return self.transformation


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateCase(Case):
    """A predicate."""

    predicate: type[Predicate]

    @property
    def plugin(self) -> type[Predicate]:
        return self.predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class ConverterCase(Case):
    """A converter, and values that it converts to bytes and back. `refused` are values that it cannot convert,
    `malformed` bytes that it cannot read."""

    converter: type[Converter]
    values: Sequence[tuple[Schema | None, Any]]
    refused: Sequence[tuple[Schema | None, Any]] = ()
    malformed: Sequence[bytes] = ()

    @property
    def plugin(self) -> type[Converter]:
        return self.converter


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderConverterCase(Case):
    """A header converter, with values as in ConverterCase."""

    converter: type[HeaderConverter]
    values: Sequence[tuple[Schema | None, Any]]
    refused: Sequence[tuple[Schema | None, Any]] = ()
    malformed: Sequence[bytes] = ()

    @property
    def plugin(self) -> type[HeaderConverter]:
        return self.converter
