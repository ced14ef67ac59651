"""Several brokers with replicated topics, each of which a test may kill, freeze and restart."""

from __future__ import annotations

from pathlib import Path

import orjson

from runtime.embedded.broker.broker import BrokerConfig, new_cluster_id
from runtime.embedded.processes import ports
from tests.support.broker import EmbeddedBroker, KafkaBroker
from tests.support.free_ports import free_port
from tests.support.processes import Startable
from tests.support.waiting import wait_until


class BrokerCluster(Startable, KafkaBroker):
    """Brokers that are also controllers. All topics have a replica on up to three of them; writes need two."""

    def __init__(self, folder: Path, count: int = 3) -> None:
        self.replication = min(count, 3)
        nodes = [(free_port(), free_port()) for _ in range(count)]
        voters = ",".join(f"{node}@{ports.HOST}:{port}" for node, (_, port) in enumerate(nodes, 1))
        cluster_id, settings = new_cluster_id(), {"controller.quorum.voters": voters, **_replicated(self.replication)}
        self.brokers = [
            EmbeddedBroker(
                folder / str(node),
                BrokerConfig(folder / str(node), port, controller, {**settings, "node.id": node}, cluster_id),
            )
            for node, (port, controller) in enumerate(nodes, 1)
        ]
        self._folder = folder
        super().__init__(",".join(broker.bootstrap for broker in self.brokers))

    def start(self, timeout: float = 120.0) -> None:
        for broker in self.brokers:
            broker.start(wait=False)
        for broker in self.brokers:
            broker.wait_ready(timeout)

    def stop(self) -> None:
        for broker in self.brokers:
            broker.stop()

    @property
    def controller(self) -> EmbeddedBroker:
        """The leader of the controllers, as the brokers last stored it."""
        states = [self._quorum(node) for node, broker in enumerate(self.brokers, 1) if broker.running()]
        newest = max(states, key=lambda state: int(state.get("leaderEpoch", -1)))
        return self.brokers[max(int(newest.get("leaderId", 1)), 1) - 1]

    def _quorum(self, node: int) -> dict[str, int]:
        file = self._folder / str(node) / "data" / "__cluster_metadata-0" / "quorum-state"
        state: dict[str, int] = orjson.loads(file.read_bytes())
        return state

    def wait_in_sync(self, timeout: float = 60.0) -> None:
        """Waits until all replicas of all partitions are in sync."""
        wait_until(self._in_sync, timeout, "all replicas in sync", every=0.2)

    def _in_sync(self) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        try:
            topics = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0}).list_topics(timeout=10).topics
        except KafkaException:
            return False
        partitions = [partition for topic in topics.values() for partition in topic.partitions.values()]
        return all(set(partition.isrs) == set(partition.replicas) for partition in partitions)


def _replicated(replication: int) -> dict[str, object]:
    topics = ("default", "offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
    least = min(2, replication)
    return {
        **{f"{topic}.replication.factor": replication for topic in topics},
        "min.insync.replicas": least,
        "transaction.state.log.min.isr": least,
        "share.coordinator.state.topic.min.isr": least,
        "log.cleaner.backoff.ms": 500,  # tombstones of compacted topics vanish within seconds
        "broker.session.timeout.ms": 5000,  # several brokers of a busy machine miss more heartbeats than one
    }
