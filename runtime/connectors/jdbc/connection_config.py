"""The configuration keys that the JDBC source and sink share, and the typed settings made from them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from runtime.api.config.definition import ConfigKey, ConfigType, Importance, Width, grouped
from runtime.api.config.types import Password, invalid
from runtime.api.config.validators import at_least, one_of_ignoring_case
from runtime.api.errors import ConfigError


def require_sqlalchemy() -> None:
    """Raises ConfigError if SQLAlchemy is missing."""
    if find_spec("sqlalchemy") is None:
        raise ConfigError(
            "The JDBC connectors need SQLAlchemy: run pip install 'headrace[runtime]' in the worker's environment"
        )


URL, USER, PASSWORD = "connection.url", "connection.user", "connection.password"
ATTEMPTS, BACKOFF = "connection.attempts", "connection.backoff.ms"
QUOTE, TIME_ZONE = "quote.sql.identifiers", "db.timezone"
GROUP = "Database"


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """How to reach the database. `backoff` is in seconds."""

    url: str
    user: str | None
    password: Password | None
    attempts: int
    backoff: float

    @classmethod
    def of(cls, parsed: Mapping[str, Any]) -> ConnectionSettings:
        """The settings of parsed configuration values."""
        return cls(parsed[URL], parsed[USER] or None, parsed[PASSWORD], parsed[ATTEMPTS], parsed[BACKOFF] / 1000)


def non_blank(name: str, value: Any) -> None:
    """A text with at least one character."""
    if value is not None and not str(value).strip():
        raise invalid(name, value, "must not be empty")


def connection_url(name: str, value: Any) -> None:
    """A URL whose parameters are allowed; without SQLAlchemy that is checked when the connector starts."""
    non_blank(name, value)
    try:
        from runtime.connectors.jdbc.urls import database_url
    except ImportError:
        return
    if value is not None:
        database_url(value)


def time_zone(name: str, value: Any) -> None:
    """A name of the time zone database, such as Europe/Berlin."""
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise invalid(name, value, "not a time zone; use a name such as UTC or Europe/Berlin") from None


def zone_of(name: str) -> dt.tzinfo:
    """The time zone of this name; datetime.UTC itself for UTC, so that it is compared fast."""
    return dt.UTC if name.upper() in ("UTC", "ETC/UTC", "Z") else ZoneInfo(name)


def connection_keys(*dependents: str) -> tuple[ConfigKey, ...]:
    """The keys about the connection; `dependents` are keys whose recommended values depend on the database."""
    return (
        *grouped(GROUP, 1,
            ConfigKey(URL, ConfigType.STRING, importance=Importance.HIGH, doc="URL of the database: "
                 "jdbc:postgresql://host:port/database, jdbc:sqlite:/path/file.db, or a URL of SQLAlchemy such as "
                 "postgresql+psycopg://host/database. Set the password with connection.password.",
                 validator=connection_url, width=Width.LONG, display_name="Database URL", dependents=dependents),
            ConfigKey(USER, ConfigType.STRING, None, Importance.HIGH, "User name for the database.", width=Width.MEDIUM,
                 display_name="User"),
            ConfigKey(PASSWORD, ConfigType.PASSWORD, None, Importance.HIGH, "Password of the user.", width=Width.MEDIUM,
                 display_name="Password"),
            ConfigKey(ATTEMPTS, ConfigType.INT, 3, Importance.LOW, "Number of attempts to connect before a connector "
                 "or task fails at its start.", at_least(1), width=Width.SHORT, display_name="Connection attempts"),
            ConfigKey(BACKOFF, ConfigType.LONG, 10_000, Importance.LOW, "Milliseconds between two attempts to connect.",
                 at_least(0), width=Width.SHORT, display_name="Connection back-off (ms)"),
            ConfigKey(QUOTE, ConfigType.STRING, "ALWAYS", Importance.MEDIUM, "When names of tables and columns are "
                 "quoted: ALWAYS, which keeps their case, or NEVER, with which the database folds their case, and a "
                 "sink refuses names that start with a digit or have other characters than letters, digits, _, $ "
                 "and #.",
                 one_of_ignoring_case("ALWAYS", "NEVER"), width=Width.SHORT, display_name="Quote identifiers"),
            ConfigKey(TIME_ZONE, ConfigType.STRING, "UTC", Importance.MEDIUM, "Time zone of timestamps in columns that "
                 "have no time zone.", time_zone, width=Width.MEDIUM, display_name="Time zone of the database"),
        ),
    )  # fmt: skip
