"""The configuration of FilesSink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, grouped
from runtime.api.config.types import invalid
from runtime.api.java_compat.date_format import DatePattern
from runtime.connectors.files.formats import COMPRESSIONS, FileFormat, known_compression, one_character
from runtime.connectors.files.location import FileLocation, location_keys

FORMAT, COMPRESSION = "format", "compression"
FLUSH_SIZE, ROTATE_BYTES = "flush.size", "rotate.bytes"
ROTATE_INTERVAL, ROTATE_SCHEDULE = "rotate.interval.ms", "rotate.schedule.interval.ms"
PARTITION_FIELDS, PATH_FORMAT = "partition.field.name", "path.format"
TIMESTAMP_FIELD, TIMEZONE = "timestamp.field", "timezone"
COMPATIBILITY, ON_NULL = "schema.compatibility", "behavior.on.null.values"
_ROTATION, _FORMAT, _PARTITIONING, _WRITING = "Rotation", "Format", "Partitioning", "Writing"
_MERGE, _NONE, _IGNORE, _FAIL = "merge", "none", "ignore", "fail"


class _Compressions:
    """Recommends the compressions of the chosen format."""

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        file_format = parsed.get(FORMAT)
        return list(COMPRESSIONS[FileFormat(file_format)]) if file_format else []

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return True


def _pattern(name: str, value: Any) -> None:
    if value:
        DatePattern(value)


def _zone(name: str, value: Any) -> None:
    try:
        ZoneInfo(str(value))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise invalid(name, value, "Unknown time zone") from None


_POSITIVE = validators.optional(validators.at_least(1))


def compression_problem(file_format: FileFormat, compression: str) -> str | None:
    """The error if a format does not support a compression."""
    known = COMPRESSIONS[file_format]
    if compression in known:
        return None
    return f"Invalid value {compression} for configuration {COMPRESSION}: {file_format} supports {', '.join(known)}"


def conflicts(parsed: Mapping[str, Any]) -> dict[str, str]:
    """The errors of keys that do not fit each other (ConfigDef)."""
    errors: dict[str, str] = {}
    if parsed.get(FORMAT) and parsed.get(COMPRESSION):
        problem = compression_problem(FileFormat(parsed[FORMAT]), parsed[COMPRESSION])
        if problem is not None:
            errors[COMPRESSION] = problem
    if parsed.get("s3.access.key.id") and not parsed.get("s3.secret.access.key"):
        errors["s3.secret.access.key"] = (
            'Missing required configuration "s3.secret.access.key": the access key needs its secret'
        )
    if str(parsed.get("url", "")).startswith(("abfs:", "abfss:")) and not parsed.get("azure.account.name"):
        errors["azure.account.name"] = 'Missing required configuration "azure.account.name", which abfs:// URLs need'
    return errors


CONFIG = ConfigDef(
    *location_keys(
        "Folder for the files: an absolute path or file:///path, s3://bucket/folder, gs://bucket/folder, "
        "abfs://container/folder, or a URL of another scheme that fsspec supports."
    ),
    *grouped(_FORMAT, 0,
        ConfigKey(FORMAT, ConfigType.STRING, "parquet", Importance.HIGH, "Format of the files: parquet, json (a JSON "
             "document per line), csv or avro.", validators.one_of(*FileFormat), dependents=(COMPRESSION,)),
        ConfigKey(COMPRESSION, ConfigType.STRING, "", Importance.MEDIUM, "Compression of the files. The default "
             "depends on the format: snappy for parquet, deflate for avro, none for json and csv.", known_compression,
             recommender=_Compressions()),
        ConfigKey(COMPATIBILITY, ConfigType.STRING, _MERGE, Importance.MEDIUM, "What happens when the schema changes "
             "within a file: merge adds new fields and widens numbers, and starts another file only for types that "
             "have no common type; none starts another file for each change of the Connect schema.",
             validators.one_of(_MERGE, _NONE)),
        ConfigKey("csv.delimiter", ConfigType.STRING, ",", Importance.LOW, "Character between the fields of CSV files.",
             one_character),
        ConfigKey("csv.header", ConfigType.BOOLEAN, True, Importance.LOW, "Whether CSV files start with the names of "
             "the fields."),
    ),
    *grouped(_ROTATION, 0,
        ConfigKey(FLUSH_SIZE, ConfigType.INT, 100_000, Importance.HIGH, "Records of a topic partition after which its "
             "files are closed.", validators.at_least(1)),
        ConfigKey(ROTATE_BYTES, ConfigType.LONG, None, Importance.MEDIUM, "Bytes of keys and values, as stored in "
             "Kafka, of a topic partition after which its files are closed.", _POSITIVE),
        ConfigKey(ROTATE_INTERVAL, ConfigType.LONG, None, Importance.MEDIUM, "Files are closed before a record whose "
             "timestamp is at least this many milliseconds later than that of the first record.", _POSITIVE),
        ConfigKey(ROTATE_SCHEDULE, ConfigType.LONG, None, Importance.MEDIUM, "Files are closed this many milliseconds "
             "after their first record was received, also if no more records arrive.", _POSITIVE),
    ),
    *grouped(_PARTITIONING, 0,
        ConfigKey(PARTITION_FIELDS, ConfigType.LIST, "", Importance.MEDIUM, "Fields whose values name folders, as in "
             "country=DE. A path of names separated by dots leads to a nested field."),
        ConfigKey(PATH_FORMAT, ConfigType.STRING, "", Importance.MEDIUM, "Pattern, in the syntax of Java's "
             "SimpleDateFormat, of folders for the time of records, such as 'year'=yyyy/'month'=MM/'day'=dd.",
             _pattern),
        ConfigKey(TIMESTAMP_FIELD, ConfigType.STRING, "", Importance.MEDIUM, "Field with the time of a record, in "
             "milliseconds since 1970, as a Timestamp or as text in ISO 8601. Without it, the time is the record's "
             "timestamp in Kafka."),
        ConfigKey(TIMEZONE, ConfigType.STRING, "UTC", Importance.MEDIUM, "Time zone of the folders for the time.",
             _zone),
    ),
    *grouped(_WRITING, 0,
        ConfigKey(ON_NULL, ConfigType.STRING, _IGNORE, Importance.MEDIUM, "What happens with records whose value is "
             "null: ignore or fail.", validators.one_of(_IGNORE, _FAIL)),
        ConfigKey("buffer.bytes", ConfigType.LONG, 64 * 1024 * 1024, Importance.LOW, "Memory of a task for the records "
             "of open files. Beyond it, records are kept in temporary files.", validators.at_least(0)),
        ConfigKey("upload.threads", ConfigType.INT, 2, Importance.LOW, "Number of files that a task writes at the same "
             "time.", validators.between(1, 32)),
        ConfigKey("upload.retries", ConfigType.INT, 5, Importance.LOW, "How often writing a file is tried again after "
             "an error.", validators.at_least(0)),
    ),
    conflicts=conflicts,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FilesSinkSettings:
    """The typed configuration of a task."""

    location: FileLocation
    format: FileFormat
    compression: str
    merges: bool
    delimiter: str
    header: bool
    flush_size: int
    rotate_bytes: int | None
    rotate_interval: int | None  # milliseconds of record time
    rotate_schedule: float | None  # seconds
    partition_fields: tuple[str, ...]
    path_format: str
    timestamp_field: str
    timezone: str
    null_fails: bool
    buffer_bytes: int
    upload_threads: int
    upload_retries: int

    @classmethod
    def of(cls, config: Mapping[str, str]) -> FilesSinkSettings:
        """The settings of a configuration; ConfigError for the first invalid one."""
        parsed = CONFIG.parse(config)
        file_format = FileFormat(parsed[FORMAT])
        compression = parsed[COMPRESSION] or COMPRESSIONS[file_format][0]
        schedule = parsed[ROTATE_SCHEDULE]
        return cls(
            FileLocation.of(parsed), file_format, compression, parsed[COMPATIBILITY] == _MERGE, parsed["csv.delimiter"],
            parsed["csv.header"], parsed[FLUSH_SIZE], parsed[ROTATE_BYTES], parsed[ROTATE_INTERVAL],
            schedule and schedule / 1000, tuple(parsed[PARTITION_FIELDS]), parsed[PATH_FORMAT] or "",
            parsed[TIMESTAMP_FIELD] or "", parsed[TIMEZONE], parsed[ON_NULL] == _FAIL, parsed["buffer.bytes"],
            parsed["upload.threads"], parsed["upload.retries"],
        )  # fmt: skip
