"""The position in a stream: the cursor or time slice, the page, and the records read of that page.

{}                                          nothing has been read
{"cursor": 17}                              the poll from cursor 17 has not begun
{"cursor": 17, "page": 3, "records": 50}    50 records of page 3 have been read
{…, "next_cursor": 212}                     the cursor of the last record read: where the next poll begins
{"slice_start": "2026-01-01T00:00:00Z"}     the time from which the next poll reads
{…, "slice_end": "2026-01-02T00:00:00Z"}    the slice between these times is being read
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from runtime.api.errors import ConnectError
from runtime.api.task import Offset
from runtime.connectors.http.source.pages import Cursor, PageToken, Pagination
from runtime.connectors.http.source.slices import parse_time

_KEYS = ("cursor", "page", "records", "next_cursor", "slice_start", "slice_end")


class Traversal(NamedTuple):
    """A position; see the module."""

    cursor: Cursor = None
    page: PageToken = None
    records: int = 0
    next_cursor: Cursor = None
    slice_start: str | None = None
    slice_end: str | None = None

    @classmethod
    def of(cls, offset: Offset, prefix: str, pagination: Pagination, has_cursor: bool, has_slices: bool) -> Traversal:
        """From a source offset of the stream whose keys have the prefix; ConnectError if it does not fit them."""
        if not offset or (unknown := set(offset) - set(_KEYS)):
            problem = f"the unknown key {sorted(unknown)[0]!r}" if offset else "no key"
            raise ConnectError(f"The offset has {problem}; the keys are {', '.join(_KEYS)}")
        for name in ("cursor", "next_cursor"):
            value = offset.get(name)
            if value is not None and (not has_cursor or not isinstance(value, str | int | float)):
                reason = "must be a text or number" if has_cursor else f"needs {prefix}cursor.pointer"
                raise ConnectError(f"The '{name}' of the offset {reason}: {value!r}")
        page, records = offset.get("page"), offset.get("records", 0)
        if page is not None and not pagination.is_token(page):
            kind = f"{prefix}pagination={pagination.kind}"
            raise ConnectError(f"The 'page' of the offset does not fit {kind}: {page!r}")
        if not isinstance(records, int) or isinstance(records, bool) or records < 0:
            raise ConnectError(f"The 'records' of the offset must be a number of records: {records!r}")
        _check_slice(offset, prefix, has_slices)
        return cls(**offset)

    def offset(self) -> Mapping[str, Any]:
        """The source offset, without keys that have no value; it has at least one key."""
        position = {name: value for name, value in self._asdict().items() if value is not None}
        if not self.records and len(position) > 1:
            del position["records"]
        return position

    @property
    def next_poll(self) -> Traversal:
        """The position at which the next poll continues, by the cursor."""
        return Traversal(self.cursor if self.next_cursor is None else self.next_cursor)


def _check_slice(offset: Offset, prefix: str, has_slices: bool) -> None:
    start, end = offset.get("slice_start"), offset.get("slice_end")
    if not has_slices and (start or end):
        raise ConnectError(f"The 'slice_start' and 'slice_end' of the offset need {prefix}slice.start")
    try:
        valid = end is None or parse_time(start or "") < parse_time(end)
        valid = valid and (start is None or parse_time(start) is not None)
    except (ValueError, TypeError):
        valid = False
    if not valid:
        raise ConnectError(
            "The 'slice_start' and 'slice_end' of the offset must be times such as 2026-01-31T00:00:00Z, the start "
            f"before the end: {start!r}, {end!r}"
        )
    if has_slices and end is None and ("page" in offset or offset.get("records")):
        raise ConnectError("The 'page' and 'records' of the offset need 'slice_end', since they are those of a slice")
