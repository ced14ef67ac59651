"""Batches of Protobuf messages as columns, read by ptars in one call through Arrow.

Google's protobuf creates an object for each message, and one for each value that is read. It reads single messages, and
types that have other fields than numbers, texts, bytes and truth values, or lists of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.api.data.arrow_column import arrow_columns
from runtime.api.data.columns import Column
from runtime.converters.protobuf.read import MessageField


class ProtobufColumnReader:
    """Reads messages of one type."""

    def __init__(self, descriptor: Any, names: Sequence[str]) -> None:
        from ptars import HandlerPool

        self._handler = HandlerPool([descriptor.file]).get_for_message(descriptor)
        self._converts = dict.fromkeys(names)

    def read(self, data: Sequence[bytes]) -> dict[str, Column]:
        """A column for each field; ValueError if a message is malformed."""
        return arrow_columns(lambda: self._handler.list_to_record_batch(list(data)), self._converts)


def column_reader(descriptor: Any, fields: Sequence[MessageField]) -> ProtobufColumnReader | None:
    """A reader for these fields of a message type; None if one is not plain, or ptars is not installed."""
    from importlib.util import find_spec

    if not fields or not all(field.is_plain for field in fields) or find_spec("ptars") is None:
        return None
    return ProtobufColumnReader(descriptor, [field.name for field in fields])
