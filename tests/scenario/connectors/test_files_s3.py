"""FilesSink and FilesSource with a server of Amazon's S3 API."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from runtime.api.errors import ConnectError
from tests.support.servers.s3_server import BUCKET, S3Server, s3_server
from tests.support.tasks.files_sink import SinkDriver, records
from tests.support.tasks.files_source import SourceDriver


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with s3_server(tmp_path_factory.mktemp("s3")) as found:
        yield found


def _paths(server: S3Server, folder: str) -> list[str]:
    from pyarrow import fs

    found = server.file_system().get_file_info(fs.FileSelector(f"{BUCKET}/{folder}", recursive=True))
    return sorted(info.path.removeprefix(f"{BUCKET}/{folder}/") for info in found if info.is_file)


@pytest.mark.parametrize("file_format", ["parquet", "json", "csv", "avro"])
def test_files_are_written_and_read_again(server: S3Server, file_format: str) -> None:
    url = f"s3://{BUCKET}/{file_format}"
    sink = SinkDriver(url, {**server.config, "format": file_format, "flush.size": "4", "partition.field.name": "k"})
    rows = [{"k": str(n % 2), "n": str(n)} for n in range(9)]
    sink.put(records(rows))
    sink.commit_until(8)
    sink.stop()
    suffix = {"json": "json", "csv": "csv", "avro": "avro"}.get(file_format, "parquet")
    assert _paths(server, file_format) == [
        f"orders/k={k}/orders+0+{offset:012d}.{suffix}" for k in (0, 1) for offset in (k, 4 + k)
    ]
    found = SourceDriver(url, server.config).drain()
    assert sorted(row["n"] for row in found) == [str(n) for n in range(8)]


def test_a_large_file_is_uploaded_in_parts(server: S3Server) -> None:
    rows = [{"n": n, "text": f"{n:03d}" * 50_000} for n in range(100)]
    url = f"s3://{BUCKET}/large"
    sink = SinkDriver(url, {**server.config, "format": "json", "flush.size": "100"})
    sink.put(records(rows))
    sink.commit_until(100)
    sink.stop()
    info = server.file_system().get_file_info(f"{BUCKET}/large/orders/orders+0+000000000000.json")
    assert info.size > 15_000_000
    assert SourceDriver(url, server.config).drain() == rows


def test_files_and_cuts_of_the_clock_are_repeated_after_a_crash(server: S3Server) -> None:
    now = [0.0]
    url = f"s3://{BUCKET}/crash"
    config = {**server.config, "format": "json", "rotate.schedule.interval.ms": "1000"}
    rows = [{"n": n} for n in range(10)]
    for batches in ((0, 3, 7), (0, 10)):  # the first task commits nothing
        sink = SinkDriver(url, config, clock=lambda: now[0])
        for start, stop in pairwise(batches):
            sink.put(records(rows[start:stop], start))
            now[0] += 1
            sink.put([])
        sink.commit_until(batches[-1])
        sink.stop()
    assert SourceDriver(url, server.config).drain() == rows


def test_finished_objects_are_moved(server: S3Server) -> None:
    with server.file_system().open_output_stream(f"{BUCKET}/incoming/day/a.json") as out:
        out.write(b'{"n": 1}\n')
    more = {"finished.files": "archive", "archive.url": f"s3://{BUCKET}/archived"}
    source = SourceDriver(f"s3://{BUCKET}/incoming", {**server.config, **more})
    assert source.drain() == [{"n": 1}]
    source.task.commit()
    assert _paths(server, "archived") == ["day/a.json"]
    assert SourceDriver(f"s3://{BUCKET}/incoming", server.config).drain() == []


def test_an_object_that_is_replaced_by_a_longer_one_is_continued(server: S3Server) -> None:
    """The last row of an object needs no line break."""

    def put(text: bytes) -> None:
        with server.file_system().open_output_stream(f"{BUCKET}/growing/a.json") as out:
            out.write(text)

    url = f"s3://{BUCKET}/growing"
    put(b'{"n": 1}\n{"n": 2}')
    source = SourceDriver(url, server.config)
    assert source.drain() == [{"n": 1}, {"n": 2}]
    put(b'{"n": 1}\n{"n": 2}\n{"n": 3}')
    assert source.list_again()[2:] == [{"n": 3}]
    put(b'{"n": 1}\n{"n": 7}\n{"n": 3}\n{"n": 4}')
    with pytest.raises(ConnectError, match=r"a\.json has changed since its rows up to 3 were read"):
        SourceDriver(url, server.config, source.offsets).drain()


def test_a_missing_bucket_is_named_and_secrets_are_not(server: S3Server) -> None:
    sink = SinkDriver("s3://missing/x", {**server.config, "format": "json", "flush.size": "1", "upload.retries": "0"})
    with pytest.raises(ConnectError, match="Cannot write orders/orders") as raised:
        sink.put(records([{"n": 1}]))
        assert sink.context.commits.wait(20)
        sink.commit()
    sink.stop()
    assert "missing" in str(raised.value)
    assert server.config["s3.secret.access.key"] not in str(raised.value)
