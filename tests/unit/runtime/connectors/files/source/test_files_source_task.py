"""FilesSource: formats, cursors, order and finished files."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import logging
import os
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from runtime.api.data.batch import SourceBatch
from runtime.api.data.record import SourceRecord
from runtime.api.data.schema import Type
from runtime.api.errors import ConnectError
from runtime.connectors.files.folder_store import FolderStore
from runtime.connectors.files.source.definition import FilesSourceSettings
from runtime.connectors.files.source.listing import FileListing
from tests.support.tasks.files_sink import SinkDriver, records
from tests.support.tasks.files_source import SourceDriver
from tests.support.tasks.task_contexts import StoredOffsets


def write_lines(file: Path, rows: list[Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_parquet(file: Path, columns: Mapping[str, Any], **options: Any) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(columns), file, row_group_size=3, **options)


def test_files_are_read_in_order_and_new_ones_are_noticed(tmp_path: Path) -> None:
    write_lines(tmp_path / "b.jsonl", [3, 4, 5])
    write_lines(tmp_path / "a/nested.json", [1, 2])
    write_lines(tmp_path / ".hidden.json", [9])
    (tmp_path / "notes.txt").write_text("ignored")
    source = SourceDriver(tmp_path)
    assert source.drain() == [1, 2, 3, 4, 5]
    write_lines(tmp_path / "a.jsonl", [6])
    assert source.drain() == [1, 2, 3, 4, 5], "the folder is not listed again before poll.interval.ms"
    assert source.list_again() == [1, 2, 3, 4, 5, 6]


def test_files_are_read_in_the_order_of_their_modification(tmp_path: Path) -> None:
    for name, modified in (("a.json", 300), ("b.json", 100), ("c.json", 200)):
        write_lines(tmp_path / name, [name])
        os.utime(tmp_path / name, (modified, modified))
    assert SourceDriver(tmp_path, {"order": "modified"}).drain() == ["b.json", "c.json", "a.json"]


def test_each_offset_leads_to_the_next_row(tmp_path: Path) -> None:
    write_lines(tmp_path / "rows.json", [0, 1, 2, 3, 4])
    write_parquet(tmp_path / "rows.parquet", {"n": range(8)})
    (tmp_path / "rows.csv").write_text("n\n0\n1\n2\n")
    whole: list[SourceRecord] = []
    source = SourceDriver(tmp_path)
    while batch := source.poll(commit=False):
        whole += batch
    assert len(whole) == 16
    for place, record in enumerate(whole):
        offsets = StoredOffsets([(one.source_partition or {}, one.source_offset or {}) for one in whole[: place + 1]])
        rest = SourceDriver(tmp_path, offsets=offsets).drain()
        assert rest == [one.value for one in whole[place + 1 :]], f"after {record.source_offset}"


def test_parquet_types_become_connect_types(tmp_path: Path) -> None:
    import pyarrow as pa

    write_parquet(
        tmp_path / "types.parquet",
        {
            "small": pa.array([1], pa.uint8()),
            "price": pa.array([Decimal("1.20")], pa.decimal128(9, 2)),
            "at": pa.array([dt.datetime(2024, 1, 2, 3, 4, 5, 678901)], pa.timestamp("ns", "UTC")),
            "time": pa.array([dt.time(1, 2, 3)], pa.time64("us")),
            "day": pa.array([dt.date(2024, 1, 2)]),
            "color": pa.array(["red"]).dictionary_encode(),
            "counts": pa.array([{"a": 1}], pa.map_(pa.string(), pa.int32())),
            "shop": pa.array([{"ids": [1, 2]}]),
            "nothing": pa.nulls(1),
            "raw": pa.array([b"ab"], pa.binary(2)),
        },
    )
    (record,) = SourceDriver(tmp_path).poll()
    schema = record.value_schema
    assert schema is not None
    types = {field.name: (field.schema.type, field.schema.name or "") for field in schema.fields}
    assert types["small"] == (Type.INT16, "") and types["color"] == (Type.STRING, "")
    assert types["price"][1].endswith("Decimal") and types["at"][1].endswith("Timestamp")
    assert types["time"][1].endswith("Time") and types["day"][1].endswith("Date")
    assert types["counts"][0] is Type.MAP and types["shop"][0] is Type.STRUCT
    assert record.value == {
        "small": 1, "price": Decimal("1.20"), "at": dt.datetime(2024, 1, 2, 3, 4, 5, 678901, dt.UTC),
        "time": dt.time(1, 2, 3), "day": dt.date(2024, 1, 2), "color": "red", "counts": {"a": 1},
        "shop": {"ids": [1, 2]}, "nothing": None, "raw": b"ab",
    }  # fmt: skip


def test_times_as_spark_writes_them_keep_their_years(tmp_path: Path) -> None:
    """Spark writes INT96, which Arrow by default reads as nanoseconds: these reach from 1677 to 2262."""
    years = [1, 1500, 1883, 2026, 9999]
    times = [dt.datetime(year, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC) for year in years]
    write_parquet(tmp_path / "a.parquet", {"at": times}, use_deprecated_int96_timestamps=True)
    assert [row["at"] for row in SourceDriver(tmp_path).drain()] == [time.replace(tzinfo=None) for time in times]


def test_a_parquet_batch_has_columns(tmp_path: Path) -> None:
    write_parquet(tmp_path / "n.parquet", {"n": range(4)})
    batch = SourceDriver(tmp_path).task.poll()
    assert isinstance(batch, SourceBatch)
    assert batch.values.columns["n"] == [0, 1]


def test_csv_fields_are_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbfid,note\n1,"a, ""b""\nc"\n2,\n3,""\n')
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(b"id\tnote\n4\tx y\n"))
    (tmp_path / "c.csv").write_bytes(b"")
    assert SourceDriver(tmp_path).drain() == [
        {"id": "1", "note": 'a, "b"\nc'},
        {"id": "2", "note": None},
        {"id": "3", "note": ""},
        {"id": "4", "note": "x y"},
    ]


def test_names_of_files_with_any_characters(tmp_path: Path) -> None:
    names = ("a b%20#?*[x].json", "c\nd.json", "\\e.json", "f\u0308\U0001f6b2.json", "g.JSON", "h.Json.GZ")
    for number, name in enumerate(names):
        text = b"%d\n" % number
        (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("GZ") else text)
    assert sorted(SourceDriver(tmp_path).drain()) == [*range(len(names))]
    (tmp_path / os.fsdecode(b"z\xff.json")).write_text("6\n")
    with pytest.raises(ConnectError, match=r"rename .*z\\xff\.json, which is not UTF-8"):
        SourceDriver(tmp_path).drain()


def test_only_the_extension_shows_the_delimiter(tmp_path: Path) -> None:
    folder = tmp_path / "old.tsv"
    folder.mkdir()
    (folder / "a.tsv.csv").write_text("n,x\n1,2\n")
    (folder / "b.TSV").write_text("n\tx\n3\t4\n")
    assert SourceDriver(tmp_path).drain() == [{"n": "1", "x": "2"}, {"n": "3", "x": "4"}]


def test_rows_whose_fields_are_all_empty_are_rows_also_with_tabs(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n,x\n,\n")
    (tmp_path / "b.tsv").write_text("n\tx\n\t\n\t\n")
    source = SourceDriver(tmp_path, {"finished.after.ms": "0"})
    assert source.drain() == [{"n": None, "x": None}] * 3


def test_csv_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1;x\n2;y\n")
    config = {"csv.header": "false", "csv.delimiter": ";"}
    assert SourceDriver(tmp_path, config).drain()[0] == {"column1": "1", "column2": "x"}
    named = SourceDriver(tmp_path, {**config, "csv.columns": "id,letter"})
    assert named.drain() == [{"id": "1", "letter": "x"}, {"id": "2", "letter": "y"}]


@pytest.mark.parametrize("file_format", ["parquet", "json", "avro"])
def test_reads_what_the_sink_writes(tmp_path: Path, file_format: str) -> None:
    sink = SinkDriver(tmp_path, {"format": file_format, "flush.size": "2", "partition.field.name": "k"})
    rows = [{"k": "a", "n": 1, "tags": ["x"]}, {"k": "b", "n": 2, "tags": []}]
    sink.put(records(rows))
    sink.commit_until(2)
    sink.stop()
    assert SourceDriver(tmp_path).drain() == rows


def test_avro_times_and_identifiers(tmp_path: Path) -> None:
    import fastavro

    fields = [
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
    ]
    at, number = dt.datetime(2024, 1, 2, 3, tzinfo=dt.UTC), "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    with (tmp_path / "a.avro").open("wb") as file:
        schema = fastavro.parse_schema({"type": "record", "name": "Row", "fields": fields})
        fastavro.writer(file, schema, [{"at": at, "id": number}])
    assert SourceDriver(tmp_path).drain() == [{"at": at, "id": number}]


def test_an_unreadable_file_fails_the_task_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"n": 1}\n{"n": \n')
    with pytest.raises(ConnectError, match=r"Cannot read bad\.json as json: row 1: not valid JSON"):
        SourceDriver(tmp_path).drain()


def test_an_unreadable_file_is_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.parquet").write_text("not parquet")
    write_lines(tmp_path / "b.json", [1])
    with caplog.at_level(logging.ERROR):
        source = SourceDriver(tmp_path, {"unreadable.files": "skip"})
        assert source.drain() == [1] and not caplog.text, "the file may be incomplete"
        assert source.list_again() == [1]
    assert "Cannot read a.parquet as parquet" in caplog.text


@pytest.mark.parametrize("finished", ["archive", "delete"])
def test_finished_files_are_removed_after_their_last_offset_is_committed(tmp_path: Path, finished: str) -> None:
    folder, archive = tmp_path / "in", tmp_path / "done"
    write_lines(folder / "x/a.json", [1, 2])
    config = {"finished.files": finished, "archive.url": str(archive), "finished.after.ms": "0"}
    source = SourceDriver(folder, config)
    batch = source.poll(commit=False)
    source.task.commit()
    assert (folder / "x/a.json").exists()
    source.offsets.commit(batch)
    assert source.poll() == []
    source.task.commit()
    assert not (folder / "x/a.json").exists()
    assert (archive / "x/a.json").exists() is (finished == "archive")
    write_lines(folder / "x/a.json", [3])
    assert source.list_again() == [1, 2, 3], "another file of the same name is read"


def test_a_finished_file_is_removed_by_the_next_task_after_a_crash(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.json", [1])
    source = SourceDriver(tmp_path)
    source.drain()
    following = SourceDriver(tmp_path, {"finished.files": "delete", "finished.after.ms": "0"}, source.offsets)
    assert following.drain() == []
    following.task.commit()
    assert not (tmp_path / "a.json").exists()


def test_young_files_wait(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.json", [1])
    os.utime(tmp_path / "a.json", (995, 995))
    source = SourceDriver(tmp_path, {"minimum.age.ms": "10000"})
    assert source.drain() == []
    assert source.list_again() == [1]


def test_tasks_share_the_files(tmp_path: Path) -> None:
    for number in range(20):
        write_lines(tmp_path / f"{number}.json", [number])
    parts = [SourceDriver(tmp_path, {"tasks.max": "3"}, number=number).drain() for number in range(3)]
    assert all(parts)
    assert sorted(value for part in parts for value in part) == list(range(20))


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """A folder with a file, and with the folder `deep`, in which paths are longer than the system accepts."""
    write_lines(tmp_path / "a.json", [1])
    folder = os.open(tmp_path, os.O_RDONLY)
    for name in ("deep", *["x" * 250] * 20):
        os.mkdir(name, dir_fd=folder)
        below = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    return tmp_path


def test_a_folder_that_cannot_be_listed_fails_the_task_and_is_named(deep: Path) -> None:
    with pytest.raises(ConnectError, match=r"Cannot list deep/x.*File name too long"):
        SourceDriver(deep).drain()


def test_a_folder_that_cannot_be_listed_and_is_not_utf_8_is_named_in_valid_text(deep: Path) -> None:
    (deep / "deep").rename(deep / os.fsdecode(b"caf\xe9"))
    with pytest.raises(ConnectError, match=r"Cannot list caf\\xe9/x") as raised:
        SourceDriver(deep).drain()
    assert str(raised.value).encode()


def test_a_folder_that_cannot_be_listed_is_skipped(deep: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = SourceDriver(deep, {"unreadable.files": "skip"})
    assert source.drain() == [1]
    write_lines(deep / "b.json", [2])
    assert source.list_again() == [1, 2]
    assert sum("Cannot list deep/x" in record.getMessage() for record in caplog.records) == 1, "reported once"


@pytest.mark.parametrize("pattern", ["*.json", "?.json", "a*/**"])
def test_folders_in_which_no_file_can_match_are_not_read(deep: Path, pattern: str) -> None:
    write_lines(deep / "a" / "b.json", [3])
    (deep / ".snapshots").symlink_to(deep / "deep")
    assert SourceDriver(deep, {"pattern": pattern}).drain() == ([3] if "/" in pattern else [1])


def test_a_listing_matches_only_new_paths(tmp_path: Path) -> None:
    matched: list[str] = []

    class Listing(FileListing):
        def _is_own(self, path: str) -> bool:
            matched.append(path)
            return super()._is_own(path)

    settings = FilesSourceSettings.of({"url": str(tmp_path), "topic": "t"})
    listing = Listing(FolderStore(settings.location), settings)
    for name in ("a.json", "b.json"):
        write_lines(tmp_path / name, [1])
        listing.files()
    assert [file.path for file in listing.files()] == matched == ["a.json", "b.json"]


def test_the_pattern_selects_files(tmp_path: Path) -> None:
    for name in ("a/1.json", "a/b/2.json", "c/3.json", "c/x.json"):
        write_lines(tmp_path / name, [name])
    assert SourceDriver(tmp_path, {"pattern": "a/**/?.json"}).drain() == ["a/1.json", "a/b/2.json"]
    assert SourceDriver(tmp_path, {"pattern": "*/?.json"}).drain() == ["a/1.json", "c/3.json", "c/x.json"]
