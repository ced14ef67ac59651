"""A commit that Kafka never acknowledges does not outlive its task, nor keep the process alive."""

from __future__ import annotations

import subprocess
import sys

import pytest
from confluent_kafka import KafkaError

from runtime.api.errors import ConnectError
from runtime.model.task_errors import TaskLostError
from runtime.pipeline.produce.transactions import Transactions, missing_topics
from runtime.pipeline.task.control import StoppedError, TaskControl
from tests.support.broker import KafkaBroker, unique
from tests.support.kafka.mock_kafka import ADD_PARTITIONS, END_TXN, MockKafka
from tests.support.waiting import wait_until

_DENIED, _LOADING = 29, 14  # error codes of the protocol
_PROCESS = """
import sys
from tests.unit.runtime.pipeline.produce.test_transactions import begun
begun(*sys.argv[1:]).commit()
"""


def begun(bootstrap: str, topic: str) -> Transactions:
    """A transaction with a record."""
    settings = {"bootstrap.servers": bootstrap, "transactional.id": unique("t"), "allow.auto.create.topics": False}
    transactions = Transactions(settings, TaskControl(False, lambda: None), 60.0)
    transactions.prepare(topic)
    transactions.begin()
    transactions.producer.produce(topic, value=b"a")
    transactions.topics.add(topic)
    return transactions


@pytest.fixture
def kafka() -> MockKafka:
    """A cluster whose coordinator of transactions is loading for longer than a test lasts."""
    found = MockKafka()
    found.refuse(END_TXN, *[_LOADING] * 10_000)
    return found


def test_a_closed_task_stops_waiting_for_its_commit(kafka: MockKafka) -> None:
    transactions = begun(kafka.bootstrap, kafka.create_topic())
    transactions.commit()
    assert not transactions.finished()
    transactions.close()
    with pytest.raises(StoppedError):
        wait_until(transactions.finished, 10)


def test_a_process_ends_during_a_commit(kafka: MockKafka) -> None:
    process = [sys.executable, "-c", _PROCESS, kafka.bootstrap, kafka.create_topic()]
    subprocess.run(process, timeout=30, check=True)


@pytest.mark.parametrize("committing", [False, True])
def test_a_purged_record_reports_why_its_transaction_failed(committing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client says only that the record was purged, whether its owner learns of that or of the commit first."""
    monkeypatch.setattr("runtime.pipeline.produce.transactions._TIMEOUT", 0.1)  # the mock has no rights to describe
    kafka = MockKafka()
    kafka.refuse(ADD_PARTITIONS, _DENIED)
    transactions = begun(kafka.bootstrap, topic := kafka.create_topic())
    if committing:
        transactions.commit()
        with pytest.raises(ConnectError):
            wait_until(transactions.finished, 10)
    else:
        client = transactions.producer.client
        wait_until(lambda: not client.poll(0) and not len(client), 10)
    failure = transactions.failure(KafkaError(KafkaError._PURGE_QUEUE))
    assert f"WRITE on topic {topic}" in str(failure.__cause__)
    transactions.close()


def test_a_transaction_whose_topic_was_deleted_names_the_topic(
    broker: KafkaBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client waits for the topic without limit, or aborts, with the error of whichever topic it asked for first."""
    monkeypatch.setattr("runtime.pipeline.produce.transactions._TOPIC_CHECKS", 0.5)
    transactions = begun(broker.bootstrap, topic)
    transactions.commit()
    wait_until(transactions.finished)
    broker.delete_topics(topic)
    wait_until(lambda: missing_topics({"bootstrap.servers": broker.bootstrap}, [topic]))
    transactions.begin()
    transactions.producer.produce(topic, value=b"b")
    transactions.topics.add(topic)
    transactions.commit()
    with pytest.raises(TaskLostError, match=f"its topic was deleted: UNKNOWN_TOPIC_OR_PART: .*{topic}"):
        wait_until(transactions.finished)
    transactions.close()
