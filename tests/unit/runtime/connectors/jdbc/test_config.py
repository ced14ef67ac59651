"""Configurations of the JDBC connectors: keys that do not fit together, recommended values, missing drivers."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from runtime.api.config.types import Password
from runtime.api.errors import ConfigError, ConnectError
from runtime.connectors.jdbc.connection_config import ConnectionSettings
from runtime.connectors.jdbc.database import Database
from runtime.connectors.jdbc.errors import message_of
from runtime.connectors.jdbc.sink_connector import JdbcSinkConnector
from runtime.connectors.jdbc.source_connector import JdbcSourceConnector

URL = {"connection.url": "jdbc:sqlite:/nowhere/x.db"}


@pytest.mark.parametrize(
    ("config", "key", "message"),
    [
        ({"mode": "incrementing"}, "incrementing.column.name", "required in mode incrementing"),
        ({"mode": "timestamp"}, "timestamp.column.name", "required in mode timestamp"),
        ({"query": "SELECT 1", "table.whitelist": "a"}, "query", "cannot be set together"),
        ({"table.whitelist": "a", "table.include.list": "b"}, "table.whitelist", "cannot be set together"),
        ({"table.whitelist": "a", "table.blacklist": "b"}, "table.whitelist", "cannot be set together"),
        ({"table.whitelist": "a..b"}, "table.whitelist", "not the name of a table"),
        ({"table.exclude.list": "(("}, "table.exclude.list", "not a regular expression"),
        ({"db.timezone": "Nowhere"}, "db.timezone", "not a time zone"),
    ],
)
def test_source_errors(config: dict[str, str], key: str, message: str) -> None:
    errors = {value.name: value.errors for value in JdbcSourceConnector().validate({**URL, **config}) if value.errors}
    assert list(errors) == [key]
    assert message in errors[key][0]


@pytest.mark.parametrize(
    ("config", "key", "message"),
    [
        ({"insert.mode": "upsert"}, "pk.mode", "needs a primary key"),
        ({"delete.enabled": "true", "pk.mode": "record_value"}, "delete.enabled", "pk.mode=record_key"),
        ({"pk.mode": "kafka", "pk.fields": "a"}, "pk.fields", "three names"),
        ({"pk.fields": "a"}, "pk.fields", "no effect"),
        ({"pk.mode": "record_key", "pk.fields": "a,a"}, "pk.fields", "names a field twice"),
        ({"fields.include.list": "a", "fields.whitelist": "b"}, "fields.include.list", "cannot be set together"),
    ],
)
def test_sink_errors(config: dict[str, str], key: str, message: str) -> None:
    errors = {value.name: value.errors for value in JdbcSinkConnector().validate({**URL, **config}) if value.errors}
    assert list(errors) == [key]
    assert message in errors[key][0]


def test_names_of_tables_are_recommended(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
        connection.execute("CREATE VIEW recent AS SELECT * FROM orders")
    config = {"connection.url": f"jdbc:sqlite:{tmp_path}/x.db", "mode": "incrementing"}
    values = {value.name: value for value in JdbcSourceConnector().validate(config)}
    assert values["table.whitelist"].recommended_values == ["orders"]
    assert values["incrementing.column.name"].visible and not values["timestamp.initial"].visible
    values = {value.name: value for value in JdbcSourceConnector().validate({**config, "table.types": "VIEW"})}
    assert values["table.whitelist"].recommended_values == ["recent"]


def test_a_database_that_is_not_available_is_not_an_error_of_the_configuration() -> None:
    assert not [value for value in JdbcSourceConnector().validate(URL) if value.errors]


def _database(url: str, password: str | None = None) -> Database:
    return Database(ConnectionSettings(url, None, Password(password) if password else None, 1, 0.0))


def test_a_missing_driver_is_named() -> None:
    with pytest.raises(ConfigError, match="pip install 'oracledb'"):
        _database("jdbc:oracle:thin:@//127.0.0.1/shop")
    with pytest.raises(ConfigError, match="no dialect"):
        _database("nosuchdb://127.0.0.1/shop")


def test_attempts_to_connect() -> None:
    waits: list[float] = []
    settings = ConnectionSettings("jdbc:sqlite:/nowhere/x.db", None, None, 3, 0.5)
    with pytest.raises(ConnectError, match=r"unable to open database file \(3 attempts\)"):
        Database(settings, waits.append).connect()
    assert waits == [0.5, 0.5]


def test_messages_hide_passwords() -> None:
    error = ValueError("cannot connect with a/b@c or a%2Fb%40c")
    assert message_of(error, ["a/b@c"]) == "cannot connect with [hidden] or [hidden]"
