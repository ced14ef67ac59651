"""A local user who may write in an allowed folder: no symbolic link, whenever it is created, leads a connector or a
config provider out of the folder."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import text

from runtime.api.errors import ConfigError, ConnectError
from runtime.config.providers import providers
from runtime.connectors.file_sink import FileStreamSinkTask
from runtime.connectors.file_source import FileStreamSourceTask
from runtime.connectors.files.folder_store import FileError, FolderStore
from runtime.connectors.files.location import FileLocation
from runtime.connectors.jdbc.connection_config import ConnectionSettings
from runtime.connectors.jdbc.database import Database
from runtime.engine.driver.session.allowed_paths import check_files
from runtime.engine.driver.session.operations import SessionOperations
from runtime.engine.driver.session.record_query.service import RecordQueries
from runtime.engine.driver.session.server import SessionCaller
from runtime.engine.driver.session.source.streams import SourceStreams
from runtime.engine.driver.session.spark_session import SharedSession
from runtime.system.allowed_folders import AllowedFolders, OutsideError, limit_files
from tests.support.connect import Connect
from tests.support.tasks.task_contexts import StoredOffsets, started
from tests.support.workers import StartWorker

PACKAGE = "org.apache.kafka.common.config.provider."


@pytest.fixture
def allowed(tmp_path: Path) -> Iterator[Path]:
    """The allowed folder of this process, beside a folder `outside` with the file `secret`."""
    for name in ("allowed", "outside"):
        (tmp_path / name).mkdir()
    (tmp_path / "outside" / "secret").write_text("key=S3cretOutside\n")
    limit_files([str(tmp_path / "allowed")])
    yield tmp_path / "allowed"
    limit_files([])


class SwappedAfterCheck:
    """Resolves a path, and then replaces `victim`, a file or folder, by a link to `target`."""

    def __init__(self, victim: Path, target: Path) -> None:
        self._victim, self._target = victim, target

    def __call__(self, path: Path) -> Path:
        real = path.resolve()
        if self._victim.exists():
            self._victim.rename(self._victim.with_name("moved away"))
        self._victim.symlink_to(self._target)
        return real


@pytest.mark.parametrize(("victim", "target"), [("folder/secret", "outside/secret"), ("folder", "outside")])
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC])
def test_a_link_that_is_swapped_between_check_and_use_leads_nowhere(
    victim: str, target: str, flags: int, allowed: Path
) -> None:
    (allowed / "folder").mkdir()
    (allowed / "folder" / "secret").write_text("key=inside\n")
    folders = AllowedFolders([allowed], resolve=SwappedAfterCheck(allowed / victim, allowed.parent / target))
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        folders.open(allowed / "folder" / "secret", flags)
    assert (allowed.parent / "outside" / "secret").read_text() == "key=S3cretOutside\n"


def test_a_folder_that_is_created_through_a_swapped_link_stays_inside(allowed: Path) -> None:
    (allowed / "folder").mkdir()
    folders = AllowedFolders([allowed], resolve=SwappedAfterCheck(allowed / "folder", allowed.parent / "outside"))
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        folders.open_folder(allowed / "folder" / "new" / "inner", create=True)
    assert [path.name for path in (allowed.parent / "outside").iterdir()] == ["secret"]


def test_a_config_provider_reads_through_no_link(allowed: Path) -> None:
    (allowed / "link").symlink_to(allowed.parent / "outside")
    for provider, variable in (("File", "${f:%s/link/secret:key}"), ("Directory", "${f:%s/link:secret}")):
        params = {"config.providers": "f", "config.providers.f.class": f"{PACKAGE}{provider}ConfigProvider"}
        made = providers({**params, "config.providers.f.param.allowed.paths": str(allowed)})
        with pytest.raises(ConfigError, match=r"allowed\.paths"):
            made.resolve({"k": variable % allowed})


def test_a_config_provider_reads_no_file_without_end() -> None:
    """An administrator, or whoever may replace a file, would fill the worker's memory."""
    made = providers({"config.providers": "f", "config.providers.f.class": f"{PACKAGE}FileConfigProvider"})
    with pytest.raises(ConfigError, match="/dev/zero is larger than the 16 MiB"):
        made.resolve({"k": "${f:/dev/zero:key}"})


def store_in(folder: Path) -> FolderStore:
    return FolderStore(FileLocation.of({"url": str(folder)}))


def test_files_behind_a_link_are_neither_listed_nor_read_nor_moved(allowed: Path) -> None:
    (allowed / "link").symlink_to(allowed.parent / "outside")
    (allowed / "inside").write_text("x")
    store = store_in(allowed)
    assert [file.path for file in store.list_files()] == ["inside"]
    for use in (store.open_file, store.read, store.delete, lambda path: store.open_stream(path, None)):
        with pytest.raises(FileError, match=r"headrace\.file\.paths"):
            use("link/secret")
    with pytest.raises(FileError, match=r"headrace\.file\.paths"):
        store.move("link/secret", str(allowed / "done"))
    with pytest.raises(FileError, match=r"headrace\.file\.paths"):
        store.move("inside", str(allowed.parent / "outside"))
    with pytest.raises(FileError, match=r"headrace\.file\.paths"):
        store.write("link/new", lambda file: None)
    assert (allowed.parent / "outside" / "secret").exists() and (allowed / "inside").exists()


@pytest.mark.parametrize("links", [{"file"}, {"file.torn"}])
def test_a_sink_of_lines_writes_through_no_link(links: set[str], allowed: Path) -> None:
    for name in links:
        (allowed / name).symlink_to(allowed.parent / "outside" / "secret")
    if "file" not in links:
        (allowed / "file").write_text("complete\nincompl")
    with pytest.raises((ConnectError, OutsideError), match=r"headrace\.file\.paths"):
        FileStreamSinkTask().start({"file": str(allowed / "file")})
    assert (allowed.parent / "outside" / "secret").read_text() == "key=S3cretOutside\n"


def test_a_source_of_lines_reads_through_no_link(allowed: Path) -> None:
    (allowed / "file").symlink_to(allowed.parent / "outside" / "secret")
    task: Any = started(FileStreamSourceTask(), {"file": str(allowed / "file"), "topic": "t"}, StoredOffsets())
    with pytest.raises(ConnectError, match=r"headrace\.file\.paths"):
        task.poll()
    task.stop()


def test_links_within_the_folder_may_be_used(allowed: Path) -> None:
    (allowed / "real").mkdir()
    (allowed / "link").symlink_to("real")
    store = store_in(allowed / "link")
    assert store.write("a/b", lambda file: None) == 0 and store.read("a/b") == b""
    assert (allowed / "real" / "a" / "b").exists()


@pytest.mark.soak
def test_a_task_of_a_worker_reads_through_no_link(worker: StartWorker, tmp_path: Path) -> None:
    """The file is missing when the connector is created."""
    (folder := tmp_path / "allowed").mkdir()
    (secret := tmp_path / "secret").write_text("S3cretOutside\n")
    connect = Connect(worker({"headrace.file.paths": str(folder)}))
    connect.source("c", str(folder / "file"), "neighbour-links")
    (folder / "file").symlink_to(secret)
    connect.wait("c", "RUNNING", ["FAILED"])
    assert "not below one of headrace.file.paths" in connect.status("c")["tasks"][0]["trace"]


def database_in(folder: Path, path: str = "data.db", parameters: str = "") -> Database:
    settings = ConnectionSettings(f"sqlite:///{folder / path}{parameters}", None, None, attempts=3, backoff=0)
    return Database(settings, sleep=lambda seconds: None)


def test_sqlite_opens_and_creates_no_database_behind_a_link(allowed: Path) -> None:
    """Links that are created when the configuration has been checked."""
    outside = allowed.parent / "outside"
    with closing(sqlite3.connect(outside / "data.db")) as secret:
        secret.execute("CREATE TABLE secret (a)")
    size = (outside / "data.db").stat().st_size
    (allowed / "data.db").symlink_to(outside / "data.db")
    (allowed / "new.db").symlink_to(outside / "new.db")
    (allowed / "folder").symlink_to(outside)
    for path, parameters in [("data.db", ""), ("new.db", ""), ("folder/data.db", ""), ("folder/new.db", "")]:
        with pytest.raises(ConnectError, match=r"not below one of headrace\.file\.paths") as refused:
            database_in(allowed, path, parameters).connect()
        assert "attempts" not in str(refused.value)
    assert sorted(file.name for file in outside.iterdir()) == ["data.db", "secret"]
    assert (outside / "data.db").stat().st_size == size


def test_a_database_behind_a_link_that_is_swapped_before_sqlite_opens_it_is_not_used(
    allowed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the connector's check, and before SQLite resolves the path itself."""
    outside = allowed.parent / "outside"
    sqlite3.connect(outside / "data.db").close()
    database = database_in(allowed / "folder")
    (allowed / "folder").mkdir()

    def swap(engine: Any) -> Any:
        (allowed / "folder").rename(allowed / "moved away")
        (allowed / "folder").symlink_to(outside)
        return connect(engine)

    connect = type(database.engine).connect
    monkeypatch.setattr(type(database.engine), "connect", swap)
    with pytest.raises(ConnectError, match=r"not below one of headrace\.file\.paths"):
        database.connect()


def test_a_database_in_the_folder_is_created_and_used(allowed: Path) -> None:
    (allowed / "real").mkdir()
    (allowed / "link").symlink_to("real")
    with closing(database_in(allowed, "link/data.db")) as database:
        database.connect().execute(text("CREATE TABLE t (a)"))
    assert (allowed / "real" / "data.db").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("place", "key"),
    [
        ("target", {"path": "LINK"}),
        ("target", {"path": "file://LINK/inner"}),
        ("target", {"options": {"PATH": "LINK"}}),
        ("target", {"options": {"fs.file.impl": "x"}}),
        ("target", {"table": "parquet.`LINK`"}),
        ("source", {"path": "LINK"}),
        ("source", {"checkpoint": "file:LINK"}),
    ],
)
def test_spark_gets_no_request_for_a_path_behind_a_link(place: str, key: dict[str, Any], allowed: Path) -> None:
    """The link is created when the configuration has been checked; or a slot on another machine names the path."""
    (allowed / "link").symlink_to(allowed.parent / "outside")
    named = json.dumps({"options": {}, **key})
    request = {"op": "write", place: json.loads(named.replace("LINK", str(allowed / "link")))}
    session = SessionOperations(
        SharedSession(None), SourceStreams(SharedSession(None), allowed, 1), RecordQueries(SharedSession(None), allowed)
    )
    with pytest.raises(PermissionError, match=r"headrace\.file\.paths"):
        session.execute(SessionCaller("c", "g", lambda: False), request)
    limit_files([])
    with pytest.raises((AttributeError, KeyError)):  # there is no session, which it reaches
        session.execute(SessionCaller("c", "g", lambda: False), request)


@pytest.mark.parametrize(("inside", "refused"), [("in/a b", ""), ("in/link", "headrace.file.paths")])
def test_spark_reads_no_file_behind_a_link(inside: str, refused: str, allowed: Path) -> None:
    """The link is beside the files in the folder of the source. Spark names the files that it has found as URIs."""
    (allowed / "in").mkdir()
    (allowed / "in" / "a b").write_text("x")
    (allowed / "in" / "link").symlink_to(allowed.parent / "outside" / "secret")

    class Frame:
        def inputFiles(self) -> list[str]:
            return [f"file://{quote(str(allowed / inside))}", "hdfs://host/outside"]

    with pytest.raises(OutsideError, match=refused) if refused else nullcontext():
        check_files(Frame())


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_source_of_spark_reads_through_no_link(worker: StartWorker, tmp_path: Path) -> None:
    (folder := tmp_path / "allowed").mkdir()
    (tmp_path / "secret").write_text("S3cretOutside\n")
    (folder / "in").mkdir()
    (folder / "in" / "lines").write_text("inside\n")
    (folder / "in" / "link").symlink_to(tmp_path / "secret")
    connect = Connect(worker({"headrace.file.paths": str(folder)}))
    connect.create("c", {
        "connector.class": "headrace.SparkSourceConnector", "topic": "neighbour-links-spark", "spark.mode": "once",
        "spark.format": "text", "spark.path": str(folder / "in"), "spark.checkpoint": str(folder / "checkpoint"),
    })  # fmt: skip
    connect.wait("c", "RUNNING", ["FAILED"])
    assert "not below one of headrace.file.paths" in connect.status("c")["tasks"][0]["trace"]
