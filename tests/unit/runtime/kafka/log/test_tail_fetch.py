"""Tails are fetched from a real broker."""

from __future__ import annotations

import pytest

from runtime.kafka.errors import BrokerUnavailable
from runtime.kafka.log.open_tail import Awaited, Marker, OpenTail
from runtime.kafka.log.reader import Position
from runtime.kafka.log.tail_fetch import FetchedTail, TailFetcher
from tests.support.broker import KafkaBroker, unique
from tests.support.kafka import transactions
from tests.support.waiting import wait_until

ANY = Awaited("records", lambda record: True)


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_batches_and_records(broker: KafkaBroker, compression: str) -> None:
    topic = broker.create_topic(partitions=2)
    fetcher = TailFetcher({"bootstrap.servers": broker.bootstrap})
    starts: dict[Position, int] = {(topic, 0): 0, (topic, 1): 0}
    held = transactions.begin(broker.bootstrap, compression_type=compression)
    for partition in (0, 1):
        held.produce(topic, b"held", b"a", partition=partition)
    assert held.flush(20) == 0
    done = transactions.begin(broker.bootstrap, compression_type=compression)
    for n in range(100):
        done.produce(topic, b"%d" % n, b"b", partition=0)
    done.produce(topic, None, None, partition=1)
    done.commit_transaction(20)
    found = _fetched(fetcher, starts, Marker.COMMIT)
    tails = {at: OpenTail(0) for at in starts}
    readable = {at[1]: tails[at].add(part.batches, part.records) for at, part in found.items()}
    assert [(r.key, r.value, r.offset) for r in readable[0]] == [(b"b", b"%d" % n, n + 1) for n in range(100)]
    assert [(r.key, r.value, r.partition, r.offset) for r in readable[1]] == [(None, None, 1, 1)]
    assert readable[0][0].timestamp > 0
    (open_one,) = tails[topic, 0].open_with(ANY, before=1)

    assert fetcher.transactional_ids([open_one.producer_id]) != {}
    held.abort_transaction(20)
    rest = _fetched(fetcher, {at: tail.position for at, tail in tails.items()}, Marker.ABORT)
    assert all(part.records == [] for part in rest.values())
    assert fetcher.fetch({at: part.batches[-1].last + 1 for at, part in rest.items()})[topic, 0].batches == []


def _fetched(fetcher: TailFetcher, starts: dict[Position, int], end: Marker) -> dict[Position, FetchedTail]:
    """What follows these positions, up to the ends of transactions: Kafka writes markers after it has confirmed."""

    def ended() -> dict[Position, FetchedTail]:
        found = fetcher.fetch(starts)
        return found if all(part.batches and part.batches[-1].marker is end for part in found.values()) else {}

    return wait_until(ended, 20, "the markers")


def test_large_tails_are_fetched_completely(broker: KafkaBroker, topic: str) -> None:
    """Larger than one response."""
    broker.produce(topic, *(b"%d" % n + b"x" * 100_000 for n in range(30)))
    (part,) = TailFetcher({"bootstrap.servers": broker.bootstrap}).fetch({(topic, 0): 0}).values()
    assert [r.offset for r in part.records] == list(range(30))
    assert part.batches[-1].last == 29


def test_a_missing_topic_is_an_error(broker: KafkaBroker) -> None:
    topic = unique("missing")
    with pytest.raises(BrokerUnavailable, match=f"topic {topic}"):
        TailFetcher({"bootstrap.servers": broker.bootstrap}, timeout=0.5).fetch({(topic, 0): 0})
