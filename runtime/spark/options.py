"""The options of the data source: those of Headrace, and the configuration of the connector.

Spark gives Python data sources their options in lower case. connector.py restores the keys that a connector defines;
for all others there is `headrace.config`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from runtime.api.errors import ConfigError
from runtime.config.properties import comma_separated

PREFIX = "headrace."
_KAFKA = f"{PREFIX}kafka."
_SPARK = ("checkpointlocation", "queryname", "path")
"""Options that Spark adds itself."""

VALUE_SCHEMA, _INFER_SCHEMA = "value.schema", "inferschema"
_INFER = (VALUE_SCHEMA, _INFER_SCHEMA)
_INFERRED = 1000  # records

_PROVIDERS = {
    "config.providers": "env,file,dir",
    "config.providers.env.class": "EnvVarConfigProvider",
    "config.providers.file.class": "FileConfigProvider",
    "config.providers.dir.class": "DirectoryConfigProvider",
}


class Columns(StrEnum):
    """The columns of the DataFrame."""

    VALUE = "value"
    """The fields of the records' values."""
    RECORD = "record"
    """Key, value, topic, timestamp and headers, as in Spark's Kafka source."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """The options of one `read`, `readStream`, `write` or `writeStream`; times in seconds."""

    connector: Mapping[str, str]
    """The connector's configuration with keys in lower case."""
    exact: Mapping[str, str] = field(default_factory=dict)
    """The keys that were given in `headrace.config`, in their original case."""
    columns: Columns | None = None
    infer_records: int | None = None
    """The records from which columns are inferred; None: they are not."""
    batch_rows: int | None = None
    buffer_bytes: int = 0
    idle: float = 0.0
    timeout: float = 0.0
    most_records: int | None = None
    spool_path: str = ""
    plugin_path: tuple[str, ...] = ()
    java_prefer: tuple[str, ...] = ()
    kafka: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SparkOptions:
        """The options as Spark gives them. ConfigError names an option that is unknown or invalid."""
        given = {name.lower(): text for name, text in options.items()}
        own = {name: text for name, text in given.items() if name.startswith(PREFIX)}
        kafka = {name.removeprefix(_KAFKA): own.pop(name) for name in list(own) if name.startswith(_KAFKA)}
        take = _Taken(own)
        infers, most = _infers(given), take.number("infer.records") or _INFERRED
        columns = _columns(take.text("columns"))
        if infers and columns is Columns.RECORD:
            raise ConfigError(
                f"Options {VALUE_SCHEMA}=infer and {PREFIX}columns=record: with the former, the columns are the fields "
                "of values"
            )
        parsed = cls(
            connector={n: t for n, t in given.items() if not n.startswith(PREFIX) and n not in (*_SPARK, *_INFER)},
            exact=_exact(take.text("config")),
            columns=Columns.VALUE if infers else columns,
            infer_records=most if infers else None,
            batch_rows=take.number("max.records.per.batch"),
            buffer_bytes=(take.number("buffer.mb") or 128) * 1024 * 1024,
            idle=(take.number("idle.ms") or 3000) / 1000,
            timeout=(take.number("timeout.ms") or 60_000) / 1000,
            most_records=take.number("max.records"),
            spool_path=take.text("spool.path"),
            plugin_path=take.list("plugin.path"),
            java_prefer=take.list("java.prefer"),
            kafka=kafka,
        )
        take.check_all_known()
        return parsed

    @property
    def infers(self) -> bool:
        """Whether the fields of values without a schema are columns, those of JSON texts, too."""
        return self.infer_records is not None

    @property
    def worker(self) -> dict[str, str]:
        """The properties that a worker's file would have."""
        return {**_PROVIDERS, **self.kafka}


class _Taken:
    """Headrace's own options, which are removed when they are read."""

    def __init__(self, own: Mapping[str, str]) -> None:
        self._left, self._known = dict(own), [f"{_KAFKA}*"]

    def text(self, name: str) -> str:
        self._known.append(PREFIX + name)
        return self._left.pop(PREFIX + name, "").strip()

    def list(self, name: str) -> tuple[str, ...]:
        return tuple(comma_separated(self.text(name)))

    def number(self, name: str) -> int | None:
        text = self.text(name)
        if text and (not text.isdigit() or not int(text)):
            raise ConfigError(f"Option {PREFIX}{name}={text}: expected a positive integer")
        return int(text) if text else None

    def check_all_known(self) -> None:
        if self._left:
            name = min(self._left)
            raise ConfigError(f"Option {name} is unknown; choose from {', '.join(sorted(self._known))}")


def _infers(given: Mapping[str, str]) -> bool:
    """Whether the types of values without a schema are inferred, as with Spark's own option for JSON and CSV."""
    value, spark = given.get(VALUE_SCHEMA, "").strip().lower(), given.get(_INFER_SCHEMA, "").strip().lower()
    if value not in ("", "infer"):
        raise ConfigError(
            f"Option {VALUE_SCHEMA}={value}: expected infer. Give other schemas with .schema('id BIGINT')"
        )
    if spark not in ("", "true", "false"):
        raise ConfigError(f"Option inferSchema={spark}: expected true or false")
    return value == "infer" or spark == "true"


def _columns(text: str) -> Columns | None:
    if not text:
        return None
    try:
        return Columns(text.lower())
    except ValueError:
        raise ConfigError(f"Option {PREFIX}columns={text}: expected {' or '.join(Columns)}") from None


def _exact(text: str) -> dict[str, str]:
    if not text:
        return {}
    try:
        config = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"Option {PREFIX}config is not valid JSON: {error}") from None
    if not isinstance(config, dict) or not all(isinstance(value, str) for value in config.values()):
        raise ConfigError(f"Option {PREFIX}config: expected a JSON object whose values are strings")
    return config
