"""Messages as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, overload

from runtime.api.data.columns import Column, ConstantColumn


class MessageColumns(Sequence[dict[str, Any]]):
    """Messages as columns. As a sequence the messages as the client takes them, which are created when they are asked
    for. None in a column: no key, timestamp or headers."""

    __slots__ = ("headers", "keys", "times", "values")

    def __init__(
        self, values: Column, keys: Column | None, times: Column | None, headers: Column | None = None
    ) -> None:
        none = ConstantColumn(None, len(values))
        self.values: Column = values
        self.keys, self.times, self.headers = keys or none, times or none, headers or none

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> MessageColumns: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | MessageColumns:
        if isinstance(index, slice):
            return MessageColumns(self.values[index], self.keys[index], self.times[index], self.headers[index])
        message = {"value": self.values[index]}
        if (key := self.keys[index]) is not None:
            message["key"] = key
        if (time := self.times[index]) is not None:
            message["timestamp"] = time
        if headers := self.headers[index]:
            message["headers"] = headers
        return message

    @property
    def plain(self) -> bool:
        """Whether no message has a timestamp or headers."""
        return all(type(column) is ConstantColumn and column.value is None for column in (self.times, self.headers))

    def arguments(self, values: Iterator[bytes | None], callbacks: Iterable[Any]) -> list[Iterable[Any]]:
        """The arguments of produce() after the topic, by position, for each message; the timestamp 0 is the time of
        sending. `values`: an iterator over the column of values."""
        arguments = [values, self.keys, repeat(-1), callbacks]
        if not self.plain:
            arguments += [repeat(None), (time or 0 for time in self.times), self.headers]
        return arguments
