"""All connectors of databases try again after the same errors."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from runtime.connectors.jdbc.errors import Fault, fault_of
from runtime.connectors.postgres.connection import may_pass


@pytest.mark.parametrize("state", ["57014", "57P01", "58030", "55006", "55P03", "25P03", "25P04", "40001", "08006"])
def test_temporary_errors(state: str) -> None:
    assert fault_of(_error(state)) is Fault.RETRIABLE
    assert may_pass("x", state)


@pytest.mark.parametrize("state", ["42501", "58P01", "42601", "55000"])
def test_other_errors(state: str) -> None:
    assert fault_of(_error(state)) is Fault.OTHER
    assert not may_pass("x", state)


def _error(state: str) -> Any:
    return type("Error", (psycopg.Error,), {"sqlstate": state})("x")
