"""RegexRouter and TimestampRouter: records go to other topics."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.api.config import ConfigDef
from runtime.api.errors import DataError
from runtime.api.java_date import DatePattern
from runtime.api.java_regex import Replacement, java_regex
from runtime.api.logical import datetime_of
from runtime.api.transformation import R, Transformation
from runtime.api.validators import regex
from runtime.transforms.definitions import key

_MOST = 10_000  # topics remembered


class RegexRouter(Transformation):
    """The topic is renamed where the whole of its name matches."""

    java_name = "org.apache.kafka.connect.transforms.RegexRouter"
    config_def = ConfigDef(
        key("regex", "A Java regular expression for the whole name of a topic.", validator=regex),
        key("replacement", "The new name; $1 stands for the first group, ${name} for a named one."),
    )

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        self._matches = java_regex(parsed["regex"]).fullmatch
        self._replacement = Replacement(parsed["replacement"])
        self._known: dict[str, str] = {}

    def apply(self, record: R) -> R | None:
        record.topic = self.topic_together(record.topic)
        return record

    def topic_together(self, topic: str) -> str:
        renamed = self._known.get(topic)
        if renamed is None:
            match = self._matches(topic)
            renamed = topic if match is None else self._replacement.expand(match)
            if len(self._known) < _MOST:
                self._known[topic] = renamed
        return renamed


class TimestampRouter(Transformation):
    """The topic's name gets the record's time in it."""

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
        self._pattern = DatePattern(parsed["timestamp.format"])

    def apply(self, record: R) -> R | None:
        if record.timestamp is None:
            raise DataError(f"Timestamp missing on record: topic {record.topic}")
        time = self._pattern.format(datetime_of(record.timestamp))
        record.topic = self._format.replace("${topic}", record.topic).replace("${timestamp}", time)
        return record
