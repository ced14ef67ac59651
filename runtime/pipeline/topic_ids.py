"""The ids of topics, requested by one client for all tasks of a slot with the same brokers and user."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from runtime.kafka.clients.open_clients import KeptAdmin

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

_log = logging.getLogger(__name__)

_TIMEOUT = 5.0  # seconds; limits how long a stopping task waits if the cluster does not respond
_SHORT_TIMEOUT = 1.0  # seconds; of a request without which the task works as well
_IDENTITY = ("bootstrap.", "security.", "sasl.", "ssl.", "enable.ssl.", "headrace.")
"""Prefixes of the settings that identify user and cluster."""

Ask = Callable[[Collection[str]], Mapping[str, str]]
"""Returns the ids of those topics that exist and are known; empty if the cluster does not respond."""


class TopicIdRequests:
    """Requests to the brokers, with one client for all tasks of a slot with the same brokers and user. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[str, KeptAdmin] = {}
        self._clusters: dict[str, str] = {}  # the ids of the clusters of these clients in the last responses

    def asker(self, settings: Mapping[str, Any], patient: bool) -> Ask:
        """A function that requests ids with the settings of a client. `patient`: the task cannot work without them."""
        timeout = _TIMEOUT if patient else _SHORT_TIMEOUT
        return lambda topics: self._request(settings, topics, timeout)

    def ids(self, settings: Mapping[str, Any], topics: Collection[str]) -> dict[str, str | None] | None:
        """The ids of those of the topics that are known, None for one that does not exist; None if the cluster does not
        respond. The request creates no topic."""
        responses = self._describe(settings, topics, _SHORT_TIMEOUT, self._clusters.get(identity(settings)[0]))
        names = {topic: response.name() for topic, response in responses.items() if not isinstance(response, str)}
        if any(name.startswith("_") for name in names.values()):  # errors of the client, such as a time-out
            return None
        known = {topic: response for topic, response in responses.items() if isinstance(response, str)}
        return {**known, **{topic: None for topic, name in names.items() if name == "UNKNOWN_TOPIC_OR_PART"}}

    def _request(self, settings: Mapping[str, Any], topics: Collection[str], timeout: float) -> Mapping[str, str]:
        responses = self._describe(settings, topics, timeout).items()
        return {topic: response for topic, response in responses if isinstance(response, str)}

    def _describe(
        self, settings: Mapping[str, Any], topics: Collection[str], timeout: float, cluster: str | None = None
    ) -> dict[str, str | KafkaError]:
        """The id of each topic behind that of its cluster, or the error. With the id of the cluster, which tasks need
        only when they start, it is not requested."""
        from confluent_kafka import KafkaException, TopicCollection

        ids: dict[str, str | KafkaError] = {}
        with self._client(settings).use() as admin:
            described = None if cluster else admin.describe_cluster(request_timeout=timeout)
            asked = admin.describe_topics(TopicCollection(list(topics)), request_timeout=timeout)
            for topic, response in asked.items():
                try:
                    topic_id = response.result().topic_id
                    if described is not None:
                        cluster = self._clusters[identity(settings)[0]] = str(described.result().cluster_id)
                    ids[topic] = f"{cluster}/{topic_id}"
                except KafkaException as error:  # the topic does not exist, or the cluster does not respond
                    ids[topic] = error.args[0]
                    _log.debug("No id of topic %s: %s", topic, error.args[0].str())
        return ids

    def _client(self, settings: Mapping[str, Any]) -> KeptAdmin:
        name, own = identity(settings)
        with self._lock:
            return self._clients.setdefault(name, KeptAdmin(own))


def identity(settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The settings of a client that identify cluster and user, as text and as such."""
    identity = {name: value for name, value in settings.items() if name.startswith(_IDENTITY)}
    return json.dumps(identity, sort_keys=True, default=str), identity


slot_topic_ids = TopicIdRequests()
