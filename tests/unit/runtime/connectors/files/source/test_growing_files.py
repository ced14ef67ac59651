"""FilesSource: files that are still being written, that have grown, and that have changed."""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from runtime.api.errors import ConnectError
from tests.support.tasks.files_source import SourceDriver
from tests.support.tasks.task_contexts import StoredOffsets

Numbers = Sequence[int]


def csv_text(numbers: Numbers) -> bytes:
    return b"n\n" + b"".join(b"%d\n" % number for number in numbers)


def json_text(numbers: Numbers) -> bytes:
    return b"".join(b'{"n": "%d"}\n' % number for number in numbers)


def avro_file(numbers: Numbers) -> bytes:
    import fastavro

    out = io.BytesIO()
    schema = fastavro.parse_schema({"type": "record", "name": "Row", "fields": [{"name": "n", "type": "string"}]})
    for number in numbers:  # a block for each row
        out.seek(0, os.SEEK_END)
        fastavro.writer(out, schema, [{"n": str(number)}], sync_marker=b"0123456789abcdef")
    return out.getvalue()


def parquet_file(numbers: Numbers) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(pa.table({"n": list(map(str, numbers))}), out, row_group_size=2)
    return out.getvalue()


def zipped_csv(numbers: Numbers) -> bytes:
    return b"".join(gzip.compress(part, mtime=0) for part in csv_text(numbers).splitlines(keepends=True))


FORMATS: dict[str, Callable[[Numbers], bytes]] = {
    "a.csv": csv_text, "a.json": json_text, "a.avro": avro_file, "a.csv.gz": zipped_csv, "a.parquet": parquet_file
}  # fmt: skip
all_formats = pytest.mark.parametrize("name", FORMATS)


def values(source: SourceDriver) -> list[int]:
    return [int(row["n"]) for row in source.read]


@all_formats
def test_a_file_that_grew_is_continued(tmp_path: Path, name: str) -> None:
    file, content = tmp_path / name, FORMATS[name]
    file.write_bytes(content(range(2)))
    source = SourceDriver(tmp_path)
    source.drain()
    for count in (6, 7, 10):
        file.write_bytes(content(range(count if name != "a.parquet" else 2 * count)))
        source.list_again()
    assert values(source) == list(range(10 if name != "a.parquet" else 20))


@all_formats
def test_a_file_that_grew_is_continued_by_the_next_task(tmp_path: Path, name: str) -> None:
    file, content = tmp_path / name, FORMATS[name]
    for read in range(1, 5):  # the first task ends within and at the end of a batch, a block and the file
        file.write_bytes(content(range(4)))
        first = SourceDriver(tmp_path, {"batch.size": "1"})
        for _ in range(read):
            first.poll()
        file.write_bytes(content(range(9)))
        following = SourceDriver(tmp_path, offsets=first.offsets)
        following.drain()
        assert values(first) + values(following) == list(range(9))


@all_formats
@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("change", [(9, 1, 2, 3, 4), (0, 1, 9, 3, 4, 5, 6), (0, 1), ()])
def test_a_file_whose_content_changed_is_an_error(tmp_path: Path, name: str, restart: bool, change: Numbers) -> None:
    file, content = tmp_path / name, FORMATS[name]
    file.write_bytes(content(range(5)))
    source = SourceDriver(tmp_path)
    source.drain()
    later = 1_800_000_000
    file.write_bytes(content(change))
    os.utime(file, (later, later))
    if restart:
        source = SourceDriver(tmp_path, offsets=source.offsets)
    with pytest.raises(ConnectError, match=rf"{name} has changed since its rows up to 5 were read.*Reset the offset"):
        source.list_again()
    skipping = SourceDriver(tmp_path, {"unreadable.files": "skip"}, source.offsets)
    assert skipping.list_again() == []


def test_a_change_of_rows_that_were_not_committed_is_an_error_too(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(csv_text(range(5)))
    first = SourceDriver(tmp_path)
    first.poll()
    file.write_bytes(csv_text([0, 9, 2, 3, 4]))
    with pytest.raises(ConnectError, match="has changed"):
        SourceDriver(tmp_path, offsets=first.offsets).drain()


@all_formats
def test_unchanged_content_with_another_time_is_not_a_change(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(FORMATS[name](range(3)))
    source = SourceDriver(tmp_path)
    source.drain()
    os.utime(file, (1_800_000_000, 1_800_000_000))
    source.list_again()
    SourceDriver(tmp_path, offsets=source.offsets).list_again()
    assert values(source) == [0, 1, 2]


@pytest.mark.parametrize("name", ["a.csv", "a.json"])
def test_a_line_that_is_being_written_is_read_when_it_is_complete(tmp_path: Path, name: str) -> None:
    file, whole = tmp_path / name, FORMATS[name](range(10, 13))
    source = SourceDriver(tmp_path, {"finished.after.ms": "3600000"})
    for size in range(len(whole) + 1):
        file.write_bytes(whole[:size])
        source.list_again()
        complete = whole[:size].count(b"\n") - (name == "a.csv")
        assert values(source) == [10, 11, 12][: max(complete, 0)]


def test_a_csv_row_with_line_breaks_is_read_when_it_is_complete(tmp_path: Path) -> None:
    file, whole = tmp_path / "a.csv", b'id,text\r\n1,"a\r\nb ""c""\r\n"\r\n2,5" disk\r\n3,"x"\r\n'
    rows = [{"id": "1", "text": 'a\r\nb "c"\r\n'}, {"id": "2", "text": '5" disk'}, {"id": "3", "text": "x"}]
    ends = [whole.index(b"2,"), whole.index(b"3,"), len(whole)]
    source = SourceDriver(tmp_path, {"finished.after.ms": "3600000"})
    for size in range(len(whole) + 1):
        file.write_bytes(whole[:size])
        assert source.list_again() == rows[: sum(size >= end for end in ends)], whole[:size]


@pytest.mark.parametrize(("name", "end"), [("a.csv", b"7"), ("a.json", b'{"n": "7"}')])
@pytest.mark.parametrize("restart", [False, True])
def test_a_last_line_without_a_line_break_is_read_when_the_file_is_finished(
    tmp_path: Path, name: str, end: bytes, restart: bool
) -> None:
    file, content = tmp_path / name, FORMATS[name](range(3))
    file.write_bytes(content + end)
    source = SourceDriver(tmp_path)
    source.drain()
    assert values(source) == [0, 1, 2]
    if restart:
        source = SourceDriver(tmp_path, offsets=source.offsets)
        assert source.drain() == []
    source.list_again()
    assert values(source)[-1] == 7
    assert source.offsets.stored[-1][1]["done"] is True
    file.write_bytes(content + end + b"\n" + end + b"\n")
    source.list_again()
    assert values(source)[-2:] == [7, 7]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_last_line_that_is_continued_after_it_was_read_is_an_error(tmp_path: Path, name: str) -> None:
    def written(text: bytes) -> bytes:
        return gzip.compress(text) if name.endswith("gz") else text

    file = tmp_path / name
    file.write_bytes(written(b"n\n1\n2"))
    source = SourceDriver(tmp_path, {"finished.after.ms": "0"})
    assert source.drain() == [{"n": "1"}, {"n": "2"}]
    file.write_bytes(file.read_bytes() + written(b"34\n"))
    with pytest.raises(ConnectError, match="has changed since its rows up to 2 were read"):
        SourceDriver(tmp_path, offsets=source.offsets).drain()


@pytest.mark.parametrize("name", ["a.avro", "a.csv.gz", "a.parquet"])
def test_an_incomplete_file_is_read_when_it_is_complete(tmp_path: Path, name: str) -> None:
    file, whole = tmp_path / name, FORMATS[name](range(4))
    source = SourceDriver(tmp_path, {"finished.after.ms": "3600000"})
    for missing in (len(whole) - 5, 30, 10, 1):
        file.write_bytes(whole[:-missing])
        source.list_again()
    file.write_bytes(whole)
    source.list_again()
    assert values(source) == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["a.avro", "a.csv.gz", "a.parquet"])
@pytest.mark.parametrize("missing", [1, 10])
def test_a_finished_file_that_is_incomplete_is_an_error(tmp_path: Path, name: str, missing: int) -> None:
    (tmp_path / name).write_bytes(FORMATS[name](range(4))[:-missing])
    source = SourceDriver(tmp_path)
    source.drain()
    with pytest.raises(ConnectError, match=f"Cannot read {name} as"):
        source.list_again()


def test_what_was_read_of_a_large_file_is_not_read_again(tmp_path: Path) -> None:
    """Only the first and the last bytes are compared; and a file that was not modified is not opened."""
    file = tmp_path / "a.json"
    lines = [b"%09d\n" % number for number in range(20_000)]
    file.write_bytes(b"".join(lines).replace(b"0", b"1"))
    source = SourceDriver(tmp_path, {"batch.size": "10000"})
    source.drain()
    lines[10_000] = b"not JSON!\n"
    modified = file.stat().st_mtime
    file.write_bytes(b"".join(lines).replace(b"0", b"1"))
    os.utime(file, (modified, modified))
    assert len(source.list_again()) == 20_000
    with file.open("ab") as out:
        out.write(b"7\n")
    assert source.list_again()[-1] == 7


def test_every_offset_within_several_blocks_leads_to_the_next_row(tmp_path: Path) -> None:
    """Blocks have four megabytes; the rows have quotes and line breaks at every place of a block's end."""
    rows = [{"id": str(number), "text": f'"{number}"\n' + "x," * (number % 700)} for number in range(15_000)]
    with (tmp_path / "a.csv").open("w", newline="") as out:
        out.write("id,text\n")
        for row in rows:
            text = row["text"].replace('"', '""')
            out.write(f'{row["id"]},"{text}"\n')
    whole = SourceDriver(tmp_path, {"batch.size": "1500"})
    while batch := whole.poll(commit=False):
        middle = len(batch) // 2 or 1
        place = len(whole.read) - len(batch) + middle
        offsets = StoredOffsets([(one.source_partition or {}, one.source_offset or {}) for one in batch[:middle]])
        following = SourceDriver(tmp_path, {"batch.size": "1500"}, offsets)
        following.poll()
        assert following.read[:1] == rows[place : place + 1]
    assert whole.read == rows


@pytest.mark.parametrize("done", [False, True])
def test_offsets_of_earlier_versions(tmp_path: Path, done: bool) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(csv_text(range(3)))
    modified = file.stat().st_mtime_ns // 1_000_000
    offset: dict[str, Any] = {"row": 3, "size": file.stat().st_size, "modified": modified}
    offsets = StoredOffsets([({"path": "a.csv"}, {**offset, "done": True} if done else offset)])
    source = SourceDriver(tmp_path, offsets=offsets)
    assert source.list_again() == []
    file.write_bytes(csv_text(range(5)))
    source.list_again()
    following = SourceDriver(tmp_path, offsets=StoredOffsets(offsets.stored[:1]))
    following.drain()
    assert values(source) == values(following) == [3, 4]
    file.write_bytes(csv_text(range(2)))
    with pytest.raises(ConnectError, match="has changed"):
        SourceDriver(tmp_path, offsets=StoredOffsets(offsets.stored[:1])).drain()


def test_an_altered_row_is_found_without_its_position(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(csv_text(range(6)))
    source = SourceDriver(tmp_path, {"batch.size": "10"})
    records = source.poll()
    for record in (records[2], records[5]):
        for row in range(7):
            offsets = StoredOffsets([({"path": "a.csv"}, {**(record.source_offset or {}), "row": row})])
            following = SourceDriver(tmp_path, offsets=offsets)
            following.drain()
            assert values(following) == list(range(row, 6))


def test_a_growing_file_is_removed_only_when_it_is_finished(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(csv_text(range(2)))
    source = SourceDriver(tmp_path, {"finished.files": "delete", "finished.after.ms": "100000"})
    source.drain()
    source.list_again()
    file.write_bytes(csv_text(range(4)))
    source.list_again()
    source.task.commit()
    assert file.exists()
    file.write_bytes(csv_text(range(6)))
    source.list_again()
    source.list_again()
    assert file.exists() and values(source) == list(range(6))
    source.list_again()
    source.task.commit()
    assert not file.exists()


def test_a_file_that_grew_after_it_was_finished_is_not_removed(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(csv_text(range(2)))
    source = SourceDriver(tmp_path, {"finished.files": "delete", "finished.after.ms": "0"})
    source.drain()
    file.write_bytes(csv_text(range(3)))
    source.task.commit()
    assert file.exists()
    source.list_again()
    source.task.commit()
    assert not file.exists() and values(source) == [0, 1, 2]


def test_a_file_that_grew_between_listing_and_reading_is_not_finished(tmp_path: Path) -> None:
    """A committed offset of a finished file would make the next task take the file for another one."""
    file, config = tmp_path / "a.csv", {"finished.files": "delete", "finished.after.ms": "0"}
    file.write_bytes(csv_text(range(2)))
    source = SourceDriver(tmp_path, config)
    file.write_bytes(csv_text(range(4)))
    source.drain()
    following = SourceDriver(tmp_path, config, source.offsets)
    following.drain()
    following.task.commit()
    assert values(source) == [0, 1, 2, 3] and following.read == [] and not file.exists()


@pytest.mark.parametrize("restart", [False, True])
def test_another_file_with_the_name_of_a_removed_one_is_read_from_its_start(tmp_path: Path, restart: bool) -> None:
    file, config = tmp_path / "a.csv", {"finished.files": "delete", "finished.after.ms": "0"}
    file.write_bytes(csv_text(range(2)))
    source = SourceDriver(tmp_path, config)
    source.drain()
    source.task.commit()
    assert not file.exists()
    file.write_bytes(csv_text(range(3)))
    if restart:
        source = SourceDriver(tmp_path, config, source.offsets)
    source.list_again()
    assert values(source)[-3:] == [0, 1, 2]


def test_an_unfinished_header_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,na")
    source = SourceDriver(tmp_path, {"finished.after.ms": "3600000"})
    source.list_again()
    file.write_text("id,name\n1,x\n")
    assert source.list_again() == [{"id": "1", "name": "x"}]


def test_json_values_of_offsets_survive_the_offset_topic(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(json_text(range(3)))
    (record, *_) = SourceDriver(tmp_path).poll()
    assert json.loads(json.dumps(record.source_offset)) == record.source_offset
