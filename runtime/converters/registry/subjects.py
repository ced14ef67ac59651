"""The subjects under which schemas are registered."""

from __future__ import annotations

from runtime.api.errors import ConfigError, DataError

STRATEGIES = ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy")
_PACKAGE = "io.confluent.kafka.serializers.subject."


class Subjects:
    """Subjects of keys or values by a strategy, which is named by Confluent's class or its simple name."""

    def __init__(self, strategy: str, part: str) -> None:
        """`part`: key or value; ConfigError for an unknown strategy."""
        self._strategy, self._part = strategy.removeprefix(_PACKAGE), part
        if self._strategy not in STRATEGIES:
            raise ConfigError(f"Unknown subject name strategy {strategy}: use one of {', '.join(STRATEGIES)}")

    def subject(self, topic: str, name: str | None) -> str:
        """`name`: the full name of the schema; DataError if the strategy needs one and the schema has none."""
        if self._strategy == STRATEGIES[0]:
            return f"{topic}-{self._part}"
        if name is None:
            raise DataError(f"{self._strategy} needs a schema name, which the {self._part} of topic {topic} lacks")
        return name if self._strategy == STRATEGIES[1] else f"{topic}-{name}"
