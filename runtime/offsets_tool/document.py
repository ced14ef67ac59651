"""The JSON that is exported and imported: `{"connector": [{"partition": {…}, "offset": {…} | null}, …], …}`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import orjson

from runtime.api.java_compat.jackson import compact_copy
from runtime.herder.errors import BadRequest
from runtime.herder.offsets.offset_values import MAX_DEPTH, check_values
from runtime.kafka.formats import compact
from runtime.offsets_tool.codec import canonical
from runtime.offsets_tool.collection import Offsets
from runtime.offsets_tool.errors import BadInput

_CHUNK, _SMALLEST = 262_144, 1_024  # characters parsed at once
_ENTRIES = 8  # parsed at once after one that was parsed alone
_LINE = 65_536  # characters; entries on longer lines take the slow path
_SPACE = re.compile(r"[ \t\n\r]*")
_ALL_DIGITS, _LONG_DIGITS = bytes.maketrans(b"123456789", b"0" * 9), b"0" * 18
_LONG_NUMBER = re.compile(r"\d{18}")


@dataclass(slots=True)
class ImportedOffsets:
    """The entries of one connector: offsets as JSON (`null` removes) by the canonical JSON of their partitions. If a
    partition is named twice, the last entry counts."""

    offsets: dict[bytes, bytes] = field(default_factory=dict)
    spelled: dict[bytes, bytes] = field(default_factory=dict)  # partitions in their original spelling, if it differs

    def put(self, partition: Any, given: bytes, offset: bytes) -> None:
        """Adds an entry; `given` is the partition in its original spelling."""
        text = canonical(partition)
        self.offsets[text] = offset
        if given != text:
            self.spelled[text] = given

    def entries(self) -> Iterator[tuple[Any, Any]]:
        """Parsed partitions and offsets."""
        return ((orjson.loads(partition), orjson.loads(offset)) for partition, offset in self.offsets.items())


Document = Mapping[str, ImportedOffsets]


def write(offsets: Offsets, out: Callable[[bytes], object]) -> tuple[int, int]:
    """Writes the document, one entry per line. Returns the numbers of entries and of connectors."""
    total = connectors = 0
    for name in offsets.connectors():
        begin = (b",\n" if connectors else b"{\n") + orjson.dumps(name) + b": [\n"
        count = 0
        for lines in filter(None, offsets.lines(name)):
            entries = [b'{"partition":%b,"offset":%b}' % line for line in lines]
            out((b",\n" if count else begin) + b",\n".join(entries))
            count += len(entries)
        if count:
            out(b"\n]")
            total, connectors = total + count, connectors + 1
    out(b"\n}\n" if total else b"{}\n")
    return total, connectors


def save(offsets: Offsets, file: Path) -> tuple[int, int]:
    """Writes the document to a file, which is complete or not there. Returns the numbers of entries and of
    connectors."""
    partial = file.with_name(f"{file.name}.part")
    with partial.open("wb") as out:
        counts = write(offsets, out.write)
        out.flush()
        os.fsync(out.fileno())
    partial.replace(file)
    return counts


def read(data: bytes, origin: str) -> Document:
    """Parses and checks a whole document. Raises BadInput with the position of the first error.

    Entries are converted to bytes one by one, since a million of them would take a gigabyte as Python objects.
    """
    try:
        return _Reader(data.decode(json.detect_encoding(data), "surrogatepass"), origin).document()
    except (ValueError, RecursionError) as e:
        raise BadInput(f"{origin}: not JSON: {e}") from None


class _Reader:
    """A parser of one document."""

    def __init__(self, text: str, origin: str) -> None:
        self._text, self._origin, self._at, self._chunk = text, origin, 0, _CHUNK
        self._decoder = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_unique_keys)

    def document(self) -> Document:
        by_connector: dict[str, ImportedOffsets] = {}
        if self._next() != "{":
            self._value()
            raise BadInput(f'{self._origin}: expected an object: {{"connector": [{{"partition": …, "offset": …}}]}}')
        for _ in self._members("{", "}"):
            name = self._name()
            if name in by_connector:
                raise ValueError(f"{name!r} appears twice in one object")
            by_connector[name] = self._entries(f"{self._origin}: {name}")
        if self._next():
            raise self._wrong("the end")
        return by_connector

    def _entries(self, where: str) -> ImportedOffsets:
        if self._next() != "[":
            self._value()
            raise BadInput(f"{where}: expected an array of partitions with their offsets")
        wanted, count = ImportedOffsets(), 0
        for _ in self._members("[", "]"):
            taken = self._many(wanted)
            if not taken:
                self._one(wanted, where, count)
            count += taken or 1
        return wanted

    def _many(self, wanted: ImportedOffsets) -> int:
        """Parses many entries at once, fewer if one of them needs _careful(). Returns their number, 0 if the next one
        needs it. The size is halved and doubled, so that few characters are parsed twice."""
        while self._chunk >= _SMALLEST:
            if taken := self._lines(wanted):
                self._chunk = min(2 * self._chunk, _CHUNK)
                return taken
            self._chunk //= 2
        return 0

    def _one(self, wanted: ImportedOffsets, where: str, number: int) -> None:
        """Parses the next entry alone."""
        start = self._at
        if not self._quick(wanted):
            self._careful(wanted, where, number)
        self._chunk = min(max(_ENTRIES * (self._at - start), _SMALLEST), _CHUNK)

    def _lines(self, wanted: ImportedOffsets) -> int:
        """Parses the entries on the lines of a chunk at once. Returns their number, 0 if one of them needs
        _careful()."""
        lines = self._text[self._at : self._at + self._chunk].split("\n")[:-1]
        whole = next((i for i, line in enumerate(lines) if not line.endswith("},")), len(lines))
        if whole < 2 or any(len(line) > 2 * MAX_DEPTH and _brackets(line) > MAX_DEPTH for line in lines[:whole]):
            return 0
        text = "\n".join(lines[:whole])[:-1]
        entries = _parse_exactly(b"[%b]" % text.encode())
        if entries is None:
            return 0
        partitions = [entry["partition"] for entry in entries]
        if orjson.dumps(partitions, option=orjson.OPT_SORT_KEYS) != orjson.dumps(partitions):
            return 0
        for partition, entry in zip(partitions, entries, strict=True):
            wanted.offsets[compact_copy(orjson.dumps(partition))] = compact_copy(orjson.dumps(entry["offset"]))
        self._at += len(text)
        return len(entries)

    def _quick(self, wanted: ImportedOffsets) -> bool:
        """Parses an entry that has a line of its own and that a fast parser reproduces exactly, so that it has no
        duplicate keys and no numbers that the parser rounds. False if the next entry is not of this kind."""
        end = self._text.find("\n", self._at, self._at + _LINE)
        line = self._text[self._at : end if end > 0 else self._at].rstrip(" \t\r,")
        try:
            entry = orjson.loads(line)
            partition, offset = entry["partition"], entry["offset"]
            if orjson.dumps(entry) != line.encode() or len(entry) != 2 or _LONG_NUMBER.search(line):
                return False
        except (ValueError, TypeError, KeyError):
            return False
        if not isinstance(partition, dict | None) or not isinstance(offset, dict | None):
            return False
        if _brackets(line) > MAX_DEPTH:
            return False
        wanted.put(partition, compact_copy(orjson.dumps(partition)), compact_copy(orjson.dumps(offset)))
        self._at += len(line)
        return True

    def _careful(self, wanted: ImportedOffsets, where: str, number: int) -> None:
        partition, offset = _entry(self._value(), f"{where}[{number}]")
        try:
            check_values([(partition, offset)], number)
        except BadRequest as e:
            raise BadInput(f"{where}: {e}") from None
        wanted.put(partition, compact(partition), compact(offset))

    def _members(self, begin: str, end: str) -> Iterator[None]:
        """Yields at the start of each member of an object or array, which the caller parses."""
        self._expect(begin)
        if self._next() == end:
            self._expect(end)
            return
        while True:
            self._next()
            yield
            if self._next() == end:
                break
            self._expect(",")
        self._expect(end)

    def _name(self) -> str:
        if self._next() != '"':
            raise self._wrong("a connector's name")
        name = str(self._value())
        self._next()
        self._expect(":")
        return name

    def _value(self) -> Any:
        value, self._at = self._decoder.raw_decode(self._text, self._at)
        return value

    def _next(self) -> str:
        """The next character that is not white space; empty at the end."""
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        return self._text[self._at : self._at + 1]

    def _expect(self, wanted: str) -> None:
        if self._text[self._at : self._at + 1] != wanted:
            raise self._wrong(repr(wanted))
        self._at += 1

    def _wrong(self, wanted: str) -> ValueError:
        return json.JSONDecodeError(f"expected {wanted}", self._text, self._at)


def _brackets(line: str) -> int:
    return line.count("{") + line.count("[")


def _parse_exactly(text: bytes) -> list[Any] | None:
    """Parses entries on separate lines; None unless a fast parser reproduces them exactly, without long numbers."""
    if _LONG_DIGITS in text.translate(_ALL_DIGITS):
        return None
    try:
        entries: list[Any] = orjson.loads(text)
    except ValueError:
        return None
    if orjson.dumps(entries) != text.replace(b",\n", b","):
        return None
    return entries if all(_is_entry(entry) for entry in entries) else None


def _is_entry(value: Any) -> bool:
    return (
        type(value) is dict
        and len(value) == 2
        and type(value.get("partition")) is dict
        and isinstance(value.get("offset", ()), dict | None)
    )


def _entry(value: Any, where: str) -> tuple[Any, Any]:
    if not isinstance(value, dict) or value.keys() != {"partition", "offset"}:
        raise BadInput(f'{where}: expected an object with "partition" and "offset", and nothing else')
    for key in ("partition", "offset"):
        if not isinstance(value[key], dict | None):
            raise BadInput(f"{where}.{key}: expected an object or null")
    return value["partition"], value["offset"]


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} appears twice in one object")
    return members


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
