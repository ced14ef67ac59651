"""Messages as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, overload

from runtime.api.data.columns import Column, ConstantColumn

_NAMES = ("value", "key", "timestamp", "headers", "partition")


class MessageColumns(Sequence[dict[str, Any]]):
    """Messages as columns. As a sequence the messages as the client takes them, which are created when they are asked
    for. None in a column: no key, timestamp, headers or partition."""

    __slots__ = ("headers", "keys", "partitions", "times", "values")

    def __init__(
        self,
        values: Column,
        keys: Column | None,
        times: Column | None,
        headers: Column | None = None,
        partitions: Column | None = None,
    ) -> None:
        none = ConstantColumn(None, len(values))
        self.values: Column = values
        self.keys, self.times, self.headers, self.partitions = (
            column or none for column in (keys, times, headers, partitions)
        )

    @classmethod
    def of(cls, messages: Sequence[dict[str, Any]]) -> MessageColumns:
        """Messages as the client takes them, as columns."""
        values, *others = ([message.get(name) for message in messages] for name in _NAMES)
        return cls(values, *(None if column.count(None) == len(column) else column for column in others))

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> MessageColumns: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | MessageColumns:
        if isinstance(index, slice):
            return MessageColumns(*(column[index] for column in self._columns))
        value, *others = (column[index] for column in self._columns)
        given = {name: item for name, item in zip(_NAMES[1:], others, strict=True) if item is not None}
        return {"value": value, **given}

    @property
    def _columns(self) -> tuple[Column, ...]:
        return self.values, self.keys, self.times, self.headers, self.partitions

    @property
    def plain(self) -> bool:
        """Whether no message has a timestamp or headers."""
        return _is_empty(self.times) and _is_empty(self.headers)

    def arguments(self, values: Iterator[bytes | None], callbacks: Iterable[Any]) -> list[Iterable[Any]]:
        """The arguments of produce() after the topic, by position, for each message; the timestamp 0 is the time of
        sending. `values`: an iterator over the column of values."""
        partitions = repeat(-1) if _is_empty(self.partitions) else [-1 if p is None else p for p in self.partitions]
        arguments: list[Iterable[Any]] = [values, self.keys, partitions, callbacks]
        if not self.plain:
            arguments += [repeat(None), (time or 0 for time in self.times), self.headers]
        return arguments


def _is_empty(column: Column) -> bool:
    return type(column) is ConstantColumn and column.value is None
