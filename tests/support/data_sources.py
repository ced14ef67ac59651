"""Data sources of PySpark's Python API for tests."""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
    SimpleDataSourceStreamReader,
    WriterCommitMessage,
)
from pyspark.sql.types import Row, StructType

from tests.support.waiting import wait_until


class Numbers(DataSource):
    """The numbers up to the option `total`, in micro-batches of `step` with several partitions. `commits`: a file for
    the reader's commits; `fail`: the number at which the reader fails; `cost`: rounds of hashing for each number;
    `together`: a folder for a file of each partition, none of which is read before all are there."""

    def schema(self) -> str:
        return "n BIGINT NOT NULL, text STRING"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return NumbersReader(self.options)


class NumbersPartition(InputPartition):
    """Numbers from `start` to before `end`."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(None)
        self.start, self.end = start, end


class NumbersReader(DataSourceStreamReader):
    """Plans micro-batches from `start` on, as Spark does since 4.2."""

    def __init__(self, options: Any) -> None:
        self._total, self._step = int(options.get("total", "100")), int(options.get("step", "40"))
        self._partitions = int(options.get("partitions", "3"))
        self._commits = options.get("commits")
        self._fail, self._delay = int(options.get("fail", "-1")), float(options.get("delay", "0"))
        self._cost = int(options.get("cost", "0"))
        self._together = options.get("together")

    def initialOffset(self) -> dict[str, Any]:
        return {"n": 0}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        return {"n": min(start["n"] + self._step, self._total)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        bounds = [start["n"] + (end["n"] - start["n"]) * p // self._partitions for p in range(self._partitions + 1)]
        return [NumbersPartition(*pair) for pair in pairwise(bounds)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        assert isinstance(partition, NumbersPartition)
        time.sleep(self._delay)
        if self._together:
            folder = Path(self._together)
            (folder / str(partition.start)).touch()
            wait_until(lambda: len(list(folder.iterdir())) == self._partitions, 60, "the other partitions")
        for n in range(partition.start, partition.end):
            if n == self._fail:
                raise ValueError(f"number {n} cannot be read")
            for _ in range(self._cost):
                hash(str(n))
            yield n, None if n % 10 == 0 else f"number {n}"

    def commit(self, end: dict[str, Any]) -> None:
        if self._commits:
            with Path(self._commits).open("a") as file:
                file.write(json.dumps(end) + "\n")


class NumbersOfSpark40(Numbers):
    """A reader with the methods of Spark 4.0 and 4.1, which most packages have."""

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return NumbersReaderOfSpark40(self.options)


class NumbersReaderOfSpark40(NumbersReader):
    """Knows the end of the data only."""

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]  # the signature of these versions
        return {"n": self._total}


class NumbersOfAnySpark(Numbers):
    """A reader that accepts both signatures, which is the new one for Spark."""

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return NumbersReaderOfAnySpark(self.options)


class NumbersReaderOfAnySpark(NumbersReader):
    """Fails if it is called as by Spark 4.0 and 4.1."""

    def latestOffset(self, *args: Any) -> dict[str, Any]:
        start, limit = args
        return super().latestOffset(start, limit)


class ArrowNumbers(Numbers):
    """Numbers as Arrow record batches."""

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return ArrowNumbersReader(self.options)


class ArrowNumbersReader(NumbersReader):
    """Each partition as one batch."""

    def read(self, partition: InputPartition) -> Iterator[Any]:
        import pyarrow as pa

        rows = list(super().read(partition))
        yield pa.RecordBatch.from_arrays([pa.array([row[at] for row in rows]) for at in (0, 1)], names=["n", "text"])


class Squares(DataSource):
    """Has a batch reader only: the squares up to the option `total` in two partitions, and the number of the read.
    `reads`: a file with a line for each read."""

    @classmethod
    def name(cls) -> str:
        return "squares"

    def schema(self) -> str:
        return "n BIGINT NOT NULL, square BIGINT, reads INT"

    def reader(self, schema: StructType) -> DataSourceReader:
        return SquaresReader(self.options)


class SquaresReader(DataSourceReader):
    """Plans a read."""

    def __init__(self, options: Any) -> None:
        self._total, file = int(options.get("total", "10")), Path(options["reads"])
        with file.open("a") as stream:
            stream.write("read\n")
        self._reads = len(file.read_text().splitlines())

    def partitions(self) -> Sequence[InputPartition]:
        middle = self._total // 2
        return [NumbersPartition(0, middle), NumbersPartition(middle, self._total)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        assert isinstance(partition, NumbersPartition)
        for n in range(partition.start, partition.end):
            yield n, n * n, self._reads


class Letters(DataSource):
    """A simple reader: three letters in each call."""

    def schema(self) -> str:
        return "letter STRING, at TIMESTAMP, price DECIMAL(10,2), tags ARRAY<STRING>, place STRUCT<x: INT, y: INT>"

    def simpleStreamReader(self, schema: StructType) -> SimpleDataSourceStreamReader:
        return LettersReader()


class LettersWithoutSchema(DataSource):
    """Letters that need the schema from the configuration."""

    def simpleStreamReader(self, schema: StructType) -> SimpleDataSourceStreamReader:
        return LettersReader()


class LettersReader(SimpleDataSourceStreamReader):
    """The letters of the alphabet."""

    def initialOffset(self) -> dict[str, Any]:
        return {"position": 0}

    def read(self, start: dict[str, Any]) -> tuple[Iterator[tuple[Any, ...]], dict[str, Any]]:
        end = {"position": min(start["position"] + 3, 26)}
        return self.readBetweenOffsets(start, end), end

    def readBetweenOffsets(self, start: dict[str, Any], end: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        for n in range(start["position"], end["position"]):
            at = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC).astimezone().replace(tzinfo=None)
            yield chr(97 + n), at, Decimal(n), [str(n)], Row(x=n, y=None)


class RowFiles(DataSource):
    """A writer of the folder `path`: each write() leaves a hidden file, and commit() makes it visible."""

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        return RowFilesWriter(self.options["path"])


class ArrowRowFiles(DataSource):
    """RowFiles for Arrow record batches."""

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        return ArrowRowFilesWriter(self.options["path"])


class WrittenFile(WriterCommitMessage):
    """A file that has been written."""

    def __init__(self, name: str) -> None:
        self.name = name


class RowFilesWriter(DataSourceStreamWriter):
    """Rows as lines of JSON."""

    def __init__(self, path: str) -> None:
        self._folder = Path(path)
        self._count = 0

    def write(self, iterator: Iterator[Row]) -> WrittenFile:
        rows = [row.asDict(recursive=True) for row in iterator]
        if any(row.get("n") == -1 for row in rows):
            raise ValueError("a negative number")
        self._count += 1
        name = f"{time.monotonic_ns()}-{self._count}"
        (self._folder / f".{name}").write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))
        return WrittenFile(name)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        for message in messages:
            assert isinstance(message, WrittenFile)
            (self._folder / f".{message.name}").rename(self._folder / f"batch-{batchId}-{message.name}")

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        for message in messages:
            assert isinstance(message, WrittenFile)
            (self._folder / f".{message.name}").unlink()


class ArrowRowFilesWriter(DataSourceStreamArrowWriter, RowFilesWriter):
    """Receives record batches."""

    def write(self, iterator: Iterator[Any]) -> WrittenFile:
        return RowFilesWriter.write(self, (Row(**row) for batch in iterator for row in batch.to_pylist()))


def row_files(folder: Path) -> list[dict[str, Any]]:
    """The visible rows."""
    return [json.loads(line) for file in sorted(folder.glob("batch-*")) for line in file.read_text().splitlines()]
