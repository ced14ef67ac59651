"""The record with which a sink fails: how it is found, and the file for skipped records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tui.topics import failing_records
from tui.topics.decoding import decoder
from tui.topics.failing_records import FailingPartition, failing_partitions, last_failures
from tui.topics.page_scan import Matches, ReadLimits
from tui.topics.reader import TopicReader
from tui.topics.records import RecordPage, TopicRecord

JSON_VALUES = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}


class Topics(TopicReader):
    """Topics in memory: values by topic and partition; offsets begin at 100."""

    def __init__(self, topics: Mapping[str, list[list[bytes]]]) -> None:
        self.topics = topics

    def bounds(self, topic: str, partition: int | None = None) -> tuple[dict[int, int], dict[int, int]]:
        values = self.topics[topic]
        return dict.fromkeys(range(len(values)), 100), {n: 100 + len(part) for n, part in enumerate(values)}

    def newer(
        self, topic: str, limits: ReadLimits, start: Mapping[int, int] | None = None, matches: Matches | None = None,
        partition: int | None = None,
    ) -> RecordPage:  # fmt: skip
        assert start is not None and partition is not None
        first = start[partition]
        values = self.topics[topic][partition][first - 100 :][: limits.records]
        records = [TopicRecord(topic, partition, first + n, value=value) for n, value in enumerate(values)]
        return RecordPage(tuple(records), {}, {}, {}, {})


def found(
    topics: dict[str, list[list[bytes]]],
    committed: dict[tuple[str, int], int],
    config: Mapping[str, str] = JSON_VALUES,
    reported: dict[tuple[str, int], int] | None = None,
    batch: int = 500,
) -> list[FailingPartition]:
    return failing_partitions(Topics(topics), decoder(config, {}), sorted(topics), committed, reported or {}, batch)


def test_the_first_record_that_cannot_be_decoded_is_at_fault() -> None:
    topics = {"a": [[b"{}", b"{}"]], "t": [[b"1", b"2"], [b"{}", b"{}", b"{no", b"{no"]]}
    partitions = found(topics, {("a", 0): 102, ("t", 0): 101, ("t", 1): 101})
    assert [(each.name, each.shown.record.offset, each.fault, each.before_fault) for each in partitions] == [
        ("t-1", 102, 102, 1),
        ("t-0", 101, None, 0),
    ]
    assert "value not decoded by JsonConverter" in partitions[0].why


def test_what_the_worker_reports_is_preferred_while_it_is_not_committed() -> None:
    topics = {"t": [[b"{no", b"{}", b"{}"]]}
    assert found(topics, {}, reported={("t", 0): 102})[0].fault == 102
    assert found(topics, {("t", 0): 101}, reported={("t", 0): 100})[0].fault is None
    response: Any = {"last": [{"topic": "t", "partition": 0, "offset": 7}, {"topic": "t", "partition": 0, "offset": 3}]}
    assert last_failures(response) == {("t", 0): 7}
    assert last_failures({"last": [{"topic": "t", "message": "of a source"}]}) == {}


def test_records_behind_the_failed_batch_are_not_at_fault() -> None:
    assert found({"t": [[b"{}", b"{}", b"{no"]]}, {}, batch=2)[0].fault is None


def test_the_fault_is_unknown_if_the_form_is_guessed() -> None:
    (partition,) = found({"t": [[b"{no"]]}, {}, config={})
    assert (partition.fault, partition.shown.record.offset) == (None, 100)


def test_skipped_records_are_saved_without_loss_and_never_overwritten(tmp_path: Path) -> None:
    file = failing_records.default_file(tmp_path, "a/b sink")
    assert file.parent == tmp_path / "skipped" and file.name.startswith("a_b_sink-")
    record = TopicRecord("t", 1, 5, 9, b"k", b"\xff", (("h", b"x"),))
    failing_records.save(file, "a/b sink", [record])
    saved = json.loads(file.read_text())
    assert saved == {
        "connector": "a/b sink", "topic": "t", "partition": 1, "offset": 5, "timestamp": 9,
        "key": "k", "value": {"base64": "/w=="}, "headers": [["h", "x"]],
    }  # fmt: skip
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        failing_records.save(file, "a/b sink", [record])
