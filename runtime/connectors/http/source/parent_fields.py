"""Fields of the parent that are added to each record."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.connectors.http.source.stream import parent_value
from runtime.connectors.http.source.walk import StreamRows


class ParentFields:
    """Fields as in `http.parent.fields`: paths in the parent, with a name for the record before a `=`."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._paths = dict(map(_field, fields))

    def added(self, rows: StreamRows) -> StreamRows:
        """The rows with the fields; those that are not objects remain as they are."""
        if not self._paths:
            return rows
        values = {name: parent_value(path, rows.parents) for name, path in self._paths.items()}
        return rows._replace(rows=[{**row, **values} if isinstance(row, dict) else row for row in rows.rows])


def _field(text: str) -> tuple[str, str]:
    """The name of a field in the records, and its path in the parent."""
    name, _, path = text.strip().rpartition("=")
    return name or path.rpartition(".")[2], path
