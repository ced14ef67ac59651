"""The position of a source: a micro-batch of the reader, and the records read of it.

    {"offset": "{…}"}                                everything before this offset of the reader has been read
    {"offset": "{…}", "end": "{…}", "records": 50}   and 50 records of the micro-batch from `offset` to `end`

See shared_batches.py for micro-batches that several tasks read.

The reader's offsets are JSON texts, because the values of a Connect offset are simple.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from runtime.api.errors import ConnectError
from runtime.api.task import Offset
from runtime.connectors.data_source.readers import ReaderOffset

OFFSET, END, RECORDS = "offset", "end", "records"


class BatchPosition(NamedTuple):
    """A position; see the module."""

    start: ReaderOffset
    end: ReaderOffset | None = None
    records: int = 0

    @classmethod
    def of(cls, offset: Offset) -> BatchPosition:
        """From a source offset; ConnectError if it is invalid."""
        if not set(offset) <= {OFFSET, END, RECORDS} or OFFSET not in offset:
            raise ConnectError(
                f"An offset has the key '{OFFSET}', and '{END}' and '{RECORDS}' within a batch: {offset}"
            )
        records = offset.get(RECORDS, 0)
        if not isinstance(records, int) or isinstance(records, bool) or records < 0:
            raise ConnectError(f"The '{RECORDS}' of the offset must be a number of records: {records!r}")
        if (records > 0) != (END in offset):
            raise ConnectError(f"'{END}' and '{RECORDS}' of the offset must be given together")
        return cls(decoded(offset, OFFSET), decoded(offset, END) if END in offset else None, records)

    def offset(self) -> Mapping[str, Any]:
        """The source offset."""
        offset: dict[str, Any] = {OFFSET: encoded(self.start)}
        if self.end is not None and self.records:
            offset |= {END: encoded(self.end), RECORDS: self.records}
        return offset


def encoded(offset: ReaderOffset) -> str:
    """A reader's offset as JSON text; ConnectError if it is not JSON."""
    try:
        return orjson.dumps(offset).decode()
    except TypeError as error:
        raise ConnectError(f"The reader's offset cannot be written as JSON: {error}") from error


def decoded(offset: Offset, name: str) -> ReaderOffset:
    """The reader's offset in this item of a source offset; ConnectError if it is invalid."""
    text = offset[name]
    try:
        document = orjson.loads(text) if isinstance(text, str) else None
    except orjson.JSONDecodeError:
        document = None
    if not isinstance(document, dict):
        raise ConnectError(
            f"The '{name}' of the offset must be a JSON object as text, such as '{{\"n\": 5}}': {text!r}"
        )
    return document
