"""InsertHeader and DropHeaders add and remove headers."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.api.config.definition import ConfigDef, ConfigType
from runtime.api.config.validators import non_null
from runtime.api.data.columns import BatchMetadata, ConstantColumn, ValueBatch
from runtime.api.data.record import Header, Headers
from runtime.api.literals.literals import parse_literal
from runtime.api.transformation import RecordT, Transformation
from runtime.transforms.definitions import key, some_values


class InsertHeader(Transformation):
    """Adds a header, even if the record has headers of this name."""

    java_name = "org.apache.kafka.connect.transforms.InsertHeader"
    config_def = ConfigDef(
        key("header", "Name of the header.", validator=non_null),
        key(
            "value.literal",
            "Value of the header as a literal: 17 is a number, true a boolean, [1,2] an array.",
            validator=non_null,
        ),
    )

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        schema, value = parse_literal(parsed["value.literal"])
        self._header: Header = (parsed["header"], schema, value)

    def apply(self, record: RecordT) -> RecordT | None:
        headers: Headers = list(record.headers or ())
        headers.append(self._header)
        record.headers = headers
        return record

    def apply_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        added, old = self._header, metadata.headers
        if type(old) is ConstantColumn:
            metadata.headers = ConstantColumn([*(old.value or ()), added], values.count)
        else:
            metadata.headers = [[*headers, added] if headers else [added] for headers in old]
        return values


class DropHeaders(Transformation):
    """Removes all headers of these names."""

    java_name = "org.apache.kafka.connect.transforms.DropHeaders"
    config_def = ConfigDef(key("headers", "Names of the headers to remove.", ConfigType.LIST, validator=some_values))

    def configure(self, config: Mapping[str, str]) -> None:
        self._names = frozenset(self.config_def.parse(config)["headers"])

    def apply(self, record: RecordT) -> RecordT | None:
        if record.headers:
            record.headers = self._left(record.headers)
        return record

    def apply_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        old = metadata.headers
        if type(old) is ConstantColumn:
            metadata.headers = ConstantColumn(self._left(old.value), values.count)
        elif any(old):
            metadata.headers = list(map(self._left, old))
        return values

    def _left(self, headers: Headers | None) -> Headers | None:
        return headers and [header for header in headers if header[0] not in self._names]
