"""Divides records among folders by the values of fields and by time."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from runtime.api.data.columns import Column, MixedBatchError, ValueBatch
from runtime.api.data.logical import instant, millis
from runtime.api.errors import DataError
from runtime.api.java_compat.date_format import DatePattern
from runtime.connectors.files.sink.chunk import Chunk

_EARLIEST, _LATEST = -62_135_596_800_000, 253_402_300_799_999  # milliseconds of the years 1 to 9999


def record_times(chunk: Chunk, field: str) -> list[int | None]:
    """Milliseconds since 1970 for each record; None if it has no valid time. `field` is empty for the timestamp."""
    earliest = _EARLIEST if field else 0
    times = map(_time, field_column(chunk.values, field) if field else chunk.timestamps())
    return [time if time is not None and earliest <= time <= _LATEST else None for time in times]


def field_column(values: ValueBatch, path: str) -> Column:
    """A field of the values, also a nested one (`a.b`); None where it is missing."""
    first, *rest = path.split(".")
    try:
        column = values.columns.get(first)
        selected: Column = [None] * values.count if column is None else column
    except MixedBatchError:
        selected = [_field(row, first) for row in values.rows]
    for name in rest:
        selected = [_field(value, name) for value in selected]
    return selected


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _time(value: Any) -> int | None:
    if type(value) is int:
        return value
    try:
        moment = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
        return millis(instant(moment)) if isinstance(moment, dt.date) else None
    except (ValueError, DataError):
        return None


NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""The folder of records that lack the field, as Hive and Spark name it."""

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_DISTINCT = (str, int, dt.date, type(None))  # values that are equal only if their folder is
_QUARTER_HOUR = 900_000  # milliseconds; offsets of time zones are multiples of it since 1972, and of a second before
_REGULAR_OFFSETS = 63_072_000_000 + 7 * 86_400_000  # milliseconds: Liberia was the last to change, on 7 January 1972


class Partitioner:
    """The folder of each record: first its fields, then its time."""

    def __init__(self, fields: Sequence[str], path_format: str, timezone: str, longest_name: int | None) -> None:
        """`longest_name` of a folder in bytes; None: any length."""
        self._fields, self._longest = tuple(fields), longest_name
        self._pattern = DatePattern(path_format) if path_format else None
        self._zone = ZoneInfo(timezone)
        unit = self._pattern.unit if self._pattern is not None else 1
        self._unit = unit if timezone == "UTC" else min(unit, _QUARTER_HOUR)
        self._early_unit = unit if timezone == "UTC" else min(unit, 1000)
        self._folders: dict[int, str] = {}

    @property
    def needs_time(self) -> bool:
        """Whether folders depend on the time of records."""
        return self._pattern is not None

    def divide(self, chunk: Chunk, times: Sequence[int | None]) -> list[tuple[str, Sequence[int]]]:
        """Folders, and the indices of their records. The folder is empty if records are not divided."""
        if not self._fields and self._pattern is None:
            return [("", range(len(chunk)))]
        columns: list[Sequence[Any]] = [field_column(chunk.values, field) for field in self._fields]
        if self._pattern is not None:
            late, early = self._unit, self._early_unit
            columns.append(
                [time - time % (late if time >= _REGULAR_OFFSETS else early) for time in (time or 0 for time in times)]
            )
        grouped: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for place, key in enumerate(zip(*map(_hashable, columns), strict=True)):
            grouped[key].append(place)
        merged: dict[str, list[int]] = defaultdict(list)
        for key, places in grouped.items():
            merged[self._folder(key)] += places
        return [(folder, sorted(places)) for folder, places in merged.items()]

    def faults(self, chunk: Chunk) -> dict[int, str]:
        """The indices of records whose folder cannot exist, with the reasons."""
        if fault := self._fault("the topic", topic_folder, chunk.topic):
            return dict.fromkeys(range(len(chunk)), fault)
        faults: dict[int, str] = {}
        for field in self._fields:
            keys = _hashable(field_column(chunk.values, field))
            named = {key: self._fault(f"field {field}", partial(_folder_name, field), key[1]) for key in set(keys)}
            if any(named.values()):
                faults |= {place: named[key] for place, key in enumerate(keys) if named[key]}
        return faults

    def _fault(self, source: str, name: Callable[[Any], str], value: Any) -> str:
        try:
            size = len(name(value))
        except UnicodeEncodeError:
            return f"The folder for {source} cannot have the name {value!r}, which is not valid Unicode"
        if self._longest is None or size <= self._longest:
            return ""
        return f"The folder for {source} needs a name of {size} bytes, more than {self._longest}"

    def _folder(self, key: tuple[Any, ...]) -> str:
        parts = [_folder_name(field, value) for field, (_, value) in zip(self._fields, key, strict=False)]
        if self._pattern is not None:
            parts.append(self._time_folder(key[-1][1]))
        return "/".join(parts)

    def _time_folder(self, number: int) -> str:
        folder = self._folders.get(number)
        if folder is None:
            assert self._pattern is not None
            if len(self._folders) > 10_000:
                self._folders.clear()
            time = _EPOCH + dt.timedelta(milliseconds=number)
            try:
                local = time.astimezone(self._zone).replace(tzinfo=dt.UTC)
            except OverflowError:  # its local time is before the year 1 or after 9999
                local = time
            folder = self._folders[number] = self._pattern.format(local)
        return folder


def _hashable(column: Sequence[Any]) -> list[tuple[type, Any]]:
    """Values with their types, since 1 and True are equal; the text of others, since 0.0 and -0.0 are, too."""
    return [(type(v), v if isinstance(v, _DISTINCT) else str(v)) for v in column]


def topic_folder(topic: str) -> str:
    """The name of the folder of a topic, which a transformation may have taken from any text."""
    return topic.replace(".", "%2E") if topic in (".", "..") else quote(topic, safe="")


def _folder_name(field: str, value: Any) -> str:
    return f"{quote(field, safe='')}={_name(value)}"


def _name(value: Any) -> str:
    if value is None or value == "":
        return NULL_FOLDER
    return quote(str(value).lower() if isinstance(value, bool) else str(value), safe=" +,:")
