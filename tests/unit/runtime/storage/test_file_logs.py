"""Offsets in a file: written completely or not at all, and applied only after they are in the file."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from runtime.kafka.cluster_monitor import ClusterMonitor
from runtime.kafka.log.log import LogRecord, TopicSpec
from runtime.storage import java_map
from runtime.storage.file_logs import FileLog, FileLogs, MemoryLog
from runtime.storage.file_offsets import OffsetsFile, OffsetsFileError
from runtime.storage.offsets import OffsetStore
from runtime.system.loop_turns import TURN

SPEC = TopicSpec("", 1, 1, "offset.storage")


class Applied(list[tuple[bytes | None, bytes | None]]):
    """The records that a log has applied."""

    def __call__(self, records: object) -> None:
        assert isinstance(records, list)
        self.extend((r.key, r.value) for r in records if isinstance(r, LogRecord))


def opened(path: Path) -> tuple[FileLog, Applied]:
    applied = Applied()
    log = FileLog(SPEC, applied, OffsetsFile(path))
    log.load()
    return log, applied


def names(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


async def test_the_next_worker_reads_a_write(tmp_path: Path) -> None:
    log, applied = opened(tmp_path / "offsets")
    await log.write_all([(b"a", b"1"), (b"b", b"2")])
    await log.write_all([(b"a", None), (b"c", b"3")])
    assert applied == [(b"a", b"1"), (b"b", b"2"), (b"a", None), (b"c", b"3")]
    assert opened(tmp_path / "offsets")[1] == [(b"b", b"2"), (b"c", b"3")]
    assert names(tmp_path) == ["offsets"]


async def test_concurrent_writes_are_all_stored(tmp_path: Path) -> None:
    log, _ = opened(tmp_path / "offsets")
    await asyncio.gather(*(log.write_all([(b"%d" % i, b"x")]) for i in range(50)))
    assert len(java_map.decode((tmp_path / "offsets").read_bytes())) == 50


async def test_other_work_of_the_event_loop_continues_while_a_write_is_applied(tmp_path: Path) -> None:
    turns, seen = 0, list[int]()

    def apply(records: object) -> None:
        time.sleep(2 * TURN)
        seen.append(turns)

    log = FileLog(SPEC, apply, OffsetsFile(tmp_path / "offsets"))
    writing = asyncio.create_task(log.write_all([(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]))
    while not writing.done():
        turns += 1
        await asyncio.sleep(0)
    assert len(seen) == len(set(seen)) == 3


async def test_a_write_that_fails_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    log, applied = opened(folder / "offsets")
    await log.write_all([(b"a", b"1")])
    folder.rename(tmp_path / "away")
    with pytest.raises(OffsetsFileError, match=r"cannot write offsets to .*offsets: No such file"):
        await log.write_all([(b"a", b"2")])
    assert applied == [(b"a", b"1")]
    (tmp_path / "away").rename(folder)
    await log.write_all([(b"b", b"3")])
    assert opened(folder / "offsets")[1] == [(b"a", b"1"), (b"b", b"3")]


async def test_links_and_permissions_are_preserved(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"")
    target.chmod(0o640)
    (tmp_path / "offsets").symlink_to(target)
    log, _ = opened(tmp_path / "offsets")
    await log.write_all([(b"a", b"1")])
    assert (tmp_path / "offsets").is_symlink()
    assert (target.stat().st_mode & 0o777, java_map.decode(target.read_bytes())) == (0o640, {b"a": b"1"})


def test_a_missing_folder_is_reported_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(OffsetsFileError, match="is missing or not writable"):
        opened(tmp_path / "nowhere" / "offsets")


async def test_offsets_are_stored_in_javas_records(tmp_path: Path) -> None:
    """Key and value in the file are those of the offsets topic."""
    for _ in range(2):
        logs = FileLogs(ClusterMonitor({"bootstrap.servers": "nowhere:1"}), {"": OffsetsFile(tmp_path / "offsets")})
        store = OffsetStore(logs, SPEC)
        assert isinstance(logs.open(TopicSpec("configs", 1, 1, "config.storage"), Applied()), MemoryLog)
        (kept,) = logs._kept
        kept.load()
        await store.alter("c", [({"filename": "/f"}, {"position": 7})])
    assert [(o.partition, o.offset) for o in store.offsets("c")] == [({"filename": "/f"}, {"position": 7})]
    assert java_map.decode((tmp_path / "offsets").read_bytes()) == {b'["c",{"filename":"/f"}]': b'{"position":7}'}
