"""Connections of libpq: for SQL, and for the replication protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runtime.api.config.types import Password
from runtime.api.errors import ConfigError, ConnectError, RetriableError
from runtime.connectors.sql_states import is_retriable
from runtime.system.allowed_folders import OutsideError, allowed_folders

if TYPE_CHECKING:
    import psycopg

_SESSION = (
    "-c datestyle=ISO -c intervalstyle=postgres -c timezone=UTC -c extra_float_digits=3 -c bytea_output=hex "
    "-c lc_monetary=C -c idle_in_transaction_session_timeout=0"
)
"""Settings with which the texts of values have one form, in both kinds of connections."""


HOST = "database.hostname"
ROOT_CERTIFICATE, CERTIFICATE, KEY = "database.sslrootcert", "database.sslcert", "database.sslkey"


def local_paths(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The options that name files or sockets of this machine, with their paths."""
    for key in (ROOT_CERTIFICATE, CERTIFICATE, KEY):
        path = config.get(key) or ""
        if path and (key, path) != (ROOT_CERTIFICATE, "system"):
            yield key, path
    for host in (config.get(HOST) or "").split(","):
        if host.strip().startswith(("/", "@")):
            yield HOST, host.strip()


@dataclass(frozen=True, slots=True)
class Server:
    """Where the database is, and who connects to it."""

    host: str
    port: int
    user: str
    password: Password | None
    database: str
    tls: Mapping[str, str]
    timeout: int = 10
    statement_timeout: int = 0
    """Seconds; 0 for no limit."""

    def parameters(self, replication: bool = False) -> dict[str, str]:
        """The parameters of libpq. ConfigError if a file may not be read."""
        for key, path in local_paths(
            {HOST: self.host, **{f"database.{name}": text for name, text in self.tls.items()}}
        ):
            try:
                allowed_folders().check(path)
            except OutsideError as error:
                raise ConfigError(f"{key} is {error.strerror}: {path}") from None
        parameters = {
            "host": self.host,
            "port": str(self.port),
            "user": self.user,
            "dbname": self.database,
            "application_name": "headrace-cdc",
            "connect_timeout": str(self.timeout),
            "client_encoding": "UTF8",
            "options": f"{_SESSION} -c statement_timeout={self.statement_timeout}s",
            "keepalives_idle": "30",
            **self.tls,
        }
        if self.password is not None:
            parameters["password"] = self.password.value
        if replication:
            parameters["replication"] = "database"
        return parameters

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection for SQL, in autocommit mode; RetriableError if the server is not available, ConnectError if it
        refuses the user."""
        require_psycopg()
        import psycopg.conninfo

        try:
            return psycopg.connect(psycopg.conninfo.make_conninfo("", **self.parameters()), autocommit=True)
        except psycopg.Error as error:
            raise self.translated(error, "Cannot connect to the database") from None

    def translated(self, error: BaseException, action: str) -> ConnectError:
        """The error for the worker; `action` begins the message."""
        text = self.without_secrets(str(error))
        state = getattr(error, "sqlstate", None)
        return (RetriableError if may_pass(text, state) else ConnectError)(f"{action}: {text}")

    def without_secrets(self, text: str) -> str:
        """A message on one line, without the password."""
        if self.password is not None and self.password.value:
            text = text.replace(self.password.value, "[hidden]")
        return " ".join(line.strip() for line in text.splitlines() if line.strip())


_REFUSALS = ("authentication failed", "pg_hba.conf", "does not exist", "must be superuser", "permission denied")


def may_pass(text: str, state: str | None) -> bool:
    """Whether the same action may succeed later. Errors of a connection attempt have no SQLSTATE (None)."""
    if state is not None:
        return is_retriable(state)
    return not any(part in text for part in _REFUSALS)


def require_psycopg() -> None:
    """Raises ConfigError if psycopg is missing."""
    from importlib.util import find_spec

    if find_spec("psycopg") is None:
        raise ConfigError(
            "PostgresCdcSource needs psycopg: run pip install 'headrace[runtime]' in the worker's environment"
        )
