"""RegexRouter and TimestampRouter change the topics of records."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.api.config.definition import ConfigDef
from runtime.api.config.validators import regex
from runtime.api.data.columns import BatchMetadata, ConstantColumn, ValueBatch
from runtime.api.data.logical import datetime_of
from runtime.api.errors import ConfigError, DataError, IllegalArgumentError
from runtime.api.java_compat.date_format import DatePattern
from runtime.api.java_compat.regex import Replacement
from runtime.api.java_compat.regex.limited import LimitedMatch
from runtime.api.transformation import RecordT, Transformation
from runtime.transforms.definitions import key
from runtime.transforms.topic_cache import TopicCache


class RegexRouter(Transformation):
    """If the whole topic name matches, replaces the first match of the expression, which is shorter than the name for a
    reluctant quantifier."""

    java_name = "org.apache.kafka.connect.transforms.RegexRouter"
    config_def = ConfigDef(
        key("regex", "Java regular expression for the whole topic name.", validator=regex),
        key("replacement", "New topic name; $1 refers to the first group, ${name} to a named group."),
    )

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        self._regex: str = parsed["regex"]
        self._replacement = Replacement(parsed["replacement"])
        self._topics = TopicCache(self._renamed)

    def apply(self, record: RecordT) -> RecordT | None:
        record.topic = self._topics[record.topic]
        return record

    def apply_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        topics = metadata.topics()
        if type(topics) is ConstantColumn:
            metadata.topic = self._topics[topics.value]
        else:
            metadata.route(list(map(self._topics.__getitem__, topics)))
        return values

    def _renamed(self, topic: str) -> str:
        matches = LimitedMatch(self._regex)
        if not matches(topic) or (match := matches.search(topic)) is None:
            return topic
        return topic[: match.start()] + self._replacement.expand(match) + topic[match.end() :]


class TimestampRouter(Transformation):
    """Inserts the record's timestamp into the topic name. As in Java, an invalid pattern fails each record, not the
    start of the task."""

    java_name = "org.apache.kafka.connect.transforms.TimestampRouter"
    config_def = ConfigDef(
        key("topic.format", "New topic name; ${topic} and ${timestamp} are replaced.",
            default="${topic}-${timestamp}"),
        key("timestamp.format", "Format of the timestamp: a pattern of Java's SimpleDateFormat, in UTC.",
            default="yyyyMMdd"),
    )  # fmt: skip

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        self._format: str = parsed["topic.format"]
        self._pattern: DatePattern | None = None
        self._fault, self._latest = "", ("", "")
        self._period: int | None = None  # period of the latest formatted time, counted from 1970
        try:
            self._pattern = DatePattern(parsed["timestamp.format"])
        except ConfigError as error:
            self._fault = str(error)

    def apply(self, record: RecordT) -> RecordT | None:
        if record.timestamp is None:
            raise DataError(f"Timestamp missing on record: topic {record.topic}")
        record.topic = self._topic(record.topic, record.timestamp)
        return record

    def apply_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        times, topics = metadata.timestamps(), metadata.topics()
        if self._pattern is None or None in times:
            return None
        unit = self._pattern.unit
        if type(topics) is ConstantColumn and min(times) // unit == max(times) // unit:
            metadata.topic = self._topic(topics.value, times[0])
        else:
            metadata.route(list(map(self._topic, topics, times)))
        return values

    def _topic(self, topic: str, timestamp: int) -> str:
        if self._pattern is None:
            raise IllegalArgumentError(self._fault)
        period = timestamp // self._pattern.unit
        if period != self._period or topic != self._latest[0]:
            text = self._pattern.format(datetime_of(timestamp))
            self._latest = topic, self._format.replace("${topic}", topic).replace("${timestamp}", text)
            self._period = period
        return self._latest[1]
