"""Filter: drops every record it is applied to, which a predicate should say."""

from __future__ import annotations

from runtime.api.data.columns import BatchMetadata, ValueBatch
from runtime.api.transformation import RecordT, Transformation


class Filter(Transformation):
    """Dropped records are done with: their offsets are committed."""

    java_name = "org.apache.kafka.connect.transforms.Filter"

    def apply(self, record: RecordT) -> RecordT | None:
        return None

    def apply_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        return ValueBatch(None, ())
