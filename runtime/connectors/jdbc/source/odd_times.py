"""Times of PostgreSQL that Python does not have: infinite ones, those of years before 1 or after 9999, and 24:00.

psycopg does not read a batch with such a value. Its message takes the place of the value, so that only the row with it
is an error.
"""

from __future__ import annotations

from typing import Any

_TYPES = ("date", "time", "timestamp", "timestamptz")


def tolerate_odd_times(cursor: Any) -> None:
    """Have a cursor of psycopg with the binary format return the text of an error for such a value."""
    from psycopg.pq import Format

    for name in _TYPES:
        oid = cursor.adapters.types[name].oid
        cursor.adapters.register_loader(oid, _tolerant(cursor.adapters.get_loader(oid, Format.BINARY)))


def present_time(value: Any) -> Any:
    """The value; ValueError for the text of an error."""
    if type(value) is str:
        raise ValueError(f"{value}, so that Connect has no value for it here; read it as text with query")
    return value


def _tolerant(loader: Any) -> Any:
    from psycopg import DataError
    from psycopg.adapt import Loader
    from psycopg.pq import Format

    class TolerantLoader(Loader):
        """Those of psycopg's C implementation cannot be inherited."""

        format = Format.BINARY

        def __init__(self, oid: int, context: Any = None) -> None:
            super().__init__(oid, context)
            self._load = loader(oid, context).load

        def load(self, data: Any) -> Any:
            try:
                return self._load(data)
            except DataError as error:
                return str(error)

    return TolerantLoader
