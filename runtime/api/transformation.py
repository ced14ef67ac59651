"""Transformations of single records, and predicates that select the records to transform."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, ClassVar, TypeVar

from runtime.api.config.definition import ConfigDef
from runtime.api.data.columns import BatchMetadata, Derived, ValueBatch
from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.data.record_columns import ColumnsOfRecords, made_from
from runtime.api.data.schema import Schema
from runtime.api.errors import DataError

Record = SourceRecord | SinkRecord
RecordT = TypeVar("RecordT", SourceRecord, SinkRecord)


class RecordPart(StrEnum):
    """The part of a record that a transformation works on."""

    KEY = "key"
    VALUE = "value"


class Transformation(ABC):
    """Changes, routes or drops single records (Java: Transformation)."""

    config_def: ClassVar[ConfigDef] = ConfigDef()

    def configure(self, config: Mapping[str, str]) -> None:  # noqa: B027 - optional hook
        """Called once, with the settings under `transforms.<alias>.`; raises ConfigError if they are invalid."""

    @abstractmethod
    def apply(self, record: RecordT) -> RecordT | None:
        """The transformed record, or None to drop it. Raises DataError if the record cannot be transformed.

        Either change the record and return it, or return a changed record.copy(). Replace its key, value and headers
        instead of changing them in place, since other records may share them. Assign to the record last: a call that
        raises must leave the record unchanged, because the worker may retry it or send it to the dead letter queue."""

    def apply_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        """Like apply(), for a batch of records whose values share a schema: the transformed values (an empty batch to
        drop all records). Assign new topics, keys and headers to `metadata`.

        If this method returns None or raises, the worker discards changes to `metadata` and calls apply() for each
        record."""
        return None

    def close(self) -> None:  # noqa: B027 - optional hook
        """Release the resources that configure() acquired. Called once."""


class KeyOrValueTransformation(Transformation):
    """A transformation of either the key or the value of a record; `part` selects which. Faster than apply()."""

    part: ClassVar[RecordPart] = RecordPart.VALUE

    @abstractmethod
    def update(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        """The new schema and value; do not change `record`. `value` may be None, with or without a schema."""

    def update_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        """Like update(), for a batch of values that share a schema. If this method returns None or raises, the worker
        calls update() for each value."""
        return None

    def apply(self, record: RecordT) -> RecordT | None:
        """Replaces the key or the value with the result of update()."""
        if self.part is RecordPart.VALUE:
            record.value_schema, record.value = self.update(record.value_schema, record.value, record)
        else:
            record.key_schema, record.key = self.update(record.key_schema, record.key, record)
        return record


def _never() -> bool:
    """False: the task is not to stop."""
    return False


class BatchTransformation(Transformation):
    """Transforms the records of a batch together: each gives no record, one, or several. An addition to Connect's API.

    The result for a record must not depend on the other records of its batch, whose ends are arbitrary."""

    stopping: Callable[[], bool] = staticmethod(_never)
    """Whether the task is to stop: derive() should raise RetriableError then, instead of waiting for long. The worker
    sets it."""

    @abstractmethod
    def derive(self, values: ValueBatch, metadata: BatchMetadata) -> Derived:
        """The records that take the place of those of a batch, whose values share a schema. Does not change `metadata`.

        Raises DataError if a record cannot be transformed: the worker then calls it with parts of the batch, until that
        record is alone. Raises MixedBatchError if the batch must be divided by schema and keys first. An error with
        `tolerable=False` concerns the whole batch."""

    def derive_each(self, record: RecordT) -> list[RecordT]:
        """The records that take the place of a single one."""
        columns = ColumnsOfRecords([record])
        return [made for _, made in made_from([record], self.derive(columns.values, columns))]

    def apply(self, record: RecordT) -> RecordT | None:
        """As derive_each(), for at most one result; DataError if there are several."""
        made = self.derive_each(record)
        if len(made) > 1:
            raise DataError(f"{type(self).__name__} gives {len(made)} records for one, which is not possible here")
        return made[0] if made else None


def update_each(update: Callable[..., tuple[Schema | None, Any]], values: ValueBatch) -> ValueBatch:
    """Values without a schema, updated one by one by an update() that ignores its record."""
    return ValueBatch(None, [update(None, value, None)[1] for value in values.rows])


class Predicate(ABC):
    """A condition that selects the records to transform (Java: Predicate, KIP-585)."""

    config_def: ClassVar[ConfigDef] = ConfigDef()

    def configure(self, config: Mapping[str, str]) -> None:  # noqa: B027 - optional hook
        """Called once, with the settings under `predicates.<alias>.`; raises ConfigError if they are invalid."""

    @abstractmethod
    def test(self, record: Record) -> bool:
        """Whether the record satisfies the condition."""

    def test_batch(self, values: ValueBatch, metadata: BatchMetadata) -> bool | None:
        """True if all records of a batch satisfy the condition, False if none does. If this method returns None or
        raises, the worker calls test() for each record."""
        return None

    def close(self) -> None:  # noqa: B027 - optional hook
        """Release the resources that configure() acquired. Called once."""
