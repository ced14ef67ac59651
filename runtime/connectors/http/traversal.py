"""The position in a stream: the cursor of the current poll, the page, and the records read of that page.

{}                                          nothing has been read
{"cursor": 17}                              the poll from cursor 17 has not begun
{"cursor": 17, "page": 3, "records": 50}    50 records of page 3 have been read
{…, "next_cursor": 212}                     the cursor of the last record read: where the next poll begins
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from runtime.api.errors import ConnectError
from runtime.api.task import Offset
from runtime.connectors.http.pages import Cursor, JsonPage, PageToken, Pagination

_KEYS = ("cursor", "page", "records", "next_cursor")


class Traversal(NamedTuple):
    """A position; see the module."""

    cursor: Cursor = None
    page: PageToken = None
    records: int = 0
    next_cursor: Cursor = None

    @classmethod
    def of(cls, offset: Offset, prefix: str, pagination: Pagination, has_cursor: bool) -> Traversal:
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
        return cls(offset.get("cursor"), page, records, offset.get("next_cursor"))

    def offset(self) -> Mapping[str, Any]:
        """The source offset, without keys that have no value; it has at least one key."""
        position = {name: value for name, value in self._asdict().items() if value is not None}
        if not self.records and len(position) > 1:
            del position["records"]
        return position

    def after_page(self, page: JsonPage) -> Traversal:
        """The beginning of the next page, or of the next poll after the last page."""
        return self.after_last_page() if page.next is None else self._replace(page=page.next, records=0)

    def after_last_page(self) -> Traversal:
        """The beginning of the next poll."""
        return Traversal(self.cursor if self.next_cursor is None else self.next_cursor)
