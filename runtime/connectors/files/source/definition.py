"""The configuration of FilesSource."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, grouped
from runtime.api.config.types import invalid
from runtime.connectors.config_keys import TOPIC_KEY
from runtime.connectors.files.formats import FileFormat, one_character
from runtime.connectors.files.location import FileLocation, location_keys

TOPIC, FORMAT, PATTERN = "topic", "format", "pattern"
ORDER, FINISHED, ARCHIVE = "order", "finished.files", "archive.url"
ON_ERROR, DEAD_LETTERS = "unreadable.files", "errors.deadletterqueue.topic.name"
AUTO, BY_NAME, BY_TIME = "auto", "name", "modified"
LEAVE, ARCHIVED, DELETE, FAIL, SKIP = "leave", "archive", "delete", "fail", "skip"
TASK_NUMBER, TASK_COUNT = "task.number", "task.count"
"""Keys that the connector adds to the configuration of each task."""
_FILES, _RECORDS = "Files", "Records"


_ASCII = bytes(range(0x20, 0x7F))
_WITH_STATES = ("iso2022", "hz", "utf-7")  # escapes give bytes of ASCII another meaning


def _known_charset(name: str, value: Any) -> None:
    """Validator: an encoding in which a byte of ASCII is always that character, since rows are cut as bytes."""
    try:
        codec = codecs.lookup(value).name
        suits = not codec.startswith(_WITH_STATES) and _ASCII.decode(codec, "replace") == _ASCII.decode("ascii")
    except (LookupError, ValueError, TypeError):  # unknown, not an encoding of text, or no name
        suits = False
    if not suits:
        raise invalid(name, value, "Must be an encoding that contains ASCII, such as UTF-8, ISO-8859-1, windows-1252")


class _ArchiveApplies:
    """Shows `archive.url` only if finished files are archived."""

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return []

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return parsed.get(FINISHED) == ARCHIVED


def conflicts(parsed: Mapping[str, Any]) -> dict[str, str]:
    """The errors of keys that do not fit each other (ConfigDef)."""
    problem = archive_problem(parsed)
    return {} if problem is None else {ARCHIVE: problem}


CONFIG = ConfigDef(
    *location_keys(
        "Folder of the files: an absolute path or file:///path, s3://bucket/folder, gs://bucket/folder, "
        "abfs://container/folder, or a URL of another scheme that fsspec supports. Nested folders are included."
    ),
    *grouped(_RECORDS, 0,
        TOPIC_KEY,
    ),
    *grouped(_FILES, 0,
        ConfigKey(FORMAT, ConfigType.STRING, AUTO, Importance.HIGH, "Format of the files: parquet, json (a JSON "
             "document per line), csv or avro. With auto, the extension of each file determines it, and files with "
             "other extensions are ignored.", validators.one_of(AUTO, *FileFormat)),
        ConfigKey(PATTERN, ConfigType.STRING, "**", Importance.MEDIUM, "Pattern of the paths of files below the "
             "folder: * stands for any characters except a slash, ? for one of them, **/ for any folders.",
             validators.non_empty),
        ConfigKey(ORDER, ConfigType.STRING, BY_NAME, Importance.MEDIUM, "Order in which a task reads files that it has "
             "found: by their name or by the time of their modification.", validators.one_of(BY_NAME, BY_TIME)),
        ConfigKey("poll.interval.ms", ConfigType.LONG, 5000, Importance.MEDIUM, "Milliseconds between two listings of "
             "the folder, if all known files have been read.", validators.at_least(10)),
        ConfigKey("minimum.age.ms", ConfigType.LONG, 0, Importance.MEDIUM, "Files are read this many milliseconds "
             "after their last modification, for writers that do not rename complete files.", validators.at_least(0)),
        ConfigKey("finished.after.ms", ConfigType.LONG, 60_000, Importance.MEDIUM, "A file counts as finished when it "
             "has not been modified for this many milliseconds: only then is a last line without a line break read, "
             "the file archived or deleted, or reported as unreadable if it is incomplete. Objects in Amazon S3 and "
             "Google Cloud Storage are finished when they appear.", validators.at_least(0)),
        ConfigKey(FINISHED, ConfigType.STRING, LEAVE, Importance.MEDIUM, "What happens with a file after the offset of "
             "its last record has been committed and it is finished: leave, archive (moves it to archive.url) or "
             "delete.", validators.one_of(LEAVE, ARCHIVED, DELETE), dependents=(ARCHIVE,)),
        ConfigKey(ARCHIVE, ConfigType.STRING, "", Importance.MEDIUM, "Folder for archived files, in the same file "
             "system as url and not within it.", recommender=_ArchiveApplies()),
        ConfigKey(ON_ERROR, ConfigType.STRING, FAIL, Importance.MEDIUM, "What happens with a file that cannot be read: "
             "fail stops the task, skip logs the error and continues with the next file.",
             validators.one_of(FAIL, SKIP)),
    ),
    *grouped(_RECORDS, 1,
        ConfigKey("batch.size", ConfigType.INT, 5000, Importance.LOW, "Most records of a batch.",
             validators.between(1, 100_000)),
        ConfigKey(DEAD_LETTERS, ConfigType.STRING, "", Importance.MEDIUM, "Topic for the bytes of rows that cannot be "
             "read and that errors.tolerance=all skips. The error is in their headers."),
        ConfigKey("charset", ConfigType.STRING, "utf-8", Importance.LOW, "Character encoding of JSON and CSV files: "
             "UTF-8 or another that contains ASCII, such as ISO-8859-1 or windows-1252; not UTF-16 or UTF-32.",
             _known_charset),
        ConfigKey("csv.delimiter", ConfigType.STRING, ",", Importance.LOW, "Character between the fields of CSV files; "
             "a tab in .tsv files.", one_character),
        ConfigKey("csv.header", ConfigType.BOOLEAN, True, Importance.LOW, "Whether CSV files start with the names of "
             "the fields."),
        ConfigKey("csv.columns", ConfigType.LIST, "", Importance.LOW, "Names of the fields of CSV files, instead of "
             "those in the header. Without names and header: column1, column2, …"),
    ),
    conflicts=conflicts,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FilesSourceSettings:
    """The typed configuration of a connector or task."""

    location: FileLocation
    topic: str
    format: FileFormat | None  # None: by extension
    pattern: str
    by_time: bool
    poll_interval: float  # seconds
    minimum_age: int  # milliseconds
    finished_after: float  # seconds
    finished: str
    archive: FileLocation | None
    skips: bool
    batch_size: int
    delimiter: str
    header: bool
    columns: tuple[str, ...]
    charset: str
    dead_letters: str
    tolerant: bool
    task: int
    tasks: int

    @classmethod
    def of(cls, config: Mapping[str, str]) -> FilesSourceSettings:
        """The settings of a configuration; ConfigError for the first invalid one."""
        parsed = CONFIG.parse(config)
        kind = parsed[FORMAT]
        return cls(
            FileLocation.of(parsed), parsed[TOPIC], None if kind == AUTO else FileFormat(kind), parsed[PATTERN],
            parsed[ORDER] == BY_TIME, parsed["poll.interval.ms"] / 1000, parsed["minimum.age.ms"],
            parsed["finished.after.ms"] / 1000, parsed[FINISHED],
            FileLocation.of(parsed, ARCHIVE) if parsed[ARCHIVE] else None, parsed[ON_ERROR] == SKIP,
            parsed["batch.size"], parsed["csv.delimiter"], parsed["csv.header"], tuple(parsed["csv.columns"]),
            codecs.lookup(parsed["charset"]).name, parsed[DEAD_LETTERS],
            config.get("errors.tolerance", "none").lower() == "all",
            int(config.get(TASK_NUMBER, 0)), int(config.get(TASK_COUNT, 1)),
        )  # fmt: skip


def archive_problem(parsed: Mapping[str, Any]) -> str | None:
    """The error if finished files are to be archived and the folder for them is missing or wrong."""
    if parsed.get(FINISHED) != ARCHIVED or not parsed.get("url"):
        return None
    if not parsed.get(ARCHIVE):
        return f'Missing required configuration "{ARCHIVE}", which {FINISHED}={ARCHIVED} needs'
    own, archive = FileLocation.of(parsed), FileLocation.of(parsed, ARCHIVE)
    if own.kind != archive.kind:
        return f"Invalid value {parsed[ARCHIVE]} for configuration {ARCHIVE}: must be in the same file system as url"
    if f"{archive.folder}/".startswith(f"{own.folder}/"):
        return f"Invalid value {parsed[ARCHIVE]} for configuration {ARCHIVE}: must not be within url"
    return None
