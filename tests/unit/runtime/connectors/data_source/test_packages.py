"""DataSource with packages from PyPI: those that docs/connectors/data-source.md lists."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from runtime.connectors.data_source.source import DataSourceConnector
from runtime.connectors.data_source.source_task import DataSourceTask
from runtime.system.cache import cache_folder
from runtime.system.locks import exclusive
from tests.support.servers.http_endpoint import Answer, Received, http_server
from tests.support.tasks.task_contexts import started

_PAGE = Path(__file__).parents[5] / "docs" / "connectors" / "data-source.md"
_LISTED = re.compile(r"^\| `([\w-]+==[\w.]+)` \|", re.MULTILINE)
_DEPENDENCIES = ("faker==23.3.0", "tenacity==9.2.1", "requests==2.34.2", "charset_normalizer==3.5.3")


def listed_packages() -> list[str]:
    """The packages with their versions, as the page names them."""
    return _LISTED.findall(_PAGE.read_text(encoding="utf-8"))


def data_source_packages() -> Path:
    """A folder for sys.path with the listed packages and those of their dependencies that tests lack, installed once
    into the cache. Others, such as PySpark and pyarrow, are those of the tests."""
    wanted = [*listed_packages(), *_DEPENDENCIES]
    folder = cache_folder() / f"data-sources-{hashlib.sha256(' '.join(wanted).encode()).hexdigest()[:12]}"
    with exclusive(folder.with_suffix(".lock")):
        if not (folder / "complete").exists():
            command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
            subprocess.run([*command, *wanted], check=True, env={**os.environ, "PYTHONPATH": ""})
            (folder / "complete").touch()
    return folder


PEOPLE: list[dict[str, Any]] = [{"id": n, "name": f"n{n}"} for n in range(5)]


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(data_source_packages()))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def rows(source: str, mode: str, count: int, **options: str) -> list[dict[str, Any]]:
    """The first rows that a task reads, after the configuration has been checked."""
    config = {"topic": "t", "data.source": source, "data.source.mode": mode, "data.source.poll.interval.ms": "10"}
    schema = options.pop("schema", None)
    if schema is not None:
        config["data.source.schema"] = schema
    config |= {f"data.source.option.{name}": value for name, value in options.items()}
    assert [error for value in DataSourceConnector().validate(config) for error in value.errors] == []
    connector = DataSourceConnector()
    connector.start(config)
    task = started(DataSourceTask(), connector.task_configs(1)[0])
    values: list[dict[str, Any]] = []
    until = time.monotonic() + 20
    try:
        while len(values) < count and time.monotonic() < until:
            values += [record.value for record in task.poll() or ()]
            time.sleep(0.001)
    finally:
        task.stop()
    return values[:count]


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["once", "interval", "stream"])
@pytest.mark.parametrize(
    "name", ["fake", "pyspark_datasources.FakeDataSource", "pyspark_datasources.fake:FakeDataSource"]
)
def test_fake_people(packages: None, name: str, mode: str) -> None:
    made = rows(name, mode, 3, numRows="3")
    assert len(made) == 3 and all({"name", "date", "zipcode", "state"} == set(row) for row in made)


@pytest.mark.soak
def test_files_of_arrow(packages: None, tmp_path: Path) -> None:
    for part in range(2):
        table = pa.Table.from_pylist([{**row, "part": part} for row in PEOPLE])
        with pa.OSFile(str(tmp_path / f"{part}.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    made = rows("arrow", "once", 20, path=str(tmp_path))
    assert sorted(made, key=lambda row: (row["part"], row["id"])) == [
        {**row, "part": part} for part in range(2) for row in PEOPLE
    ]


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["once", "interval"])
def test_a_rest_api(packages: None, mode: str) -> None:
    def answer(request: Received) -> Answer:
        return 200, {}, PEOPLE

    with http_server(answer) as server:
        made = rows(
            "spark_rest_api_reader.RestApiDataSource",
            mode,
            5,
            url=f"{server.url}/people",
            schema="id BIGINT, name STRING",
        )
    assert made == PEOPLE


@pytest.mark.soak
def test_a_rest_api_is_followed(packages: None) -> None:
    def answer(request: Received) -> Answer:
        since = int(request.query.get("since", "-1"))
        return 200, {}, [row for row in PEOPLE if row["id"] > since]

    cursor = {"stream_cursor_field": "id", "stream_cursor_param": "since", "stream_initial_value": "-1"}
    cursor["stream_cursor_is_numeric"] = "true"
    with http_server(answer) as server:
        made = rows(
            "spark_rest_api_reader.RestApiDataSource", "stream", 5, url=f"{server.url}/people",
            schema="id BIGINT, name STRING", **cursor,
        )  # fmt: skip
    assert made == PEOPLE


@pytest.mark.soak
def test_xml(packages: None, tmp_path: Path) -> None:
    file = tmp_path / "people.xml"
    file.write_text("<all>" + "".join(f"<p><id>{r['id']}</id><name>{r['name']}</name></p>" for r in PEOPLE) + "</all>")
    columns = [
        {"name": "id", "kind": "text", "path": ["id"], "type": "int64"},
        {"name": "name", "kind": "text", "path": ["name"], "type": "utf8"},
    ]
    options = {"path": str(file), "rowTag": "p", "columns": json.dumps(columns)}
    assert rows("superxml.datasource.SuperXmlSource", "once", 5, **options) == PEOPLE


def test_the_page_lists_packages_with_versions() -> None:
    assert len(listed_packages()) >= 3
