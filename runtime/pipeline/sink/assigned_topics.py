"""The ids of the topics whose partitions are assigned to a task.

A topic that was deleted and created again has another id, and its offsets mean other records: an offset of the
deleted topic, committed for the new one, would skip as many of its records. Kafka removes the committed offsets of a
deleted topic, but a task that has not noticed its deletion may commit one later: each commit notes the id.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from runtime.model.task_errors import TaskLostError
from runtime.pipeline.topic_ids import Ask

_log = logging.getLogger(__name__)

_NOTE = "headrace.topic="
_NO_ID = "/AAAAAAAAAAAAAAAAAAAAAA"  # of brokers before 2.8


class TopicIds:
    """The ids that the topics had when their partitions were assigned."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._ids: dict[str, str] = {}
        self._noted: set[str] = set()  # topics whose ids are only those of committed offsets, maybe of another cluster

    def assigned(self, topics: Collection[str]) -> None:
        """Partitions of these topics are going to be read."""
        new = set(topics) - self._ids.keys()
        if new:
            self._ids.update(self._ask(new))

    def note(self, topic: str) -> str:
        """The metadata with which an offset in the topic is committed."""
        known = self._ids.get(topic, _NO_ID)
        return "" if known.endswith(_NO_ID) else _NOTE + known

    def is_of_deleted(self, topic: str, metadata: str) -> bool:
        """Whether an offset that was committed with this metadata means records of a deleted topic of this name. An
        offset that was copied from another cluster with its metadata does not."""
        if not metadata.startswith(_NOTE):
            return False
        noted = metadata.removeprefix(_NOTE)
        if topic not in self._ids:  # the brokers do not respond: the next check of the ids decides
            self._ids[topic] = noted
            self._noted.add(topic)
        known = self._ids[topic]
        is_comparable = topic not in self._noted and not known.endswith(_NO_ID) and _cluster(noted) == _cluster(known)
        return is_comparable and noted != known

    def keep(self, topics: Collection[str]) -> None:
        """Only partitions of these topics are left."""
        self._ids = {topic: topic_id for topic, topic_id in self._ids.items() if topic in topics}
        self._noted.intersection_update(topics)

    def changed(self, current: Mapping[str, str | None]) -> set[str]:
        """The topics that were created again, by their current ids (None: does not exist)."""
        return {topic for topic, now in current.items() if now and self._is_other(topic, now)}

    def renew(self, current: Mapping[str, str | None]) -> None:
        """The topics are read from now on as they are now."""
        self._ids.update({topic: now for topic, now in current.items() if now})

    def may_commit(self, topics: Collection[str]) -> bool:
        """Whether offsets of these topics mean the records that were read; False if this is not known now.
        TaskLostError if a topic was created again."""
        current = self._ask(topics)
        for topic in sorted(topics):
            if topic not in current:
                _log.warning("The id of topic %s is unknown; its offsets will be committed later", topic)
                return False
            if self._is_other(topic, current[topic]):
                raise TaskLostError(
                    f"topic {topic} was deleted and created again; records of the deleted topic that are not committed "
                    "yet are dropped, and the new topic is read from its start"
                )
        return True

    def _is_other(self, topic: str, now: str) -> bool:
        """Whether the topic, which has this id now, is not the one that is read."""
        known = self._ids.setdefault(topic, now)
        if topic in self._noted and _cluster(known) != _cluster(now):
            known = self._ids[topic] = now
        self._noted.discard(topic)
        return known != now


def _cluster(topic_id: str) -> str:
    return topic_id.partition("/")[0]


def without_note(metadata: str | None) -> str:
    """The metadata of a committed offset that the task has chosen."""
    return "" if metadata is None or metadata.startswith(_NOTE) else metadata
