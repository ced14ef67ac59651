"""RegexRouter and TimestampRouter: records go to other topics."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.api.config.definition import ConfigDef
from runtime.api.config.validators import regex
from runtime.api.data.columns import BatchMetadata, ConstantColumn, ValueBatch
from runtime.api.data.logical import datetime_of
from runtime.api.errors import ConfigError, DataError, IllegalArgumentError
from runtime.api.java_compat.date_format import DatePattern
from runtime.api.java_compat.regex import Replacement, java_regex
from runtime.api.transformation import RecordT, Transformation
from runtime.transforms.definitions import key

_MOST = 10_000  # topics remembered


class RegexRouter(Transformation):
    """Where the whole name of the topic matches, what the expression finds in it first is replaced: as a rule that is
    the whole again, but a reluctant expression finds less."""

    java_name = "org.apache.kafka.connect.transforms.RegexRouter"
    config_def = ConfigDef(
        key("regex", "A Java regular expression for the whole name of a topic.", validator=regex),
        key("replacement", "The new name; $1 stands for the first group, ${name} for a named one."),
    )

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        self._regex = java_regex(parsed["regex"])
        self._replacement = Replacement(parsed["replacement"])
        self._known: dict[str, str] = {}

    def apply(self, record: RecordT) -> RecordT | None:
        record.topic = self._topic(record.topic)
        return record

    def apply_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        topics = metadata.topics()
        if type(topics) is ConstantColumn:
            metadata.topic = self._topic(topics.value)
        else:
            metadata.route(list(map(self._topic, topics)))
        return values

    def _topic(self, topic: str) -> str:
        renamed = self._known.get(topic)
        if renamed is None:
            renamed = self._renamed(topic)
            if len(self._known) < _MOST:
                self._known[topic] = renamed
        return renamed

    def _renamed(self, topic: str) -> str:
        if self._regex.fullmatch(topic) is None or (found := self._regex.search(topic)) is None:
            return topic
        return topic[: found.start()] + self._replacement.expand(found) + topic[found.end() :]


class TimestampRouter(Transformation):
    """The topic's name gets the record's time in it. A pattern that is none fails each record, not the task's start."""

    java_name = "org.apache.kafka.connect.transforms.TimestampRouter"
    config_def = ConfigDef(
        key("topic.format", "The new name, ${topic} and ${timestamp} standing for the old one and the time.",
            default="${topic}-${timestamp}"),
        key("timestamp.format", "How the time is written, as a pattern of Java's SimpleDateFormat; in UTC.",
            default="yyyyMMdd"),
    )  # fmt: skip

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        self._format: str = parsed["topic.format"]
        self._pattern: DatePattern | None = None
        self._fault, self._latest = "", ("", "")
        self._period: int | None = None  # since 1970, in which the text stays the same
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
        if self._pattern is None:
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
