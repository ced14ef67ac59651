"""ADMIN, with URLs of databases: no driver reads, writes or loads what its parameters name."""

from __future__ import annotations

import socket
import sqlite3
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from runtime.api.errors import ConfigError, ConnectError
from runtime.connectors.jdbc.connection_config import URL, ConnectionSettings
from runtime.connectors.jdbc.database import Database
from runtime.connectors.jdbc.source_connector import JdbcSourceConnector
from runtime.connectors.jdbc.urls import database_url
from runtime.herder.configs.checks import FilePathLimit

SOURCE = "headrace.JdbcSourceConnector"


@pytest.mark.parametrize(
    ("url", "parameter"),
    [
        ("mysql+pymysql://h/d?local_infile=1", "local_infile"),
        ("mysql://h/d?read_default_file=/etc/my.cnf", "read_default_file"),
        ("mysql://h/d?read_default_group=client", "read_default_group"),
        ("mysql://h/d?init_command=SELECT+1", "init_command"),
        ("mysql://h/d?client_flag=128", "client_flag"),
        ("mysql+mysqlconnector://h/d?allow_local_infile=1", "allow_local_infile"),
        ("mysql+mysqlconnector://h/d?option_files=/etc/my.cnf", "option_files"),
        ("mysql+mysqldb://h/d?plugin_dir=/tmp", "plugin_dir"),
        ("mariadb://h/d?LOCAL_INFILE=1", "LOCAL_INFILE"),
        ("postgresql://h/d?service=x", "service"),
        ("postgresql://h/d?servicefile=/tmp/x", "servicefile"),
        ("postgresql://h/d?passfile=/etc/passwd", "passfile"),
        ("postgresql://h/d?sslkeylogfile=/tmp/x", "sslkeylogfile"),
        ("postgresql://h/d?options=-c%20session_preload_libraries%3Dx", "options"),
        ("postgresql://h/d?options=-csearch_path%3Dx%20-c%20role%3Dy", "options"),
        ("jdbc:postgresql://h/d?currentSchema=x%20-c%20role%3Dy", "options"),
        ("postgresql+pg8000://h/d?unix_sock=/tmp/x", "unix_sock"),
        ("mssql+pyodbc://h/d?odbc_connect=DRIVER%3D/tmp/x.so", "odbc_connect"),
        ("mssql+pyodbc://h/d?driver=/tmp/x.so", "driver"),
        ("mssql://h/d?driver=/tmp/x.so", "driver"),
        ("mssql+pymssql://h/d?conn_properties=DROP", "conn_properties"),
        ("oracle://h/?config_dir=/tmp", "config_dir"),
        ("oracle://h/?service_name=x)(SECURITY=(MY_WALLET_DIRECTORY=/tmp)", "parentheses"),
        ("sqlite:////tmp/x.db?vfs=unix-none", "vfs"),
        ("sqlite:///file:/tmp/x.db%3Fvfs=unix-none?uri=true", "name of the file"),
        ("sqlite:///x.db?plugin=code", "plugin"),
        ("duckdb:////etc/x?access_mode=read_write", "access_mode"),
        ("snowflake://h/d?private_key_file=/tmp/x", "private_key_file"),
    ],
)  # fmt: skip
def test_a_url_with_a_parameter_that_reads_files_or_runs_code_is_refused_by_name(url: str, parameter: str) -> None:
    (value,) = [v for v in JdbcSourceConnector.config_def.validate({URL: url}) if v.name == URL]
    assert any(parameter in error and url not in error for error in value.errors), value.errors
    with pytest.raises(ConfigError, match=parameter):
        Database(ConnectionSettings(url, None, None, 1, 0.0))


@pytest.mark.parametrize(
    "url",
    [
        "mysql://h/d?charset=utf8mb4&ssl_ca=/etc/ca.pem",
        "postgresql://h/d?options=-csearch_path%3Da,b%20-c%20statement_timeout%3D5s&sslmode=verify-full&sslrootcert=system",
        "postgresql:///d?host=/var/run/postgresql",
        "mssql+pyodbc://h/d?driver=ODBC+Driver+18+for+SQL+Server&Encrypt=yes",
        "mssql://h%5CSQLEXPRESS/d",
        "oracle://h/?service_name=shop.example.com",
        "sqlite:///file:/tmp/x.db?mode=ro&uri=true",
        "snowflake://me:secret@account/shop/public",
    ],
)  # fmt: skip
def test_usual_parameters_are_accepted(url: str) -> None:
    database_url(url)


@pytest.mark.parametrize("parameters", ["", "?local_infile=1", "?client_flag=128&local_infile=True"])
def test_a_server_of_mysql_gets_no_file_of_the_worker(parameters: str, tmp_path: Path) -> None:
    """A server may answer any statement with the request for a file."""
    (file := tmp_path / "secret").write_text("S3cretOfTheWorker")
    with _greedy_server(file) as (port, received):
        url = f"mysql+pymysql://u:p@127.0.0.1:{port}/d{parameters}"
        with pytest.raises(Exception, match=r"LOCAL|local_infile|client_flag"):
            Database(ConnectionSettings(url, None, None, 1, 0.0)).connection()
    assert b"S3cretOfTheWorker" not in b"".join(received)


@contextmanager
def _greedy_server(file: Path) -> Iterator[tuple[int, list[bytes]]]:
    """A server that answers each statement with a request for `file`. Yields its port, and what clients send."""
    received: list[bytes] = []

    def serve() -> None:
        with suppress(OSError), listener.accept()[0] as client:  # which may never connect, or close early
            client.settimeout(5)
            _greet(client)
            while data := client.recv(65536):
                received.append(data)
                is_setting = b"AUTOCOMMIT" in data or b"SET NAMES" in data
                client.sendall(_packet(1, _OK if is_setting else b"\xfb" + bytes(file)))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], received
    thread.join(10)


_OK = b"\x00\x00\x00\x02\x00\x00\x00"


def _greet(client: socket.socket) -> None:
    """Accepts any user, with the capability LOCAL_FILES."""
    flags = 0x00080000 | 0x8000 | 0x0200 | 0x0080 | 0x0008 | 0x0001
    greeting = b"\x0a5.7.0\x00" + struct.pack("<I", 1) + b"12345678\x00" + struct.pack("<H", flags & 0xFFFF)
    greeting += b"\x2d" + struct.pack("<HH", 2, flags >> 16) + bytes([21]) + bytes(10) + b"123456789012\x00"
    client.sendall(_packet(0, greeting + b"mysql_native_password\x00"))
    client.recv(65536)
    client.sendall(_packet(2, _OK))


def _packet(number: int, body: bytes) -> bytes:
    return struct.pack("<I", len(body))[:3] + bytes([number]) + body


@pytest.mark.parametrize("statement", ["ATTACH DATABASE '{}' AS other", "VACUUM INTO '{}'"])
def test_a_query_of_sqlite_opens_no_other_file(statement: str, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    sqlite3.connect(tmp_path / "own.db").close()
    database = Database(ConnectionSettings(f"sqlite:///{tmp_path}/own.db", None, None, 1, 0.0))
    with pytest.raises(ConnectError, match="other files"):
        try:
            database.connection().exec_driver_sql(statement.format(other))
        except Exception as error:
            raise database.translated(error, "Query") from None
    database.close()
    assert not other.exists()


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////etc/shop.db", "sqlite:///etc/shop.db", "jdbc:sqlite:/etc/shop.db",
        "jdbc:sqlite:file:/etc/shop.db?x=y",
        "sqlite:///@/../shop.db", "sqlite:///@/link/shop.db", "sqlite:///file:/etc/shop.db?uri=true",
        "sqlite:///file:@/%252e%252e/shop.db?uri=true", "sqlite+pysqlite:////etc/shop.db", " sqlite:////etc/shop.db",
        "duckdb:////etc/shop.db", "postgresql:///d?host=/etc/x", "postgresql://h/d?sslkey=/etc/x",
        "mysql://h/d?unix_socket=/etc/x", "mysql://h/d?ssl_ca=/etc/x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("connector", [SOURCE, "JdbcSink"])
def test_databases_in_files_have_to_be_below_the_allowed_folders(connector: str, url: str, tmp_path: Path) -> None:
    (folder := tmp_path / "allowed").mkdir()
    (folder / "link").symlink_to(tmp_path)
    config = {"connector.class": connector, URL: url.replace("@", str(folder))}
    assert [key for key, _ in FilePathLimit([str(folder)]).refused(config)] == [URL]


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///@/shop.db", "jdbc:sqlite:@/shop.db", "sqlite:///file:@/shop.db?uri=true", "sqlite://",
        "sqlite:///:memory:", "jdbc:postgresql://h/d", "postgresql://h/d?sslrootcert=system",
    ],
)  # fmt: skip
def test_databases_below_the_allowed_folders_and_on_servers_are_accepted(url: str, tmp_path: Path) -> None:
    config = {"connector.class": SOURCE, URL: url.replace("@", str(tmp_path))}
    assert list(FilePathLimit([str(tmp_path)]).refused(config)) == []


def test_a_validation_creates_no_database(tmp_path: Path) -> None:
    """The names of tables are recommended, for which validation connects."""
    file = tmp_path / "new.db"
    JdbcSourceConnector().validate({URL: f"sqlite:///{file}", "mode": "bulk", "topic.prefix": "t-"})
    assert not file.exists()
