"""Documents larger than a record: complete, or unchanged after an interrupted write."""

from __future__ import annotations

from runtime.herder.restarts.restart_record import RestartRecords
from runtime.kafka.log.log import TopicLog, TopicLogs, TopicSpec
from runtime.storage.documents import PIECE_SIZE, Documents, _records
from tests.support.broker import KafkaBroker, unique


async def test_large_documents_are_complete_and_survive_a_crash_during_a_write(broker: KafkaBroker) -> None:
    spec = TopicSpec(unique("documents"), 1, 1, "documents", single=True)
    settings = {"bootstrap.servers": broker.bootstrap}
    logs = TopicLogs(settings)
    documents, raw = Documents(logs, spec), TopicLog(logs, spec, lambda _: None)
    await logs.start()
    old, new = {"text": "ä" * PIECE_SIZE}, {"text": "b" * (3 * PIECE_SIZE)}
    await documents.put("k", old)
    await documents.put("small", {"n": 1})
    await raw.write_all(_records("k", new)[:-1])  # all parts except the head
    assert documents.get("k") == old
    foreign = [(b"\xff", b'{"document": {}}'), (b"restarts:x:c", b'{"document": {}}')]
    await raw.write_all([*foreign, *_records("k", new)])
    await documents.remove("small")
    await logs.close()

    logs = TopicLogs(settings)
    again, raw = Documents(logs, spec), TopicLog(logs, spec, lambda _: None)
    await logs.start()
    await again.read_to_end()
    assert again.get("k") == new and again.get("small") is None and again.keys("") == ["k", "restarts:x:c"]
    assert not RestartRecords(again).has("c"), "written by another program"
    await raw.write_all(_records("k", new)[:-1])
    await again.put("k", {"n": 2})
    assert again.get("k") == {"n": 2} and not again._pieces, "also those of the interrupted writes"
    await logs.close()
