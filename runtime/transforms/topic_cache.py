"""What a transformation or predicate computes from the names of topics, which repeat with every record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from runtime.api.errors import ConfigError

T = TypeVar("T")

_MAX_TOPICS = 10_000


class TopicCache(dict[str, T]):
    """Computed once for each of the first 10,000 topics. So are errors: an expression that takes too long for a topic
    does so once, not for each record."""

    def __init__(self, compute: Callable[[str], T]) -> None:
        self._compute, self._errors = compute, dict[str, str]()

    def __missing__(self, topic: str) -> T:
        if (error := self._errors.get(topic)) is not None:
            raise ConfigError(error)
        try:
            value = self._compute(topic)
        except ConfigError as error:
            if len(self._errors) < _MAX_TOPICS:
                self._errors[topic] = str(error)
            raise
        if len(self) < _MAX_TOPICS:
            self[topic] = value
        return value
