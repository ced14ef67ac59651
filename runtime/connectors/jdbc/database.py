"""The connection of a task or connector to its database."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Mapping

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from runtime.api.errors import ConfigError, ConnectError, RetriableError
from runtime.connectors.jdbc.catalog.fence import SOURCE_NAME
from runtime.connectors.jdbc.connection_config import ConnectionSettings
from runtime.connectors.jdbc.errors import Fault, fault_of, message_of
from runtime.connectors.jdbc.types import UndecodedText
from runtime.connectors.jdbc.url_parameters import local_paths
from runtime.connectors.jdbc.urls import database_url
from runtime.system.allowed_folders import OutsideError, allowed_folders

_log = logging.getLogger(__name__)

_PACKAGES = {
    "psycopg": "psycopg[binary]",
    "psycopg2": "psycopg2-binary",
    "pymysql": "PyMySQL",
    "MySQLdb": "mysqlclient",
}
"""Packages of drivers whose names differ from those of their modules."""

_WITHOUT_FILES: Mapping[str, dict[str, object]] = {
    "mariadbconnector": {"local_infile": False},
    "mysqlconnector": {"allow_local_infile": False},
    "mysqldb": {"local_infile": 0},
    "pymysql": {"local_infile": False},
}
"""With these arguments drivers of MySQL refuse to send the files that a server requests; the C libraries of some would
send them otherwise."""


class Database:
    """Connects when needed, with one connection at a time."""

    def __init__(
        self,
        settings: ConnectionSettings,
        sleep: Callable[[float], object] = time.sleep,
        timeout: int = 10,
        reads_only: bool = False,
    ) -> None:
        """`sleep` waits between two attempts to connect, of which each takes at most `timeout` seconds, unless the URL
        has another limit. `reads_only` makes a session that sources do not wait for, where the database lists it.
        ConfigError for an invalid URL or a missing driver."""
        self._settings, self._sleep = settings, sleep
        password = settings.password.value if settings.password is not None else None
        url = database_url(settings.url, settings.user, password)
        self._secrets = tuple(str(secret) for secret in (password, url.password) if secret)
        self._reads_only = reads_only
        self.engine = _engine(url, timeout, SOURCE_NAME if reads_only else "headrace")
        self._connection: Connection | None = None

    @property
    def dialect(self) -> str:
        """SQLAlchemy's name of the kind of database: postgresql, sqlite, …"""
        return self.engine.dialect.name

    def connection(self) -> Connection:
        """The open connection, or a new one after one attempt; RetriableError if the database is not available."""
        if self._connection is None:
            try:
                self._connection = self._connected()
            except OutsideError as error:
                raise ConnectError(f"The database file is {error.strerror}: {error.filename}") from None
            except (SQLAlchemyError, OSError) as error:
                raise RetriableError(f"Cannot connect to the database: {self.message(error)}") from None
        return self._connection

    def connect(self) -> Connection:
        """The open connection, or a new one after at most `connection.attempts` attempts; ConnectError after those."""
        attempts = self._settings.attempts
        for attempt in range(1, attempts + 1):
            try:
                return self.connection()
            except RetriableError as error:
                if attempt == attempts:
                    raise ConnectError(f"{error} ({attempts} attempts)") from None
                _log.warning("%s; attempt %d of %d", error, attempt, attempts)
                self._sleep(self._settings.backoff)
        raise AssertionError("connection.attempts is at least 1")

    def discard(self) -> None:
        """Closes the connection, which may be broken; the next call of connection() opens another."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            _forget_rows(connection)
            connection.invalidate()
            connection.close()
        except Exception as error:  # the connection is given up in any case
            _log.debug("Closing the connection failed: %s", self.message(error))

    def close(self) -> None:
        """Closes the connection and everything else."""
        self.discard()
        self.engine.dispose()

    def message(self, error: BaseException) -> str:
        """The text of an error, without passwords."""
        return message_of(error, self._secrets)

    def translated(self, error: Exception, action: str) -> ConnectError:
        """The error for the worker: RetriableError if `action` may succeed later; `action` begins the message."""
        lost = fault_of(error) is Fault.RETRIABLE
        kind = RetriableError if lost else ConnectError
        return kind(f"{action}: {self.message(error)}")

    def _connected(self) -> Connection:
        self._check_files()
        connection = self.engine.connect()
        try:
            if self.dialect == "sqlite":
                _check_opened(connection)
            if self.dialect == "postgresql":
                connection.execute(text("SET TIME ZONE 'UTC'"))
                connection.commit()
            elif self.dialect in ("mysql", "mariadb"):  # whose default isolation level hides new rows
                connection.execute(text("SET time_zone = '+00:00'"))
                connection.execute(text("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"))
                if self._reads_only:
                    connection.execute(text("SET SESSION TRANSACTION READ ONLY"))
                connection.commit()
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_files(self) -> None:
        """`headrace.file.paths`: links may have changed since the configuration was checked."""
        url, folders = self.engine.url, allowed_folders()
        for path in local_paths(url) if folders.are_limited else ():
            if self.dialect == "sqlite":
                folders.prepare(path or "", create="mode" not in url.query)
            else:
                folders.check(path)


def _engine(url: URL, timeout: int, application: str) -> Engine:
    try:
        engine = create_engine(url, poolclass=NullPool, connect_args=_arguments(url, timeout, application))
    except NoSuchModuleError:
        raise ConfigError(
            f"connection.url names the database {url.drivername}, for which SQLAlchemy has no dialect: install the "
            "package that has one into the worker's environment"
        ) from None
    except ModuleNotFoundError as error:
        module = error.name or url.drivername
        raise ConfigError(
            f"The driver for {url.drivername} is missing: run pip install '{_PACKAGES.get(module, module)}' in the "
            "worker's environment"
        ) from None
    except (ArgumentError, ImportError, ValueError) as error:
        raise ConfigError(f"connection.url cannot be used: {message_of(error, _passwords(url))}") from None
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    """ATTACH and VACUUM INTO would open files that no check has seen; a text that is not UTF-8 would make the rows of
    its batch unreadable."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.text_factory = UndecodedText.unless_valid


def _check_opened(connection: Connection) -> None:
    """SQLite has resolved the links of the path once more: the file that it has opened must be an allowed one."""
    if allowed_folders().are_limited:
        for _, _, file in connection.execute(text("PRAGMA database_list")):
            if file:  # empty for a database in memory
                allowed_folders().check(file)
        connection.rollback()


def _forget_rows(connection: Connection) -> None:
    """PyMySQL otherwise reads the rest of an unfinished result from the closed connection, and prints the error."""
    result = getattr(connection.connection.driver_connection, "_result", None)
    if connection.dialect.driver == "pymysql" and result is not None:
        result.unbuffered_active = False


def _arguments(url: URL, timeout: int, application: str) -> dict[str, object]:
    if url.get_backend_name() == "postgresql" and url.get_driver_name() == "psycopg":
        given = {name for name in ("connect_timeout", "application_name") if name in url.query}
        defaults: dict[str, object] = {"connect_timeout": timeout, "application_name": application}
        return {name: value for name, value in defaults.items() if name not in given}
    if url.get_backend_name() in ("mysql", "mariadb"):
        return _WITHOUT_FILES.get(url.get_driver_name(), {})
    return {"timeout": timeout} if url.get_backend_name() == "sqlite" else {}


def _passwords(url: URL) -> tuple[str, ...]:
    return (str(url.password),) if url.password else ()
