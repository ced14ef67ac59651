"""The topics of a batch of records."""

from __future__ import annotations

from collections.abc import Sized

from runtime.api.data.columns import Column, ConstantColumn, MixedBatchError


class WithTopics(Sized):
    """The part of BatchMetadata that is about topics."""

    _topics: Column

    @property
    def topic(self) -> str:
        """The topic of all records; MixedBatchError if their topics differ."""
        if type(self._topics) is not ConstantColumn:
            raise MixedBatchError
        topic: str = self._topics.value
        return topic

    @topic.setter
    def topic(self, topic: str) -> None:
        self._topics = ConstantColumn(topic, len(self))

    def topics(self) -> Column:
        """The topic of each record."""
        return self._topics

    def route(self, topics: Column) -> None:
        """Sets the topic of each record."""
        self._topics = topics
