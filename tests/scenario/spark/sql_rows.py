"""Rows as JSON lines, Parquet files and a table, and what plain Spark makes of them with one query."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.support.servers.postgres import Postgres

COLUMNS = "id BIGINT, name STRING, price DECIMAL(12, 2), at TIMESTAMP, shop STRING"
PARSED = f"(SELECT j.* FROM (SELECT from_json(value, '{COLUMNS}') AS j FROM records))"
"""The relation for records whose values are JSON as text."""

Result = tuple[int, str | None, Decimal | None, int, str]
"""id, name, gross, later (milliseconds since 1970) and shop of a row of the query."""

_QUERY = (
    "SELECT id, upper(name) AS name, price * 3 AS gross, at + INTERVAL 1 DAY AS later, shop "
    "FROM {records} WHERE id % 3 > 0"
)
_PLAIN_SPARK = """
import sys
from pyspark.sql import SparkSession
import pyarrow.parquet

lines, columns, query, out = sys.argv[1:]
settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.session.timeZone": "UTC"}
session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
session.read.schema(columns).json(lines).createOrReplaceTempView("records")
pyarrow.parquet.write_table(session.sql(query).toArrow(), out)
"""
_TABLE = "CREATE TABLE origin (id bigint PRIMARY KEY, name text, price numeric(12, 2), at timestamp(3), shop text)"
_FILES = 8
_START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
_MILLISECOND = dt.timedelta(milliseconds=1)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def query(records: str = "records") -> str:
    """The projection and filter over this relation."""
    return _QUERY.format(records=records)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows 1 to `count`."""

    count: int
    lines: Path
    parquet: Path
    """A folder of files, in the order of their names."""
    expected: list[Result]
    """The result of plain Spark, by id."""

    def table(self, postgres: Postgres, database: str) -> None:
        """Creates the table `origin` with the rows."""
        import psycopg

        with psycopg.connect(postgres.conninfo(database)) as connection:
            connection.execute(_TABLE)
            with connection.cursor().copy("COPY origin FROM STDIN") as copy:
                for row in _rows(self.count):
                    copy.write_row(tuple(row.values()))


def make(folder: Path, count: int) -> Rows:
    """Writes the rows to files, and lets plain Spark run the query over them."""
    lines, parquet, result = folder / "lines.json", folder / "parquet", folder / "result.parquet"
    with lines.open("w") as file:
        for row in _rows(count):
            file.write(f'{{"price":{row.pop("price") or "null"},{json.dumps(row, default=_text)[1:]}\n')
    _write_parquet(parquet, count)
    program = [sys.executable, "-c", _PLAIN_SPARK, str(lines), COLUMNS, query(), str(result)]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return Rows(count, lines, parquet, sorted(of_table(result)))


def of_table(file: Path) -> Iterator[Result]:
    """The rows of the query in a Parquet file."""
    import pyarrow.parquet

    table = pyarrow.parquet.ParquetFile(file).read(["id", "name", "gross", "later", "shop"])
    columns = [column.to_pylist() for column in table.columns]
    columns[3] = [(later.replace(tzinfo=dt.UTC) - _EPOCH) // _MILLISECOND for later in columns[3]]
    return zip(*columns, strict=True)


def of_json(value: bytes) -> Result:
    """The row of the query in a value of JsonConverter with decimals as numbers."""
    row = json.loads(value, parse_float=Decimal, parse_int=int)
    gross = row["gross"]
    return row["id"], row["name"], None if gross is None else Decimal(gross), row["later"], row["shop"]


def _rows(count: int) -> Iterator[dict[str, Any]]:
    for n in range(1, count + 1):
        yield {
            "id": n,
            "name": None if n % 17 == 0 else f"näme {n}",
            "price": None if n % 23 == 0 else Decimal(n * 7919 % 10_000_000).scaleb(-2),
            "at": _START + n * _MILLISECOND,
            "shop": f"shop {n % 7}",
        }


def _write_parquet(folder: Path, count: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    folder.mkdir()
    schema = pa.schema(
        {"id": pa.int64(), "name": pa.string(), "price": pa.decimal128(12, 2), "at": pa.timestamp("ms", "UTC"),
         "shop": pa.string()}
    )  # fmt: skip
    table = pa.Table.from_pylist(list(_rows(count)), schema)
    size = -(-count // _FILES)
    for number in range(_FILES):
        pa.parquet.write_table(table.slice(number * size, size), folder / f"{number}.parquet")


def _text(value: dt.datetime) -> str:
    return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
