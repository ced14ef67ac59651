"""Topics and records on a real broker: pages, searches, gaps, limits; nothing is committed and no group is joined."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from fastavro import parse_schema, schemaless_writer

from tests.support.broker import KafkaBroker, unique
from tests.support.console.script_console import Console
from tests.support.kafka.faulty_broker import FETCH, Damage, Fault, FaultyBroker
from tests.support.servers.schema_registry import StubRegistry
from tests.support.workers import WorkerProcess
from tui.errors import NotFound, Unreachable
from tui.topics import reader as reading
from tui.topics.page_scan import ReadLimits
from tui.topics.position import around
from tui.topics.reader import TopicReader
from tui.topics.records import RecordPage


@pytest.fixture
def reader(broker: KafkaBroker) -> Iterator[TopicReader]:
    one = TopicReader({"bootstrap.servers": broker.bootstrap})
    yield one
    one.close()


def write(broker: KafkaBroker, topic: str, count: int, partitions: int, first: int = 0, time: int = 1_000_000) -> None:
    """Records `0`, `1`, … in turn to each partition, a second apart."""
    with broker.writing() as send:
        for number in range(first, first + count):
            send(topic, f'{{"n": {number}}}', f"k{number}", number % partitions, timestamp=time + number * 1000)


def numbers(page: RecordPage) -> list[int]:
    return [json.loads(record.value or b"")["n"] for record in page.records]


def pages_back(reader: TopicReader, topic: str, count: int) -> list[RecordPage]:
    """All pages from the newest to the oldest."""
    pages = [reader.older(topic, ReadLimits(count))]
    while pages[-1].has_older and len(pages) < 100:
        pages.append(reader.older(topic, ReadLimits(count), pages[-1].starts))
    return pages


def test_pages_in_both_directions_cover_each_record_once(broker: KafkaBroker, reader: TopicReader) -> None:
    topic = broker.create_topic(partitions=3)
    write(broker, topic, 100, 3)
    pages = pages_back(reader, topic, 30)
    assert [n for page in reversed(pages) for n in numbers(page)] == list(range(100))
    assert numbers(pages[0]) == list(range(70, 100)) and pages[0].total == 100
    page = reader.newer(topic, ReadLimits(30))
    found = numbers(page)
    while page.has_newer:
        page = reader.newer(topic, ReadLimits(30), page.ends)
        found += numbers(page)
    assert found == list(range(100))
    assert numbers(reader.newer(topic, ReadLimits(2), reader.at_time(topic, 1_050_000))) == [50, 51]
    here = around(reader, topic, 1, 20, ReadLimits(6))
    assert [(record.partition, record.offset) for record in here.records] == [(1, n) for n in range(17, 23)]
    joined = pages[1].joined(pages[0], 40)
    assert numbers(joined) == list(range(60, 100)) and joined.has_older
    assert numbers(reader.older(topic, ReadLimits(5), joined.starts)) == list(range(55, 60))


def test_brokers_that_stop_responding_within_a_page_are_an_error_and_not_its_end(
    broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "RESPONSE_TIMEOUT", 1.0)
    topic = broker.create_topic()
    for _ in range(2):  # batches, each as large as a response
        broker.produce(topic, b"x" * 2000)
    faulty = FaultyBroker(broker.bootstrap)
    port = faulty.listen(Fault(FETCH, Damage.SILENT, after=1))
    settings = {"bootstrap.servers": f"127.0.0.1:{port}", "max.partition.fetch.bytes": 2000}
    reader = TopicReader(settings)
    try:
        with pytest.raises(Unreachable, match="no records within 1 s"):
            reader.older(topic, ReadLimits(2, seconds=0.2))
    finally:
        reader.close()
        faulty.close()


def test_gaps_of_transactions_are_skipped(broker: KafkaBroker, topic: str, reader: TopicReader) -> None:
    """Markers of transactions take offsets without records; aborted records are hidden only with `committed`."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": unique("id")})
    producer.init_transactions(30)
    for number in range(12):
        producer.begin_transaction()
        producer.produce(topic, f'{{"n": {number}}}')
        producer.flush(30)
        (producer.commit_transaction if number % 3 else producer.abort_transaction)(30)
    pages = pages_back(reader, topic, 4)
    assert [n for page in reversed(pages) for n in numbers(page)] == list(range(12))
    committed = TopicReader({"bootstrap.servers": broker.bootstrap}, committed=True)
    try:
        assert numbers(committed.older(topic, ReadLimits(50))) == [n for n in range(12) if n % 3]
    finally:
        committed.close()


def test_limits_of_a_page(broker: KafkaBroker, reader: TopicReader) -> None:
    """A search ends after the records it may read; large records shorten a page; the next page continues there."""
    topic = broker.create_topic(partitions=2)
    write(broker, topic, 200, 2)
    page = reader.newer(topic, ReadLimits(5, scanned=50), None, lambda record: record.key == b"k150")
    assert page.is_cut and not page.records and 50 <= page.scanned < 200
    page = reader.newer(topic, ReadLimits(1), page.ends, lambda record: record.key == b"k150")
    assert numbers(page) == [150] and not page.is_cut
    large = broker.create_topic(partitions=2)
    with broker.writing() as send:
        for number in range(12):
            send(large, b"x" * 200_000, partition=number % 2)
    seen, before = 0, None
    for _ in range(30):
        page = reader.older(large, ReadLimits(20, bytes=900_000), before)
        assert sum(record.size for record in page.records) < 2_000_000
        seen, before = seen + len(page.records), page.starts
        if not page.has_older:
            break
    assert seen == 12


def test_reading_leaves_no_trace(broker: KafkaBroker, topic: str, reader: TopicReader) -> None:
    write(broker, topic, 3, 1)
    assert numbers(reader.older(topic, ReadLimits(2))) == [1, 2]
    missing = unique("missing")
    with pytest.raises(NotFound, match="does not exist"):
        reader.older(missing, ReadLimits(2))
    with pytest.raises(NotFound, match="no partition 7"):
        reader.older(topic, ReadLimits(2), None, None, 7)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    groups = {group.group_id for group in admin.list_consumer_groups().result(20).valid}
    assert reading.GROUP not in groups
    assert missing not in admin.list_topics(timeout=20).topics


def test_commands(java_connect: WorkerProcess, broker: KafkaBroker, tmp_path: Path) -> None:
    """`topics` and `records` with Apache's worker, whose context names the brokers; Avro by the registry's schema."""
    topic = broker.create_topic(partitions=2)
    write(broker, topic, 10, 2)
    registry, stream = StubRegistry(), BytesIO()
    schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    number = registry.add(f"{topic}-value", schema)
    schemaless_writer(stream, parse_schema(schema), {"id": 7})
    avro = broker.create_topic()
    broker.produce(avro, b"\x00" + number.to_bytes(4, "big") + stream.getvalue(), b"no avro")
    contexts = tmp_path / "headrace" / "contexts.toml"
    contexts.parent.mkdir()
    servers = f'url = "{java_connect.url}"\nbootstrap-servers = "{broker.bootstrap}"\n'
    contexts.write_text(f"[contexts.here]\n{servers}[contexts.there]\n{servers}[contexts.there.schema-registry]\n"
                        f'url = "{registry.url}"\n[contexts.blind]\nurl = "{java_connect.url}"\n')  # fmt: skip
    console = Console("--context=here", tmp_path)
    found = console(f"topics {topic} -o json").json
    assert found == [
        {"topic": topic, "records": 10, "connectors": [],
         "partitions": [{"partition": p, "earliest": 0, "latest": 5} for p in range(2)]}
    ]  # fmt: skip
    newest = console(f"records {topic} -n 2 -o json").json
    assert [(one["key"], one["value"]) for one in newest] == [("k8", {"n": 8}), ("k9", {"n": 9})]
    assert [one["value"]["n"] for one in console(f"records {topic} --from 1@2 -n 2 -o json").json] == [5, 7]
    assert console(f"records {topic} --grep K3 -o name").out == "1@1\n"
    assert "--scan to read more" in console(f"records {topic} --grep none --scan 1 --from earliest").err
    differing = console(f"diff records {topic} 0@1 1@1 -o json", code=8).json
    assert differing["differences"] == [
        {"field": "key", "before": "k2", "after": "k3"}, {"field": "value.n", "before": 2, "after": 3}
    ]  # fmt: skip
    assert "no differences" in console(f"diff records {topic} 0@1 0@1").err
    assert "no record at 0@5" in console(f"diff records {topic} 0@1 0@5", code=3).err
    console(f"diff records {topic} 0@1 latest", code=2)
    there = Console("--context=there", tmp_path)
    one, other = there(f"records {avro} --value-converter AvroConverter -o json").json
    assert one["value"] == {"id": 7} and other["value"] == "no avro" and "AvroConverter" in other["notes"]["value"]
    assert there(f"records {avro} --from 0 -n 1 -o json").json[0]["value"] == {"id": 7}, "guessed by the wire format"
    failing = {"topics none-*": 3, f"records {unique('none')}": 3, f"records {topic} --from nowhere": 2}
    failing |= {f"records {topic} --from 3": 2, f"records {topic} -c {unique('none')}": 3}
    for command, code in failing.items():
        console(command, code=code)
    assert "names no brokers" in Console("--context=blind", tmp_path)("topics", code=1).err
    registry.close()
