"""A transaction hangs only if its coordinator has ended it. That a lost marker is told was checked on the files of the
broker that lost one; no client can make one."""

from __future__ import annotations

from tests.support.broker import KafkaBroker
from tests.support.kafka.lost_markers import lost_markers
from tests.support.kafka.transactions import open_transaction


def test_an_open_transaction_has_lost_no_marker(broker: KafkaBroker, topic: str) -> None:
    producer = open_transaction(broker.bootstrap, topic, (b"a", b"b"))
    assert [lost for lost in lost_markers(broker.bootstrap, after=1.0) if lost.topic == topic] == []
    producer.abort_transaction(20)
