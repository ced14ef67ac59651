"""JsonConverter: JSON, with the schema beside the payload (`schemas.enable`, the default) or without."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from runtime.api.config import ConfigDef, ConfigKey, Importance, Type, Width
from runtime.api.converter import Converter, HeaderConverter
from runtime.api.errors import ConfigError, DataError
from runtime.api.schema import Schema
from runtime.converters.definitions import CONVERTER_TYPE
from runtime.converters.json_schema import read_schema, schema_json
from runtime.converters.json_values import from_payload, infer_schema, plain, to_payload

_MALFORMED = "Converting byte[] to Kafka Connect data failed due to serialization error: "
_NO_ENVELOPE = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields. '
    "If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration."
)


def _key(name: str, kind: Type, default: Any, doc: str, group: str, order: int, display: str, **more: Any) -> ConfigKey:
    return ConfigKey(
        name,
        kind,
        default,
        more.get("importance", Importance.HIGH),
        doc,
        group=group,
        order_in_group=order,
        width=Width.MEDIUM,
        display_name=display,
    )


class JsonConverter(Converter, HeaderConverter):
    """Without schemas numbers are Python's int and float, objects dicts, arrays lists."""

    java_name = "org.apache.kafka.connect.json.JsonConverter"
    config_def = ConfigDef(
        CONVERTER_TYPE,
        _key(
            "schemas.enable",
            Type.BOOLEAN,
            True,
            "Whether each message carries its schema, as an object with the fields schema and payload.",
            "Schemas",
            0,
            "Enable Schemas",
        ),
        _key(
            "schemas.cache.size",
            Type.INT,
            1000,
            "How many schemas are kept in their converted form.",
            "Schemas",
            1,
            "Schema Cache Size",
        ),
        _key(
            "schema.content",
            Type.STRING,
            None,
            "A schema, in JSON, for messages that are plain payloads: they are read as if it were in each of them.",
            "Schemas",
            2,
            "Schema Content",
        ),
        _key(
            "decimal.format",
            Type.STRING,
            "BASE64",
            "How decimals are written: BASE64 (the unscaled bytes) or NUMERIC (a JSON number).",
            "Serialization",
            0,
            "Decimal Format",
            importance=Importance.LOW,
        ),
        _key(
            "replace.null.with.default",
            Type.BOOLEAN,
            True,
            "Whether a null takes the default value that its schema has.",
            "Serialization",
            1,
            "Replace null with default",
            importance=Importance.LOW,
        ),
    )

    def __init__(self) -> None:
        self._schemas = True
        self._content: Schema | None = None
        self._fill = True
        self._schema_bytes = _schema_cache(1000)

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        parsed = self.config_def.parse({"converter.type": "key" if is_key else "value", **config})
        self._schemas = parsed["schemas.enable"]
        self._fill = parsed["replace.null.with.default"]
        self._schema_bytes = _schema_cache(parsed["schemas.cache.size"])
        content = parsed["schema.content"]
        if content:
            try:
                self._content = read_schema(orjson.loads(content))
            except (orjson.JSONDecodeError, DataError) as error:
                raise ConfigError(f"Invalid value for configuration schema.content: {error}") from error

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None and schema is None:
            return None
        if not self._schemas:
            return _dumps(value if schema is None else to_payload(schema, value, self._fill))
        if schema is None:
            return b'{"schema":null,"payload":' + _dumps(plain(value)) + b"}"
        payload = _dumps(to_payload(schema, value, self._fill))
        return b'{"schema":' + self._schema_bytes(schema) + b',"payload":' + payload + b"}"

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            if not data:
                return None, None
            raise DataError(_MALFORMED) from error
        if self._content is not None:
            return self._content, from_payload(self._content, value, self._fill)
        if not self._schemas:
            return None, value
        if type(value) is not dict or len(value) != 2 or "schema" not in value or "payload" not in value:
            raise DataError(_NO_ENVELOPE)
        envelope, payload = value["schema"], value["payload"]
        if envelope is None:
            return (None, None) if payload is None else (infer_schema(payload), payload)
        schema = _read_cached(orjson.dumps(envelope))
        return schema, from_payload(schema, payload, self._fill)

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect(topic, schema, value)

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return self.to_connect(topic, data)


@lru_cache(maxsize=1000)
def _read_cached(envelope: bytes) -> Schema:
    """One schema object for all messages that bring the same schema."""
    return read_schema(orjson.loads(envelope))


def _schema_cache(size: int) -> Callable[[Schema], bytes]:
    """A schema's JSON, by identity and value: tasks share schema objects, so this is one look-up per record."""

    @lru_cache(maxsize=size)
    def by_value(schema: Schema) -> bytes:
        return orjson.dumps(schema_json(schema))

    last: list[Any] = [None, b""]

    def cached(schema: Schema) -> bytes:
        if schema is not last[0]:
            try:
                last[:] = [schema, by_value(schema)]
            except TypeError:  # a default that cannot be hashed
                last[:] = [schema, orjson.dumps(schema_json(schema))]
        return last[1]  # type: ignore[no-any-return]

    return cached


def _dumps(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(plain(value))
