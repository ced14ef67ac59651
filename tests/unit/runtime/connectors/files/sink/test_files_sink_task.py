"""FilesSink: files, commits and rotation of a task."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.errors import ConnectError
from tests.support.clock import Clock
from tests.support.tasks.files_sink import EPOCH, TP, SinkDriver, files, records
from tests.support.tasks.task_contexts import DeadLetterList
from tests.support.waiting import allowed, wait_until

JSON = {"format": "json"}


def name(offset: int, suffix: str = ".json") -> str:
    return f"orders+0+{offset:012d}{suffix}"


def test_offsets_are_committed_for_complete_files_only(tmp_path: Path) -> None:
    sink = SinkDriver(tmp_path, {**JSON, "flush.size": "3"})
    sink.put(records([{"n": n} for n in range(8)]))
    sink.commit_until(6)
    assert sink.context.commits.is_set(), "the task requests a commit when a file is complete"
    assert files(tmp_path) == {name(0): [{"n": 0}, {"n": 1}, {"n": 2}], name(3): [{"n": 3}, {"n": 4}, {"n": 5}]}
    sink.put(records([{"n": 8}], 8))
    sink.commit_until(9)
    sink.stop()


def test_the_last_commit_includes_files_that_are_just_being_written(tmp_path: Path) -> None:
    sink = SinkDriver(tmp_path, {**JSON, "flush.size": "3"}, commit_wait=allowed(30))
    sink.put(records([{"n": n} for n in range(3)]))
    assert sink.commit() == 3
    sink.stop()


def test_without_open_files_everything_is_committed(tmp_path: Path) -> None:
    sink = SinkDriver(tmp_path, JSON)
    assert sink.task.pre_commit({TP: 7, TopicPartition("other", 1): 3}) == {TP: 7, TopicPartition("other", 1): 3}
    sink.stop()


def test_a_restarted_task_replaces_the_files_that_were_not_committed(tmp_path: Path) -> None:
    first = SinkDriver(tmp_path, {**JSON, "flush.size": "3"})
    first.put(records([{"n": n} for n in range(8)]))
    first.commit_until(6)
    first.stop()
    second = SinkDriver(tmp_path, {**JSON, "flush.size": "3"})  # the commit of the first was lost
    for start in range(0, 9, 2):
        second.put(records([{"n": n} for n in range(start, min(start + 2, 9))], start))
    second.commit_until(9)
    second.stop()
    assert [row["n"] for rows in files(tmp_path).values() for row in rows] == list(range(9))


def test_rotation_by_size_counts_bytes_in_kafka(tmp_path: Path) -> None:
    class Message:
        def __init__(self, offset: int) -> None:
            self._offset = offset

        topic, partition = staticmethod(lambda: TP.topic), staticmethod(lambda: TP.partition)
        key, value = staticmethod(lambda: b"key"), staticmethod(lambda: b"seven..")

        def offset(self) -> int:
            return self._offset

    found = records([{"n": n} for n in range(7)])
    for record in found:
        record.source = Message(record.kafka_offset)
    sink = SinkDriver(tmp_path, {**JSON, "rotate.bytes": "25"})
    sink.put(found)
    sink.commit_until(6)
    sink.stop()
    assert [len(rows) for rows in files(tmp_path).values()] == [3, 3]


def test_rotation_by_record_time(tmp_path: Path) -> None:
    sink = SinkDriver(tmp_path, {**JSON, "rotate.interval.ms": "2500"})
    sink.put(records([{"n": n} for n in range(7)]))  # a second apart
    sink.commit_until(6)
    sink.stop()
    assert [len(rows) for rows in files(tmp_path).values()] == [3, 3]


def test_rotation_by_the_time_in_a_field(tmp_path: Path) -> None:
    sink = SinkDriver(tmp_path, {**JSON, "rotate.interval.ms": "60000", "timestamp.field": "at.time"})
    times: list[Any] = ["2024-01-01T00:00:00Z", "2024-01-01T00:00:59+00:00", "2024-01-01T00:01:00"]
    sink.put(records([{"at": {"time": time}} for time in times]))
    sink.commit_until(2)
    sink.stop()
    assert len(files(tmp_path)) == 1


def test_the_clock_closes_files_when_no_more_records_arrive(tmp_path: Path) -> None:
    clock = Clock(100.0)
    sink = SinkDriver(tmp_path, {**JSON, "rotate.schedule.interval.ms": "5000"}, clock=clock)
    sink.put(records([{"n": 0}, {"n": 1}]))
    assert sink.commit() == 0
    assert sink.task.idle_put == 5.0
    clock.now += 3
    sink.put([])
    assert sink.task.idle_put == 2.0
    clock.now += 2
    sink.put([])
    assert sink.task.idle_put is None
    sink.commit_until(2)
    sink.stop()
    assert files(tmp_path) == {name(0): [{"n": 0}, {"n": 1}]}


@pytest.mark.parametrize("later", [3, 20])
def test_cuts_of_the_clock_are_repeated_after_a_crash(tmp_path: Path, later: int) -> None:
    """The clock has closed files at 2, 3 and 6, and no commit succeeded; the next task sees all records at once."""
    config = {**JSON, "rotate.schedule.interval.ms": "5000", "flush.size": "4", "partition.field.name": "k"}
    values = [{"k": n % 2, "n": n} for n in range(6 + later)]
    clock = Clock(100.0)
    first = SinkDriver(tmp_path, config, clock=clock)
    for start, stop in ((0, 2), (2, 3), (3, 6)):
        first.put(records(values[start:stop], start))
        clock.now += 5
        first.commit()
    first.commit_until(6)
    first.stop()
    second = SinkDriver(tmp_path, config, clock=clock)
    second.put(records(values))
    clock.now += 5
    second.put([])
    second.commit_until(len(values))
    second.stop()
    assert sorted(row["n"] for rows in files(tmp_path).values() for row in rows) == list(range(len(values)))


def test_folders_of_fields_and_time(tmp_path: Path) -> None:
    config = {
        "flush.size": "4",
        "partition.field.name": "country,shop.id",
        "path.format": "'day'=yyyy-MM-dd",
        "timezone": "Asia/Tokyo",
        **JSON,
    }
    rows: list[Any] = [
        {"country": "DE", "shop": {"id": 1}},
        {"country": "a/b", "shop": {"id": True}},
        {"country": None, "shop": None},
        {"country": "DE", "shop": {"id": 1}},
    ]
    sink = SinkDriver(tmp_path, config)
    sink.put(records(rows))
    sink.commit_until(4)
    sink.stop()
    null = "__HIVE_DEFAULT_PARTITION__"
    assert files(tmp_path) == {
        f"country=DE/shop.id=1/day=2023-11-15/{name(0)}": [rows[0], rows[3]],
        f"country=a%2Fb/shop.id=true/day=2023-11-15/{name(1)}": [rows[1]],
        f"country={null}/shop.id={null}/day=2023-11-15/{name(2)}": [rows[2]],
    }


def test_numbers_of_folders_do_not_depend_on_those_beside_them(tmp_path: Path) -> None:
    sink = SinkDriver(tmp_path, {**JSON, "flush.size": "4", "partition.field.name": "n"})
    sink.put(records([{"n": 0.0}, {"n": -0.0}, {"n": 0}, {"n": False}]))
    sink.commit_until(4)
    sink.stop()
    assert [path.partition("/")[0] for path in files(tmp_path)] == ["n=-0.0", "n=0", "n=0.0", "n=false"]


def test_records_whose_folder_cannot_exist_are_reported_alone(tmp_path: Path) -> None:
    config = {"flush.size": "4", "partition.field.name": "c", "path.format": "yyyy", "timestamp.field": "t", **JSON}
    infinite, before, nanoseconds = "9999-12-31T23:59:59Z", -1, 1_700_000_000_000_000_000
    too_early = "0001-01-01T00:00:00+14:00"
    rows: list[Any] = [
        {"c": "a", "t": infinite}, {"c": "x" * 254, "t": 0}, {"c": "\u6771" * 29, "t": 0}, {"c": "a", "t": nanoseconds},
        {"c": "x" * 253, "t": before}, {"c": "b", "t": "0001-01-01T00:00:00Z"}, {"c": "b", "t": 0},
        {"c": "b", "t": too_early},
    ]  # fmt: skip
    letters = DeadLetterList()
    sink = SinkDriver(tmp_path, {**config, "timezone": "Asia/Tokyo"}, letters)
    sink.put(records(rows))
    sink.commit_until(8)
    sink.stop()
    assert files(tmp_path) == {
        f"c=a/9999/{name(0)}": [rows[0]],
        f"c={'x' * 253}/1970/{name(4)}": [rows[4]],
        f"c=b/0001/{name(5)}": [rows[5]],
        f"c=b/1970/{name(6)}": [rows[6]],
    }
    assert [record.kafka_offset for record, _ in letters.reported] == [1, 2, 3, 7]
    assert "The folder for field c needs a name of 263 bytes, more than 255" in str(letters.reported[1][1])


def test_records_beyond_the_memory_limit_wait_on_disk(tmp_path: Path) -> None:
    for kind in ("parquet", "json"):
        folder = tmp_path / kind
        sink = SinkDriver(folder, {"flush.size": "50", "format": kind, "buffer.bytes": "0"})
        for start in range(0, 50, 5):
            sink.put(records([{"n": n, f"f{n // 20}": n} for n in range(start, start + 5)], start))
        sink.commit_until(50)
        sink.stop()
        assert [row["n"] for row in files(folder)[name(0, f".{kind}")]] == list(range(50))


def test_a_task_that_is_sent_back_into_an_open_file_reads_it_from_its_start(tmp_path: Path) -> None:
    sink = SinkDriver(tmp_path, {**JSON, "flush.size": "6"})
    values = [{"n": n} for n in range(6)]
    sink.put(records(values[:5]))
    sink.put(records(values[3:5], 3))
    assert sink.context.sought == {TP: 0}
    assert sink.commit() == 0
    sink.put(records(values))
    sink.commit_until(6)
    sink.stop()
    assert files(tmp_path) == {name(0): values}


def test_records_of_a_file_set_whose_end_cannot_be_stored_are_not_committed(tmp_path: Path) -> None:
    clock = Clock(100.0)
    sink = SinkDriver(tmp_path, {**JSON, "rotate.schedule.interval.ms": "5000"}, clock=clock)
    sink.put(records([{"n": 0}, {"n": 1}]))
    journal = tmp_path / ".headrace" / "files" / "orders-0.json"
    (journal / "not a file").mkdir(parents=True)
    clock.now += 5
    with pytest.raises(ConnectError, match=rf"Cannot write \.headrace/files/orders-0\.json in {tmp_path}"):
        sink.put([])
    assert sink.commit() == 0
    sink.stop()
    assert files(tmp_path) == {}


def test_a_put_that_fails_publishes_none_of_its_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk for temporary files is full; when the task commits for the last time, the file set is due."""
    clock = Clock(100.0)
    sink = SinkDriver(tmp_path, {**JSON, "rotate.schedule.interval.ms": "5000", "buffer.bytes": "30"}, clock=clock)
    sink.put(records([{"n": 0}, {"n": 1}]))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(ConnectError, match=f"Cannot write to the temporary folder {tmp_path}/missing"):
        sink.task.put(records([{"n": 2}, {"n": 3}], 2))
    clock.now += 5
    assert sink.commit() == 0
    sink.stop()
    assert files(tmp_path) == {}


def test_records_of_a_failed_put_are_not_repeated_in_another_file(tmp_path: Path) -> None:
    """The put closes a file that has records of the put before it, and fails at a later record."""
    sink = SinkDriver(tmp_path, {**JSON, "flush.size": "4"})
    sink.put(records([{"n": n} for n in range(2)]))
    values: list[Any] = [{"n": n} for n in range(2, 8)]
    with pytest.raises(ConnectError, match="offset 7 cannot be stored"):
        sink.put(records([*values[:5], {"n": object()}], 2))
    wait_until(lambda: name(0) in files(tmp_path), 5, "the first file")
    assert sink.commit() == 0
    sink.stop()
    again = SinkDriver(tmp_path, {**JSON, "flush.size": "4"})
    again.put(records([{"n": n} for n in range(8)]))
    again.commit_until(8)
    again.stop()
    assert [row["n"] for rows in files(tmp_path).values() for row in rows] == list(range(8))


def test_a_file_that_cannot_be_written_fails_the_task_and_commits_nothing(tmp_path: Path) -> None:
    (tmp_path / "orders").write_text("not a folder")
    sink = SinkDriver(tmp_path, {**JSON, "flush.size": "1", "upload.retries": "0"})
    with pytest.raises(ConnectError, match="Cannot write orders/orders"):
        sink.put(records([{"n": 0}]))
        assert sink.context.commits.wait(30)
        sink.commit()
    assert sink.committed == 0
    sink.stop()


def test_routed_topics_have_folders_of_their_own_and_keep_the_name_of_their_origin(tmp_path: Path) -> None:
    class Message:
        def __init__(self, offset: int) -> None:
            self._offset = offset

        topic, partition = staticmethod(lambda: "orders"), staticmethod(lambda: 0)

        def offset(self) -> int:
            return self._offset

    def routed(topic: str, offset: int) -> SinkRecord:
        return SinkRecord(topic, 0, None, None, None, {"n": offset}, offset, EPOCH, source=Message(offset))

    sink = SinkDriver(tmp_path, {**JSON, "flush.size": "3"})
    sink.put([routed("a", 0), routed("b", 1), routed("a", 2)])
    sink.commit_until(3)
    sink.stop()
    assert sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.json")) == [
        f"a/{name(0)}",
        f"b/{name(1)}",
    ]


@pytest.mark.parametrize(
    ("topic", "folder"), [("..", "%2E%2E"), ("../../x", "..%2F..%2Fx"), ("/x", "%2Fx"), ("a.b-c_D", "a.b-c_D")]
)
def test_no_topic_leads_out_of_the_folder(tmp_path: Path, topic: str, folder: str) -> None:
    """A transformation may take the topic from a field."""
    (record,) = _derived([{"n": 0}])
    record.topic = topic
    sink = SinkDriver(tmp_path / "files", {**JSON, "flush.size": "1"})
    sink.task.put([record])
    sink.task.stop()
    (file,) = tmp_path.rglob("*.json")
    assert file.parent == tmp_path / "files" / folder


def _derived(*rows: list[Any]) -> list[SinkRecord]:
    """Records that a transformation has made of each of the first records of the topic."""
    derived = []
    for offset, made in enumerate(rows):
        source = SimpleNamespace(topic=lambda: "orders", partition=lambda: 0, offset=lambda offset=offset: offset)
        derived += records(made)
        for record in derived[-len(made) :]:
            record.source = source
    return derived


@pytest.mark.parametrize(("size", "sets"), [("1", [[0], [1], [2]]), ("4", [[0, 1]]), ("3", [[0, 1]])])
def test_records_with_several_topics_made_of_one_record_are_in_the_same_file_set(
    tmp_path: Path, size: str, sets: list[list[int]]
) -> None:
    put = _derived(*([{"n": n}] * 2 for n in range(3)))
    for place, record in enumerate(put):
        record.topic = "ab"[place % 2]
    sink = SinkDriver(tmp_path / "orders", {**JSON, "flush.size": size})
    sink.task.put(put)
    sink.position = 3
    sink.commit_until(3 if size == "1" else 2)
    sink.stop()
    assert files(tmp_path) == {
        f"{topic}/{name(offsets[0])}": [{"n": n} for n in offsets] for topic in "ab" for offsets in sets
    }


def test_a_full_file_set_has_all_records_made_of_its_last_one(tmp_path: Path) -> None:
    """A record without a value divides them."""
    sink = SinkDriver(tmp_path, {**JSON, "flush.size": "1"})
    sink.put(_derived([{"n": 1}, None, {"n": 2}]))
    sink.position = 1
    sink.commit_until(1)
    sink.stop()
    assert files(tmp_path) == {name(0): [{"n": 1}, {"n": 2}]}


def test_a_refused_record_does_not_divide_those_made_of_the_same_record(tmp_path: Path) -> None:
    """Their file has the name of their offset: a second one would replace the first."""
    rows: list[Any] = [{"c": "a", "n": 1}, {"c": "x" * 300}, {"c": "a", "n": 2}]
    letters = DeadLetterList()
    sink = SinkDriver(tmp_path, {**JSON, "flush.size": "1", "partition.field.name": "c"}, letters)
    sink.put(_derived(rows))
    sink.stop()
    assert files(tmp_path) == {f"c=a/{name(0)}": [rows[0], rows[2]]}
    assert [record.value for record, _ in letters.reported] == [rows[1]]


def test_offsets_of_time_zones_with_seconds(tmp_path: Path) -> None:
    """That of Amsterdam was +0:19:32 until 1937."""
    times = [dt.datetime(1930, 5, 4, 23, 40, second, tzinfo=dt.UTC) for second in (27, 28)]
    times += [dt.datetime(2024, 3, 31, 0, 59, 59, tzinfo=dt.UTC), dt.datetime(2024, 3, 31, 1, tzinfo=dt.UTC)]
    config = {"flush.size": "4", "path.format": "yyyy-MM-dd-HH", "timestamp.field": "t", **JSON}
    sink = SinkDriver(tmp_path, {**config, "timezone": "Europe/Amsterdam"})
    sink.put(records([{"t": time.isoformat()} for time in times]))
    sink.commit_until(4)
    sink.stop()
    assert {path.partition("/")[0] for path in files(tmp_path)} == {
        "1930-05-04-23", "1930-05-05-00", "2024-03-31-01", "2024-03-31-03",
    }  # fmt: skip


def test_records_made_of_one_record_whose_types_cannot_be_merged(tmp_path: Path) -> None:
    """A second file of their offset would replace the first."""
    rows: list[Any] = [{"n": 1}, {"n": "x"}, {"n": 2}]
    letters = DeadLetterList()
    sink = SinkDriver(tmp_path, {"flush.size": "3"}, letters)
    sink.task.put(_derived([{"n": 0}], rows))
    sink.position = 2
    sink.commit_until(2)
    sink.stop()
    assert files(tmp_path) == {name(0, ".parquet"): [{"n": 0}, {"n": 1}, {"n": 2}]}
    assert [record.value for record, _ in letters.reported] == [rows[1]]
    assert "other types than those made of the same record" in str(letters.reported[0][1])


@pytest.mark.parametrize(
    ("topic", "value", "reason"),
    [
        ("orders", "\ud83d", "The folder for field c cannot have the name '\\ud83d', which is not valid Unicode"),
        ("\ud83d", "a", "The folder for the topic cannot have the name"),
        ("x" * 256, "a", "The folder for the topic needs a name of 256 bytes, more than 255"),
    ],
)
def test_a_topic_or_value_that_names_no_folder_is_the_fault_of_its_record(
    tmp_path: Path, topic: str, value: str, reason: str
) -> None:
    (record,) = _derived([{"c": value}])
    record.topic = topic
    letters = DeadLetterList()
    sink = SinkDriver(tmp_path, {**JSON, "flush.size": "1", "partition.field.name": "c"}, letters)
    sink.put([record])
    assert sink.commit() == 1
    sink.stop()
    assert reason in str(letters.reported[0][1])
