"""Parents of records: their fields that each record gets, and those parents that do not exist any more."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api.errors import ConnectError
from runtime.connectors.http.source.stream import parent_value
from runtime.connectors.http.source.walk import StreamRows

_log = logging.getLogger(__name__)


class MissingParents:
    """The parents of one poll after another."""

    def __init__(self, url: str) -> None:
        """`url` with its placeholders, for the log."""
        self._url = url
        self._missing, self._any = 0, False

    def read(self) -> None:
        """The endpoint has the records of a parent."""
        self._any = True

    def missing(self, error: Exception) -> None:
        """The endpoint does not have them."""
        self._missing += 1
        if self._missing == 1:
            _log.warning("%s: the parent, or its records, do not exist any more; continues with the next one", error)
        else:
            _log.debug("%s", error)

    def poll_ended(self) -> None:
        """Reports how many there were. If there were no others, the URL may be wrong."""
        if self._missing > 1 and not self._any:
            _log.error(
                "No records in this poll: the endpoint responded with 404 or 410 for all %d parents. Check the URL %s",
                self._missing, self._url,
            )  # fmt: skip
        elif self._missing > 1:
            _log.warning("%d parents of %s, or their records, do not exist any more", self._missing, self._url)
        self._missing, self._any = 0, False


class ParentFields:
    """Fields as in `http.parent.fields`: paths in the parent, with a name for the record before a `=`."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._paths = dict(map(_field, fields))

    def added(self, rows: StreamRows) -> StreamRows:
        """The rows with the fields; those that are not objects remain as they are. ConnectError for rows that have such
        a field themselves."""
        if not self._paths:
            return rows
        values = {name: parent_value(path, rows.parents) for name, path in self._paths.items()}
        return rows._replace(rows=[self._with(row, values) if isinstance(row, dict) else row for row in rows.rows])

    def _with(self, row: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
        if common := sorted(row.keys() & values.keys()):
            name = common[0]
            raise ConnectError(
                f"The records have a field {name} of their own: give that of the parent another name, such as "
                f"parent_{name}={self._paths[name]} (http.parent.fields)"
            )
        return {**row, **values}


def _field(text: str) -> tuple[str, str]:
    """The name of a field in the records, and its path in the parent."""
    name, _, path = text.strip().rpartition("=")
    return name or path.rpartition(".")[2], path
