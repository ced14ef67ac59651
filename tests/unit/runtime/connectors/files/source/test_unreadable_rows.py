"""FilesSource: a row that cannot be read costs only itself, and is never turned into another value."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from runtime.api.data.record import ErrantSourceRecord, SourceRecord
from runtime.api.errors import ConfigError, ConnectError
from tests.support.tasks.files_source import SourceDriver
from tests.support.tasks.task_contexts import StoredOffsets

ALL = {"errors.tolerance": "all"}
BAD = (3, 4, 9)
GOOD = [{"n": number} for number in range(12) if number not in BAD]
CSV_GOOD = [{"n": str(row["n"]), "x": "a"} for row in GOOD]


def json_lines() -> bytes:
    return b"".join(b'{"n": \n' if n in BAD else b'{"n": %d}\n' % n for n in range(12))


def csv_lines() -> bytes:
    return b"n,x\n" + b"".join(b"%d,a,b\n" % n if n in BAD else b"%d,a\n" % n for n in range(12))


def latin_lines() -> bytes:
    return b"n,x\n" + b"".join(b"%d,\xe9\n" % n if n in BAD else b"%d,a\n" % n for n in range(12))


def parquet_rows() -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    values = pa.array([2**64 - 1 if n in BAD else n for n in range(12)], pa.uint64())
    out = BytesIO()
    parquet.write_table(pa.table({"n": values}), out, row_group_size=5)
    return out.getvalue()


FILES: Mapping[str, tuple[Callable[[], bytes], Sequence[Any], str]] = {
    "a.json": (json_lines, GOOD, "row 3: not valid JSON"),
    "a.csv": (csv_lines, CSV_GOOD, "row 3: [Ee]xpected 2 columns, got 3$"),
    "b.csv": (latin_lines, CSV_GOOD, "row 3: its bytes are not valid utf-8; see the option charset"),
    "a.parquet": (parquet_rows, GOOD, "row 3: .* column n: .*18446744073709551615"),
}


def driver(folder: Path, size: int, offsets: StoredOffsets | None = None) -> SourceDriver:
    source = SourceDriver(folder, {"batch.size": str(size), "finished.after.ms": "0", **ALL}, offsets)
    source.tolerant = True
    return source


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("size", [1, 4, 100])
def test_only_the_rows_at_fault_are_errors(tmp_path: Path, name: str, size: int) -> None:
    content, good, message = FILES[name]
    (tmp_path / name).write_bytes(content())
    source = driver(tmp_path, size)
    assert source.drain() == good
    assert len(source.errors) == len(BAD)
    failing = SourceDriver(tmp_path, {"batch.size": str(size), "finished.after.ms": "0"})
    with pytest.raises(ConnectError, match=rf"Cannot read {name} as \w+: {message}"):
        failing.drain()
    assert failing.read == good[:3] and failing.offsets.stored[-1][1]["row"] == 3, "the rows before it were returned"


@pytest.mark.parametrize("name", FILES)
def test_each_offset_leads_to_the_next_row_also_behind_rows_at_fault(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name][0]())
    whole: list[SourceRecord] = []
    source = driver(tmp_path, 5)
    while batch := source.poll(commit=False):
        whole += batch
    assert [isinstance(record, ErrantSourceRecord) for record in whole] == [n in BAD for n in range(12)]
    for place, record in enumerate(whole):
        following = driver(tmp_path, 5, StoredOffsets([({"path": name}, record.source_offset or {})]))
        following.drain()
        left = [one.value for one in whole[place + 1 :] if not isinstance(one, ErrantSourceRecord)]
        assert following.read == left, f"after {record.source_offset}"


def test_dead_letters_have_the_bytes_of_the_row(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(csv_lines())
    source = SourceDriver(tmp_path, {"batch.size": "20", "errors.deadletterqueue.topic.name": "dead", **ALL})
    source.tolerant = True
    errant = [record for record in source.poll() if isinstance(record, ErrantSourceRecord)]
    assert [(record.topic, record.value) for record in errant] == [("dead", b"%d,a,b\n" % n) for n in BAD]


@pytest.mark.parametrize(
    ("text", "rows", "errors"),
    [
        (b'1,"abc\n2,def\n3,ghi\n', ["2", "3"], ["row 0"]),
        (b'1,"abc\n2,"def"\n3,ghi\n', ["2", "3"], ["row 0"]),
        (b'1,a\n2,"b\r\n3,c\r\n', ["1", "3"], ["row 1"]),
        (b'1,a\n2,"b', ["1"], ["row 1"]),
        (b'1,a\n2,"b\n3,"c\n4,"d"\n', ["1", "4"], ["row 1", "row 2"]),
        (b'1,"a\nb"\n2,"c""\n"\n3,"d"e\n', ["1", "2", "3"], []),
    ],
)
def test_an_unclosed_quote_ends_at_its_line(tmp_path: Path, text: bytes, rows: list[str], errors: list[str]) -> None:
    (tmp_path / "a.csv").write_bytes(b"n,x\n" + text)
    for size in (1, 10):
        source = driver(tmp_path, size)
        assert [row["n"] for row in source.drain()] == rows
        assert [error.split(": ")[1] for error in source.errors] == errors
        assert all("a quote that is not closed" in error for error in source.errors)


def test_rows_behind_a_quote_that_is_closed_wrongly_need_not_wait_for_the_end_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'n,x\n1,"abc\n2,"def"\n3,g\n')
    source = SourceDriver(tmp_path, {"finished.after.ms": "3600000", **ALL})
    source.tolerant = True
    assert [row["n"] for row in source.drain()] == ["2", "3"]


def test_a_header_with_an_unclosed_quote_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'n,"x\n1,2\n3,4\n')
    with pytest.raises(ConnectError, match=r"Cannot read a\.csv as csv: the first row has no end"):
        SourceDriver(tmp_path, {"finished.after.ms": "0"}).drain()


def test_columns_of_the_same_name_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"n,x,n\n1,2,3\n")
    with pytest.raises(ConnectError, match=r"several columns are named 'n': name all columns in csv\.columns"):
        SourceDriver(tmp_path).drain()
    named = SourceDriver(tmp_path, {"csv.columns": "n,x,m"})
    assert named.drain() == [{"n": "1", "x": "2", "m": "3"}]


def test_an_integer_of_json_that_would_lose_digits_is_an_error(tmp_path: Path) -> None:
    large = 2**64
    lines = [f'{{"n": {number}}}\n' for number in (large - 1, large, -(2**63), -(2**63) - 1, f'"{large}"')]
    (tmp_path / "a.json").write_text("".join(lines))
    source = SourceDriver(tmp_path, ALL)
    source.tolerant = True
    assert [row["n"] for row in source.drain()] == [large - 1, -(2**63), str(large)]
    expected = "row {}: the integer {} has more than 64 bits: write it as text"
    assert [error.partition("json: ")[2] for error in source.errors] == [
        expected.format(1, large),
        expected.format(3, -(2**63) - 1),
    ]


@pytest.mark.parametrize("columns", ["", "n,x"])
def test_a_byte_order_mark_is_not_content(tmp_path: Path, columns: str) -> None:
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"n": 1}\n{"n": 2}\n')
    header = b"" if columns else b"n,x\n"
    (tmp_path / "b.csv").write_bytes(b"\xef\xbb\xbf" + header + b'"3",a\n4,b\n')
    config = {"csv.columns": columns, "csv.header": str(not columns)}
    assert [int(row["n"]) for row in SourceDriver(tmp_path, config).drain()] == [1, 2, 3, 4]


@pytest.mark.parametrize("name", ["a.json", "a.csv"])
def test_a_file_in_utf_16_is_an_error_that_names_it(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes('{"n": 1}\n'.encode("utf-16"))
    with pytest.raises(ConnectError, match=rf"Cannot read {name} .* byte order mark of UTF-16"):
        SourceDriver(tmp_path, {"finished.after.ms": "0"}).drain()


def test_the_charset_of_text(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(json.dumps({"n": "é€"}, ensure_ascii=False).encode("cp1252") + b"\n")
    (tmp_path / "b.csv").write_bytes("n\né€\n".encode("cp1252"))
    assert SourceDriver(tmp_path, {"charset": "windows-1252"}).drain() == [{"n": "é€"}] * 2


@pytest.mark.parametrize("name", ["utf-16", "cp037", "iso2022_jp", "unknown", "hex"])
def test_encodings_without_ascii_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="for configuration charset: Must be an encoding that contains ASCII"):
        SourceDriver(tmp_path, {"charset": name})


def test_a_large_unsigned_number_within_other_values_is_not_turned_negative(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    large, at = 2**64 - 1, dt.datetime(2024, 1, 2)
    nested = pa.struct([("n", pa.uint64()), ("at", pa.timestamp("ns"))])
    columns = {
        "struct": pa.array([{"n": 1, "at": at}, {"n": large, "at": at}, {"n": 3, "at": at}], nested),
        "map": pa.array([[("k", large)], [("k", 2)], [("k", 3)]], pa.map_(pa.string(), pa.uint64())),
        "list": pa.array([[1], [2], [3]], pa.list_(pa.uint64())),
    }
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    source = driver(tmp_path, 10)
    assert [(row["struct"]["n"], row["map"], row["list"]) for row in source.drain()] == [(3, {"k": 3}, [3])]
    assert [error.split(": ")[2].split()[-1] for error in source.errors] == ["map", "struct"]


def test_the_rest_of_a_damaged_block_of_avro_is_skipped(tmp_path: Path) -> None:
    import fastavro

    schema = fastavro.parse_schema({"type": "record", "name": "Row", "fields": [{"name": "s", "type": "string"}]})
    out = BytesIO()
    fastavro.writer(out, schema, [{"s": f"row {n:05}"} for n in range(20)], codec="null", sync_interval=80)
    (tmp_path / "a.avro").write_bytes(out.getvalue().replace(b"row 00005", b"row \xff0005"))
    source = driver(tmp_path, 100)
    read = [row["s"] for row in source.drain()]
    assert read[:5] == [f"row {n:05}" for n in range(5)] and read[-1] == "row 00019"
    (error,) = source.errors
    first, last = map(int, error.split(": ")[1].removeprefix("rows ").split(" to "))
    assert first == 5 and len(read) == 20 - (last - first + 1)
