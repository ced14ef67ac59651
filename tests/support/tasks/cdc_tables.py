"""Tables with all types, and changes to them, for comparisons with Debezium. The last row of each is in `zlast`."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent


def _statements(name: str) -> list[str]:
    text = (_FOLDER / name).read_text("utf-8").partition("\n")[2]
    return [statement.strip() for statement in text.split(";\n") if statement.strip()]


TABLES = _statements("cdc_tables.sql")
CHANGES = _statements("cdc_changes.sql")
