"""Transformations of records, and predicates that say to which records they apply."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, ClassVar, TypeVar

from runtime.api.config.definition import ConfigDef
from runtime.api.data.columns import BatchMetadata, ValueBatch
from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.data.schema import Schema

Record = SourceRecord | SinkRecord
R = TypeVar("R", SourceRecord, SinkRecord)


class RecordPart(StrEnum):
    """The part of a record that a transformation works on."""

    KEY = "key"
    VALUE = "value"


class Transformation(ABC):
    """A small change made to every record (Connect: Transformation)."""

    config_def: ClassVar[ConfigDef] = ConfigDef()

    def configure(self, config: Mapping[str, str]) -> None:  # noqa: B027 - optional hook
        """Called once, with the keys behind `transforms.<alias>.`; ConfigError when they make no sense."""

    @abstractmethod
    def apply(self, record: R) -> R | None:
        """The record as it goes on, or None to drop it. The record given may be changed and returned, or another made
        of it with record.copy(). Its key, value and headers belong to others too: put new ones in their place. Change
        the record last: a call that raises must leave it as it was."""

    def apply_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        """The same for many records that are alike: their values as they go on (none: all are dropped). What else the
        records are, a new topic, new keys, new headers, is put into `origins`. None, or any exception: they are
        transformed one by one instead, as if nothing had been put there."""
        return None

    def close(self) -> None:  # noqa: B027 - optional hook
        """Release what configure() took."""


class KeyOrValueTransformation(Transformation):
    """A transformation of the key or the value alone, which needs not know of which. Quicker than apply()."""

    part: ClassVar[RecordPart] = RecordPart.VALUE

    @abstractmethod
    def update(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        """The new schema and value; `record` is there to be looked at. A null comes with or without a schema."""

    def update_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        """The same for many values of one schema. None, or any exception: they are updated one by one instead."""
        return None

    def apply(self, record: R) -> R | None:
        if self.part is RecordPart.VALUE:
            record.value_schema, record.value = self.update(record.value_schema, record.value, record)
        else:
            record.key_schema, record.key = self.update(record.key_schema, record.key, record)
        return record


def update_each(update: Callable[..., tuple[Schema | None, Any]], values: ValueBatch) -> ValueBatch:
    """Values without a schema, updated each, by a transformation that does not look at their records."""
    return ValueBatch(None, [update(None, value, None)[1] for value in values.rows])


class Predicate(ABC):
    """A condition on records (Connect: Predicate)."""

    config_def: ClassVar[ConfigDef] = ConfigDef()

    def configure(self, config: Mapping[str, str]) -> None:  # noqa: B027 - optional hook
        """Called once, with the keys behind `predicates.<alias>.`."""

    @abstractmethod
    def test(self, record: Record) -> bool:
        """Whether it holds for the record."""

    def test_batch(self, values: ValueBatch, metadata: BatchMetadata) -> bool | None:
        """Whether it holds for all records of a batch (True) or for none (False). None, or any exception: the records
        are asked one by one instead."""
        return None

    def close(self) -> None:  # noqa: B027 - optional hook
        """Release what configure() took."""
