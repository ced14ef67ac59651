"""Which errors of a database are worth another attempt."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError

from runtime.connectors.jdbc.errors import Fault, fault_of


@pytest.mark.parametrize(("state", "fault"), [
    ("57014", Fault.RETRIABLE),  # statement_timeout
    ("22001", Fault.ROW),
    ("42P01", Fault.CHANGED),
    ("42501", Fault.OTHER),  # permission denied
])  # fmt: skip
def test_the_state_of_an_error_decides(state: str, fault: Fault) -> None:
    error = type("Error", (psycopg.Error,), {"sqlstate": state})("x")
    assert fault_of(error) is fault
    assert fault_of(DBAPIError("INSERT", None, error)) is fault
