"""FileStreamSource with files that appear, grow, shrink and are replaced."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.api.errors import ConfigError, ConnectError
from runtime.connectors.file_source import FileStreamSourceConnector, FileStreamSourceTask
from tests.support.tasks.task_contexts import StoredOffsets, started


class Follower:
    """A source task and the records that it has read."""

    def __init__(self, path: Path, position: int | None = None, /, **config: str) -> None:
        self.now = 0.0
        offsets = (
            StoredOffsets() if position is None else StoredOffsets([({"filename": str(path)}, {"position": position})])
        )
        task = FileStreamSourceTask(clock=lambda: self.now)
        self.task = started(task, {"file": str(path), "topic": "t", **config}, offsets)

    def read(self) -> list[tuple[str, int]]:
        """The lines that can be read now."""
        found: list[tuple[str, int]] = []
        for _ in range(3):  # a poll that detects a changed file returns no records
            while batch := self.task.poll():
                found += [(record.value, record.source_offset["position"]) for record in batch]  # type: ignore[index]
        return found


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "in.txt"


def test_a_file_that_appears_later_and_grows(path: Path) -> None:
    follower = Follower(path)
    assert follower.read() == []
    path.write_bytes(b"full line\nhalf")
    assert follower.read() == [("full line", 10)]
    with path.open("ab") as more:
        more.write(b" line\r\nlast\r\n\nend\n")
    assert follower.read() == [("half line", 21), ("last", 27), ("", 28), ("end", 32)]


def test_batch_size_bounds_a_poll(path: Path) -> None:
    path.write_bytes(b"x\n" * 25)
    follower = Follower(path, **{"batch.size": "10"})
    assert [len(follower.task.poll() or ()) for _ in range(4)] == [10, 10, 5, 0]


def test_a_line_longer_than_a_block_needs_no_further_poll(path: Path) -> None:
    """After each poll without records the worker waits longer, up to a minute for a file that is watched."""
    path.write_bytes(b"x" * 5_000_000 + b"\nnext\n")
    batch = Follower(path).task.poll()
    assert batch is not None and [len(record.value) for record in batch] == [5_000_000, 4]


def test_resumes_from_a_position(path: Path) -> None:
    path.write_bytes("grün\ntwo\n".encode())
    assert Follower(path, 6).read() == [("two", 10)]


def test_a_truncated_file_is_read_from_its_beginning(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_bytes(b"one\ntwo\nhal")
    follower = Follower(path)
    assert len(follower.read()) == 2
    path.write_bytes(b"new\n")
    assert follower.read() == [("new", 4)]
    assert "was truncated to 4 bytes after 11 bytes were read" in caplog.text
    assert Follower(path, 400).read() == [("new", 4)], "truncated while the task was stopped"


def test_a_replaced_file_is_read_to_its_end_first(path: Path) -> None:
    path.write_bytes(b"one\n")
    follower = Follower(path)
    assert follower.read() == [("one", 4)]
    path.rename(path.with_suffix(".1"))
    with path.with_suffix(".1").open("ab") as old:
        old.write(b"two\nno line end")
    assert follower.read() == [("two", 8)], "until there is a new file, the old one may still grow"
    path.write_bytes(b"three\n")
    assert follower.read() == [], "the old file may grow for a while after that"
    follower.now = 10.0
    assert follower.read() == [("no line end", 0), ("three", 6)]


def test_a_folder_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=f"{tmp_path}: Is a directory"):
        Follower(tmp_path).read()


def test_an_idle_poll_is_cheap(path: Path) -> None:
    path.write_bytes(b"one\n")
    follower = Follower(path)
    follower.read()
    started = time.thread_time()
    for _ in range(1000):
        assert not follower.task.poll()
    assert time.thread_time() - started < 0.5


def test_the_connector_requires_a_file() -> None:
    with pytest.raises(ConfigError, match="file"):
        FileStreamSourceConnector().start({"topic": "t"})


P, FILE = {"filename": "x"}, {"file": "x"}


@pytest.mark.parametrize(
    ("partition", "offset", "message"),
    [
        (None, {"position": 1}, "Partition objects cannot be null"),
        ({}, {"position": 1}, "Partition objects should contain the key 'filename'"),
        (P, {}, "Offset objects should either be null or contain the key 'position'"),
        (P, {"position": "1"}, "The value for the 'position' key in the offset is expected to be a Long value"),
        (P, {"position": 1.5}, "The value for the 'position' key in the offset is expected to be a Long value"),
        (P, {"position": True}, "The value for the 'position' key in the offset is expected to be a Long value"),
        (P, {"position": None}, "The value for the 'position' key in the offset is expected to be a Long value"),
        (P, {"position": -1}, "The value for the 'position' key in the offset should be a non-negative value"),
    ],
)
def test_invalid_offsets_are_refused(partition: Any, offset: Any, message: str) -> None:
    with pytest.raises(ConnectError) as caught:
        FileStreamSourceConnector().alter_offsets(FILE, [(P, {"position": 1}), (partition, offset)])
    assert str(caught.value) == message


def test_standard_input_has_no_offsets() -> None:
    for offsets in ([(P, {"position": 1})], [(P, None)]):
        with pytest.raises(ConnectError, match="stdin is used for input and offsets are not tracked"):
            FileStreamSourceConnector().alter_offsets({}, offsets)


def test_valid_offsets_are_accepted() -> None:
    assert FileStreamSourceConnector().alter_offsets(FILE, [(P, {"position": 0, "more": 1}), ({"y": 1}, None)])


@pytest.mark.parametrize(("value", "kind"), [([1], "ARRAY"), ({"a": 1}, "MAP")])
def test_offsets_that_java_workers_cannot_write_are_refused(value: object, kind: str) -> None:
    for partition, offset in (({"filename": "/a", "z": value}, {"position": 1}), ({"filename": "/a"}, {"z": value})):
        with pytest.raises(ConnectError, match=f"only contain primitive types as values, but field z contains {kind}"):
            FileStreamSourceConnector().alter_offsets(FILE, [(partition, offset)])
