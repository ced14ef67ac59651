"""Filter: drops every record it is applied to, which a predicate should say."""

from __future__ import annotations

from runtime.api.data.columns import Origins, Values
from runtime.api.transformation import R, Transformation


class Filter(Transformation):
    """Dropped records are done with: their offsets are committed."""

    java_name = "org.apache.kafka.connect.transforms.Filter"

    def apply(self, record: R) -> R | None:
        return None

    def apply_together(self, values: Values, origins: Origins) -> Values | None:
        return Values(None, ())
