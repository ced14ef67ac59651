"""Checks of edited offsets that need no server: errors prevent sending, warnings do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

from tui.editor.places import JsonError, ParsedJson, Path, TextPosition, parse
from tui.model import Connector, Offset, topics_read
from tui.offsets import partitions

Json = Any


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"


class Problem(NamedTuple):
    """An error or a warning, with its position in the text."""

    severity: Severity
    message: str
    place: TextPosition

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place.line else self.message


class CheckedOffsets(NamedTuple):
    """The entries of a text, and the problems found."""

    entries: tuple[Offset, ...]
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.WARNING)


def check(text: str, connector: Connector, known: Sequence[Offset]) -> CheckedOffsets:
    """Checks the syntax, the shape, the rules of the kind of connector, and the similarity to the `known` offsets."""
    try:
        parsed = parse(text)
    except JsonError as error:
        return CheckedOffsets((), (Problem(Severity.ERROR, error.message, error.place),))
    return _Check(parsed, connector, known).run()


class _Check:
    def __init__(self, parsed: ParsedJson, connector: Connector, known: Sequence[Offset]) -> None:
        self.parsed, self.connector, self.known = parsed, connector, known
        self.by_key = {partitions.key(offset.partition): offset for offset in known}
        self.problems: list[Problem] = []
        self.base: Path = ()

    def run(self) -> CheckedOffsets:
        entries = [offset for path, entry in self._raw_entries() if (offset := self._entry(path, entry))]
        if not any(problem.severity is Severity.ERROR for problem in self.problems):
            self._duplicates()
        self.problems.sort(key=lambda problem: (problem.severity is Severity.WARNING, problem.place))
        return CheckedOffsets(tuple(entries), tuple(self.problems))

    def _add(self, severity: Severity, path: Path, message: str) -> None:
        self.problems.append(Problem(severity, message, self.parsed.place(path)))

    def _error(self, path: Path, message: str) -> None:
        self._add(Severity.ERROR, path, message)

    def _raw_entries(self) -> Iterator[tuple[Path, Json]]:
        """`{"offsets": […]}`, or the bare list."""
        value = self.parsed.value
        if isinstance(value, dict):
            stray = [name for name in value if name != "offsets"]
            if stray:
                self._error((stray[0],), f'unknown key "{stray[0]}": expected only "offsets"')
            if "offsets" not in value:
                self._error((), 'missing key "offsets"')
            value, self.base = value.get("offsets", []), ("offsets",)
        if not isinstance(value, list):
            self._error(self.base, "expected a list of offsets in [ ]")
            return
        for place, entry in enumerate(value):
            yield (*self.base, place), entry

    def _entry(self, path: Path, entry: Json) -> Offset | None:
        if not isinstance(entry, dict):
            self._error(path, 'expected an object with "partition" and "offset"')
            return None
        for name in entry:
            if name not in ("partition", "offset"):
                self._error((*path, name), f'unknown key "{name}": an entry has "partition" and "offset"')
        for name in ("partition", "offset"):
            if name not in entry:
                self._error(path, f'"{name}" is missing' + (" (null resets it)" if name == "offset" else ""))
        if not {"partition", "offset"} <= entry.keys():
            return None
        checked = Offset(entry["partition"], entry["offset"])
        self._shape(path, checked)
        return checked

    def _shape(self, path: Path, entry: Offset) -> None:
        if not isinstance(entry.partition, dict):
            self._error((*path, "partition"), "the partition must be an object, in { }")
            return
        if entry.offset is not None and not isinstance(entry.offset, dict):
            self._error((*path, "offset"), "the offset must be an object in { }, or null to reset it")
            return
        before = len(self.problems)
        if self.connector.type == "sink":
            self._sink(path, entry)
        elif partitions.is_file_source(self.connector):
            self._file_source(path, entry)
        if len(self.problems) == before:
            self._similarity(path, entry)

    def _sink(self, path: Path, entry: Offset) -> None:
        """Checks the rules that Connect applies to every sink."""
        partition, offset = entry.partition, entry.offset
        for name in ("kafka_topic", "kafka_partition"):
            if name not in partition:
                self._error((*path, "partition"), f'a sink\'s partition needs "{name}"')
        if not isinstance(partition.get("kafka_topic", ""), str):
            self._error((*path, "partition", "kafka_topic"), "kafka_topic must be a string")
        if "kafka_partition" in partition:
            self._natural_number((*path, "partition", "kafka_partition"), partition["kafka_partition"], text_too=True)
        if offset is not None and "kafka_offset" not in offset:
            self._error((*path, "offset"), 'a sink\'s offset needs "kafka_offset", or is null')
        elif offset is not None:
            self._natural_number((*path, "offset", "kafka_offset"), offset["kafka_offset"], text_too=True)

    def _file_source(self, path: Path, entry: Offset) -> None:
        partition, offset = entry.partition, entry.offset
        if not isinstance(partition.get("filename"), str):
            self._error((*path, "partition"), 'the partition of a file source is {"filename": "…"}')
        if offset is not None and "position" not in offset:
            self._error((*path, "offset"), 'the offset of a file source is {"position": N}, or null')
        elif offset is not None:
            self._natural_number((*path, "offset", "position"), offset["position"])

    def _natural_number(self, path: Path, value: Json, text_too: bool = False) -> None:
        if text_too and isinstance(value, str) and value.isascii() and value.isdecimal():
            value = int(value) if len(value) <= partitions.MAX_DIGITS else 2**63
        if not isinstance(value, int) or isinstance(value, bool):
            self._error(path, f"{path[-1]} must be a whole number")
        elif value < 0:
            self._error(path, f"{path[-1]} must not be negative")
        elif value >= 2**63:
            self._error(path, f"{path[-1]} does not fit in 64 bits")

    def _similarity(self, path: Path, entry: Offset) -> None:
        """Warns about an unknown partition, and about an offset with other keys or types than the current one."""
        same = self.by_key.get(partitions.key(entry.partition))
        if same is None:
            self._unknown(path, entry)
        model = same or next(iter(self.known), None)
        if entry.offset is None or model is None or not isinstance(model.offset, dict):
            return
        wanted = model.offset
        for name, value in entry.offset.items():
            if name not in wanted:
                self._add(Severity.WARNING, (*path, "offset", name), f'"{name}" is not in the current offset')
            elif wanted[name] is not None and type(value) is not type(wanted[name]):
                kind = _KINDS.get(type(wanted[name]), "of another type")
                self._add(Severity.WARNING, (*path, "offset", name), f'"{name}" is {kind} in the current offset')
        for name in wanted:
            if name not in entry.offset:
                self._add(Severity.WARNING, (*path, "offset"), f'"{name}" is missing, but the current offset has it')

    def _unknown(self, path: Path, entry: Offset) -> None:
        """Warns about a partition that the connector cannot or does not yet have."""
        topics = topics_read(self.connector.config)
        topic = entry.partition.get("kafka_topic")
        if self.connector.type == "sink" and topics and topic not in topics:
            self._add(Severity.WARNING, (*path, "partition"), f"the connector does not read the topic {topic}")
        elif self.known:
            self._add(Severity.WARNING, (*path, "partition"), "a new partition: the connector has no offset for it yet")

    def _duplicates(self) -> None:
        seen: dict[str, int] = {}
        for place, (path, entry) in enumerate(self._raw_entries()):
            key = partitions.key(entry["partition"])
            if key in seen:
                self._error((*path, "partition"), f"duplicate of the partition in entry {seen[key] + 1}")
            seen.setdefault(key, place)


_KINDS: dict[type, str] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}
