"""Configuration keys that SparkSink and SparkSource share, and the validators of their values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from runtime.api.config.types import invalid
from runtime.api.errors import ConfigError
from runtime.connectors.config_keys import is_interval

FORMAT, PATH, TABLE, MODE = "spark.format", "spark.path", "spark.table", "spark.mode"
TRIGGER, SCHEMA, SQL = "spark.trigger", "spark.schema", "spark.sql"
_OPTION = "spark.option."

_QUERY = re.compile(
    r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*+(?:SELECT|WITH|FROM|TABLE|VALUES)\b", re.IGNORECASE | re.DOTALL
)
"""The start of a query, behind comments and parentheses."""


def options_of(config: Mapping[str, str]) -> dict[str, str]:
    """The options of the format: the keys `spark.option.<name>`."""
    return {key.removeprefix(_OPTION): value for key, value in config.items() if key.startswith(_OPTION)}


def is_empty_or_interval(name: str, value: Any) -> None:
    """ConfigError unless the value is empty or a number with a unit of time."""
    if value:
        is_interval(name, value)


def is_ddl(name: str, value: Any) -> None:
    """ConfigError unless the value is empty or a schema as Spark's DDL."""
    if value:
        from runtime.connectors.data_source.ddl import parse_ddl

        try:
            parse_ddl(value)
        except ConfigError as error:
            raise invalid(name, value, str(error)) from None


def is_format(name: str, value: Any) -> None:
    """ConfigError if the value names a class in a Python module that is not a data source. Imports nothing."""
    if value:
        from runtime.connectors.data_source.loading import check_class, is_python_class

        if is_python_class(str(value)):
            check_class(str(value), name)


def is_query(name: str, value: Any) -> None:
    """ConfigError unless the value is empty or starts as a query over `record`. Spark's parser checks the whole text
    when a task starts."""
    check_start(name, value, "record")


def check_start(name: str, value: Any, view: str) -> None:
    """ConfigError unless the value is empty or starts as a query."""
    if value and str(value).strip() and _QUERY.match(str(value)) is None:
        raise invalid(name, value, f"Must be a query, such as SELECT id FROM {view}: other statements are refused")
