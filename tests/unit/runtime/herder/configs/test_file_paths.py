"""`headrace.file.paths` and the bundled connectors that read and write files."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.herder.configs.checks import FilePathLimit

STREAM = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SOURCE, SINK, SPARK = "headrace.FilesSourceConnector", "FilesSink", "SparkSink"
POSTGRES = "headrace.PostgresCdcSourceConnector"


def refused(folder: Path, connector: str, **config: str) -> list[str]:
    """The keys that are refused if only `folder` may be used."""
    given = {key.replace("_", "."): value.replace("@", str(folder)) for key, value in config.items()}
    return [key for key, _ in FilePathLimit([str(folder)]).refused({"connector.class": connector, **given})]


@pytest.mark.parametrize(
    ("connector", "config", "keys"),
    [
        (STREAM, {"file": "@/in"}, []),
        (STREAM, {}, []),
        (STREAM, {"file": "@/../in"}, ["file"]),
        (STREAM, {"file": " /etc/passwd"}, ["file"]),
        (SOURCE, {"url": "@/in", "archive_url": "file://@/done"}, []),
        (SOURCE, {"url": "@/in", "archive_url": "/done"}, ["archive.url"]),
        (SOURCE, {"url": "file:///etc"}, ["url"]),
        (SOURCE, {"url": "FILE:///etc"}, ["url"]),
        (SOURCE, {"url": "file://host/etc"}, ["url"]),
        (SOURCE, {"url": "local:///etc"}, ["url"]),
        (SOURCE, {"url": "simplecache://a::file:///etc"}, ["url"]),
        (SOURCE, {"url": "dir://a/etc"}, ["url"]),
        (SINK, {"url": "@/a/../../out"}, ["url"]),
        (SINK, {"url": "@/link/out"}, ["url"]),
        (SINK, {"url": "@#/../../etc"}, []),  # the fragment is no part of the path
        (SINK, {"url": "s3://bucket/folder"}, []),
        (SINK, {"url": "sftp://host/folder"}, []),
        (SPARK, {"spark_path": "@/lake"}, []),
        (SPARK, {"spark_path": "file:@/lake"}, []),
        (SPARK, {"spark_path": "/lake"}, ["spark.path"]),
        (SPARK, {"spark_path": "lake"}, ["spark.path"]),
        (SPARK, {"spark_path": "File:/lake"}, ["spark.path"]),
        (SPARK, {"spark_path": "file://host/lake"}, ["spark.path"]),
        (SPARK, {"spark_path": "pfile:/lake"}, ["spark.path"]),
        (SPARK, {"spark_path": "@/link"}, ["spark.path"]),
        (SPARK, {"spark_path": "hdfs://nodes/lake"}, []),
        (SPARK, {"spark_path": "s3a://bucket/lake"}, []),
        (SPARK, {"spark_table": "sales.orders"}, []),
        (SPARK, {"spark_table": "parquet.`/lake`"}, ["spark.table"]),
        (SPARK, {"spark_option_path": "/lake"}, ["spark.option.path"]),
        (SPARK, {"spark_option_PATH": "@/../lake"}, ["spark.option.PATH"]),
        (SPARK, {"spark_option_path": "s3a://bucket/lake"}, []),
        (SPARK, {"spark_option_paths": '["/lake"]'}, ["spark.option.paths"]),
        (SPARK, {"spark_option_avroSchemaUrl": "/etc/schema"}, ["spark.option.avroSchemaUrl"]),
        (SPARK, {"spark_option_fs_x_impl": "LocalFileSystem", "spark_path": "x:///lake"}, ["spark.option.fs.x.impl"]),
        (POSTGRES, {"database_sslkey": "@/key", "database_sslrootcert": "system", "database_hostname": "db"}, []),
        (POSTGRES, {"database_sslkey": "/etc/key"}, ["database.sslkey"]),
        (POSTGRES, {"database_hostname": "db,/run/postgresql"}, ["database.hostname"]),
        ("HttpSource", {"http_manifest": "@/api.yaml"}, []),
        ("HttpSource", {"http_manifest": "/etc/passwd"}, ["http.manifest"]),
        ("HttpSource", {"http_manifest": "base_url: https://x\nstreams: []"}, []),
        ("org.example.JavaFileSink", {"file": "/etc/passwd"}, []),
    ],
)  # fmt: skip
def test_local_paths_have_to_be_below_a_folder(
    connector: str, config: dict[str, str], keys: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "allowed"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    assert refused(folder, connector, **config) == keys


def test_without_folders_every_path_is_allowed() -> None:
    config = {"connector.class": SPARK, "spark.path": "/lake", "spark.option.paths": "[]"}
    assert not list(FilePathLimit([]).refused(config))
