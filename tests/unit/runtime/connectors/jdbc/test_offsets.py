"""Source offsets: positions in both directions, and the check of altered offsets."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from runtime.api.connector import ExactlyOnceSupport
from runtime.api.errors import ConnectError
from runtime.connectors.jdbc.modes import Mode
from runtime.connectors.jdbc.source.offsets import QUERY_PARTITION, Position, position_of, table_partition, to_offset
from runtime.connectors.jdbc.source_connector import JdbcSourceConnector

MOMENT = dt.datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=dt.UTC)
TABLE = table_partition("public.orders")
CONFIG = {"connection.url": "jdbc:sqlite:/x.db", "timestamp.column.name": "at", "incrementing.column.name": "id"}


def test_offsets_keep_microseconds() -> None:
    offset = to_offset(Mode.BOTH, 7, MOMENT)
    assert offset == {"timestamp": 1709208000123, "timestamp_nanos": 123456000, "incrementing": 7}
    assert position_of(offset) == Position(7, MOMENT)
    early = dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC)
    assert position_of(to_offset(Mode.TIMESTAMP, None, early)) == Position(None, early)


def test_offsets_without_nanoseconds() -> None:
    assert position_of({"timestamp": 1709208000123}).timestamp == MOMENT.replace(microsecond=123000)


@pytest.mark.parametrize(
    ("mode", "partition", "offset"),
    [
        ("incrementing", TABLE, {"incrementing": 7}),
        ("timestamp", TABLE, {"timestamp": 7}),
        ("timestamp+incrementing", TABLE, {"timestamp": 7, "timestamp_nanos": 7000000, "incrementing": 0}),
        ("incrementing", {"table": "public.orders"}, None),
        ("bulk", TABLE, None),
    ],
)
def test_changes_that_are_accepted(mode: str, partition: Any, offset: Any) -> None:
    assert JdbcSourceConnector().alter_offsets({**CONFIG, "mode": mode}, [(partition, offset)]) is True


@pytest.mark.parametrize(
    ("mode", "partition", "offset", "message"),
    [
        ("incrementing", None, {"incrementing": 7}, "cannot be null"),
        ("incrementing", {"table": "orders"}, {"incrementing": 7}, "needs the keys"),
        ("incrementing", {**TABLE, "protocol": "2"}, {"incrementing": 7}, "needs the keys"),
        ("incrementing", QUERY_PARTITION, {"incrementing": 7}, "needs the keys"),
        ("incrementing", TABLE, {"timestamp": 7}, "needs the key 'incrementing'"),
        ("incrementing", TABLE, {"incrementing": 7, "timestamp": 7}, "cannot have the key 'timestamp'"),
        ("incrementing", TABLE, {"incrementing": "7"}, "whole number"),
        ("incrementing", TABLE, {"incrementing": True}, "whole number"),
        ("incrementing", TABLE, {"incrementing": 1 << 63}, "whole number"),
        ("timestamp", TABLE, {"timestamp": 1 << 62}, "years 1 to 9999"),
        ("timestamp", TABLE, {"timestamp": 7, "timestamp_nanos": 1_000_000_000}, "nanoseconds"),
        ("timestamp+incrementing", TABLE, {"timestamp": 7}, "needs the key 'incrementing'"),
        ("bulk", TABLE, {"incrementing": 7}, "bulk mode"),
    ],
)
def test_changes_that_are_refused(mode: str, partition: Any, offset: Any, message: str) -> None:
    with pytest.raises(ConnectError, match=message):
        JdbcSourceConnector().alter_offsets({**CONFIG, "mode": mode}, [(partition, offset)])


def test_the_partition_of_a_query() -> None:
    config = {**CONFIG, "mode": "incrementing", "query": "SELECT 1"}
    assert JdbcSourceConnector().alter_offsets(config, [(QUERY_PARTITION, {"incrementing": 7})])
    with pytest.raises(ConnectError, match="partition of a query"):
        JdbcSourceConnector().alter_offsets(config, [(TABLE, {"incrementing": 7})])


@pytest.mark.parametrize(
    ("mode", "supported"),
    [("bulk", False), ("incrementing", True), ("timestamp", False), ("timestamp+incrementing", True)],
)
def test_exactly_once_needs_an_incrementing_column(mode: str, supported: bool) -> None:
    expected = ExactlyOnceSupport.SUPPORTED if supported else ExactlyOnceSupport.UNSUPPORTED
    assert JdbcSourceConnector().exactly_once_support({**CONFIG, "mode": mode}) is expected
