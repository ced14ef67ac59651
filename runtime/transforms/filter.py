"""Filter drops all records to which it applies; use it with a predicate."""

from __future__ import annotations

from runtime.api.data.columns import BatchMetadata, ValueBatch
from runtime.api.transformation import RecordT, Transformation


class Filter(Transformation):
    """Drops records; their offsets are committed."""

    java_name = "org.apache.kafka.connect.transforms.Filter"

    def apply(self, record: RecordT) -> RecordT | None:
        return None

    def apply_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        return ValueBatch(None, ())
