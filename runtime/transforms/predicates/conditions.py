"""The bundled predicates: TopicNameMatches, HasHeaderKey and RecordIsTombstone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.config.definition import ConfigDef
from runtime.api.config.validators import non_empty, regex
from runtime.api.data.columns import BatchMetadata, ConstantColumn, ValueBatch
from runtime.api.data.record import Headers
from runtime.api.java_compat.regex.limited import LimitedMatch
from runtime.api.transformation import Predicate, Record
from runtime.transforms.definitions import MEDIUM, key
from runtime.transforms.topic_cache import TopicCache


def _pattern(name: str, value: Any) -> None:
    non_empty(name, value)
    regex(name, value)


class TopicNameMatches(Predicate):
    """Whether the whole topic name matches a regular expression."""

    java_name = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"
    config_def = ConfigDef(
        key(
            "pattern",
            "Java regular expression for the whole topic name.",
            importance=MEDIUM,
            validator=_pattern,
        )
    )

    def configure(self, config: Mapping[str, str]) -> None:
        pattern: str = self.config_def.parse(config)["pattern"]
        self._matches = TopicCache(lambda topic: LimitedMatch(pattern)(topic))

    def test(self, record: Record) -> bool:
        return self._matches[record.topic]

    def test_batch(self, values: ValueBatch, metadata: BatchMetadata) -> bool | None:
        topics = metadata.topics()
        results = (
            {self._matches[topics.value]} if type(topics) is ConstantColumn else {self._matches[t] for t in topics}
        )
        return results.pop() if len(results) == 1 else None


class HasHeaderKey(Predicate):
    """Whether the record has a header of this name."""

    java_name = "org.apache.kafka.connect.transforms.predicates.HasHeaderKey"
    config_def = ConfigDef(key("name", "Name of the header.", importance=MEDIUM, validator=non_empty))

    def configure(self, config: Mapping[str, str]) -> None:
        self._name: str = self.config_def.parse(config)["name"]

    def test(self, record: Record) -> bool:
        return self._among(record.headers)

    def test_batch(self, values: ValueBatch, metadata: BatchMetadata) -> bool | None:
        results = set(map(self._among, metadata.headers)) if any(metadata.headers) else {False}
        return results.pop() if len(results) == 1 else None

    def _among(self, headers: Headers | None) -> bool:
        return any(header[0] == self._name for header in headers or ())


class RecordIsTombstone(Predicate):
    """Whether the record's value is null."""

    java_name = "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone"

    def test(self, record: Record) -> bool:
        return record.value is None

    def test_batch(self, values: ValueBatch, metadata: BatchMetadata) -> bool | None:
        return values.all_null
