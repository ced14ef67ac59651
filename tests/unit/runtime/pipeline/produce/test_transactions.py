"""A commit that Kafka never acknowledges does not outlive its task, nor keep the process alive."""

from __future__ import annotations

import subprocess
import sys

import pytest

from runtime.pipeline.produce.transactions import Transactions
from runtime.pipeline.task.control import StoppedError, TaskControl
from tests.support.kafka.mock_kafka import END_TXN, MockKafka
from tests.support.waiting import wait_until

_LOADING = 14  # COORDINATOR_LOAD_IN_PROGRESS
_PROCESS = """
import sys
from tests.unit.runtime.pipeline.produce.test_transactions import begun
begun(*sys.argv[1:]).commit()
"""


def begun(bootstrap: str, topic: str) -> Transactions:
    """A transaction with a record."""
    settings = {"bootstrap.servers": bootstrap, "transactional.id": "t"}
    transactions = Transactions(settings, TaskControl(False, lambda: None), 60.0)
    transactions.prepare(topic)
    transactions.begin()
    transactions.producer.produce(topic, value=b"a")
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
