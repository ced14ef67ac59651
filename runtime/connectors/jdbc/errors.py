"""Errors of databases: which of them may not occur again, which are the fault of a row, and their texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from enum import Enum
from urllib.parse import quote, quote_plus

from sqlalchemy.exc import DataError as SqlDataError
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from runtime.connectors.sql_states import is_retriable

_ROW_STATES = ("21000", "22", "23", "44")  # cardinality, data, constraint, check option
_CHANGED_STATES = ("42P01", "42703")  # undefined table or column
_MYSQL_DRIVERS = frozenset({"pymysql", "MySQLdb", "mysql", "mariadb"})
_MYSQL_FAULTS_OF_ROWS = frozenset({
    1048, 1062, 1138, 1216, 1217, 1264, 1265, 1292, 1364, 1366, 1367, 1406, 1411, 1451, 1452, 1557, 1586, 1690, 3140,
    3819, 4025, 4078, 4161,
})  # fmt: skip
"""Nulls, duplicates, foreign keys, checks, and values that do not fit."""
_MYSQL_CHANGED = frozenset({1054, 1146})  # unknown column or table


class Fault(Enum):
    """What an error says about trying again."""

    RETRIABLE = "the same statement may succeed later"
    ROW = "a value of a row does not fit its column or violates a constraint"
    CHANGED = "a table or column that the catalog listed does not exist any more"
    OTHER = "anything else"


def fault_of(error: BaseException) -> Fault:
    """The kind of an error that a driver or SQLAlchemy has raised."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return Fault.RETRIABLE
    original = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    state = getattr(original, "sqlstate", None)
    if isinstance(state, str):
        return _of_state(state)
    name = type(original).__name__
    if type(original).__module__.partition(".")[0] in _MYSQL_DRIVERS and original.args:
        if original.args[0] in _MYSQL_FAULTS_OF_ROWS:
            return Fault.ROW
        if original.args[0] in _MYSQL_CHANGED:
            return Fault.CHANGED
    if isinstance(original, sqlite3.OperationalError):
        return _of_sqlite(str(original))
    if isinstance(error, IntegrityError | SqlDataError) or name in ("IntegrityError", "DataError"):
        return Fault.ROW
    if isinstance(original, ValueError | TypeError | OverflowError | ArithmeticError):
        return Fault.ROW  # raised by the driver for a value that it cannot send
    if isinstance(original, sqlite3.Error):
        return Fault.ROW if "bind" in str(original) or "type" in str(original) else Fault.OTHER
    if name == "ProgrammingError" and "adapt" in str(original):
        return Fault.ROW
    return Fault.RETRIABLE if name in ("OperationalError", "InterfaceError") else Fault.OTHER


def _of_state(state: str) -> Fault:
    if is_retriable(state):
        return Fault.RETRIABLE
    if state.startswith(_ROW_STATES):
        return Fault.ROW
    return Fault.CHANGED if state in _CHANGED_STATES else Fault.OTHER


def _of_sqlite(text: str) -> Fault:
    if "locked" in text or "busy" in text or "is full" in text:
        return Fault.RETRIABLE
    if "no such table" in text or "no such column" in text or "has no column" in text:
        return Fault.CHANGED
    return Fault.OTHER


def message_of(error: BaseException, secrets: Iterable[str] = ()) -> str:
    """The driver's message on one line, without SQLAlchemy's parameters and without these secrets."""
    original = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    if isinstance(original, SQLAlchemyError) and original is error:
        text = str(error.args[0]) if error.args else type(error).__name__
    else:
        text = str(original)
    for secret in secrets:
        for form in {secret, quote(secret, safe=""), quote_plus(secret)} - {""}:
            text = text.replace(form, "[hidden]")
    if isinstance(original, sqlite3.Error) and text.startswith("too many attached databases"):
        text = "the database of connection.url must not open other files (ATTACH, VACUUM INTO)"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines) or type(original).__name__
