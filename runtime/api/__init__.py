"""The public plugin API: everything that the author of a connector, converter, transformation or predicate imports.

    from runtime.api import ConfigDef, ConfigKey, ConfigType, SourceConnector, SourceRecord, SourceTask

These are Kafka Connect's interfaces in Python (https://kafka.apache.org/documentation/#connect_development); see
docs/plugins.md for an example. Names outside `__all__` are internal and may change. A name is imported on first use, so
importing one module of the API does not import the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.api.async_task import (
        AsyncErrantRecordReporter,
        AsyncOffsetReader,
        AsyncSinkTask,
        AsyncSinkTaskContext,
        AsyncSourceTask,
        AsyncSourceTaskContext,
        AsyncTask,
    )
    from runtime.api.config import validators
    from runtime.api.config.definition import (
        REQUIRED,
        ConfigDef,
        ConfigKey,
        ConfigValue,
        Importance,
        Recommender,
        Width,
    )
    from runtime.api.config.types import ConfigType, Password
    from runtime.api.config.validators import Validator
    from runtime.api.connector import (
        Connector,
        ConnectorContext,
        ExactlyOnceSupport,
        SinkConnector,
        SourceConnector,
        SourceConnectorContext,
        group_partitions,
    )
    from runtime.api.converter import Converter, HeaderConverter
    from runtime.api.data.batch import SinkBatch, SourceBatch
    from runtime.api.data.columns import BatchMetadata, Column, ConstantColumn, Derived, MixedBatchError, ValueBatch
    from runtime.api.data.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
    from runtime.api.data.projection import ProjectionError, project
    from runtime.api.data.record import ErrantSourceRecord, Header, Headers, SinkRecord, SourceRecord, TopicPartition
    from runtime.api.data.schema import (
        BOOLEAN_SCHEMA,
        BYTES_SCHEMA,
        FLOAT32_SCHEMA,
        FLOAT64_SCHEMA,
        INT8_SCHEMA,
        INT16_SCHEMA,
        INT32_SCHEMA,
        INT64_SCHEMA,
        OPTIONAL_BYTES_SCHEMA,
        OPTIONAL_INT32_SCHEMA,
        OPTIONAL_INT64_SCHEMA,
        OPTIONAL_STRING_SCHEMA,
        STRING_SCHEMA,
        Field,
        Schema,
        Type,
        struct_schema,
    )
    from runtime.api.data.schema_builder import SchemaBuilder
    from runtime.api.data.schema_cache import SchemaCache
    from runtime.api.data.struct import Struct, field_value
    from runtime.api.data.validate import validate_struct, validate_value
    from runtime.api.errors import (
        AlreadyExistsError,
        ConfigError,
        ConnectError,
        DataError,
        IllegalArgumentError,
        NotFoundError,
        RetriableError,
        SchemaBuilderError,
        UnsupportedOffsetsError,
    )
    from runtime.api.task import (
        ErrantRecordReporter,
        Offset,
        OffsetAndMetadata,
        OffsetReader,
        Partition,
        PendingReport,
        RecordMetadata,
        SinkTask,
        SinkTaskContext,
        SourceTask,
        SourceTaskContext,
        Task,
        TransactionContext,
    )
    from runtime.api.transformation import (
        BatchTransformation,
        KeyOrValueTransformation,
        Predicate,
        Record,
        RecordPart,
        RecordT,
        Transformation,
    )

__all__ = [
    "BOOLEAN_SCHEMA",
    "BYTES_SCHEMA",
    "DATE_SCHEMA",
    "FLOAT32_SCHEMA",
    "FLOAT64_SCHEMA",
    "INT8_SCHEMA",
    "INT16_SCHEMA",
    "INT32_SCHEMA",
    "INT64_SCHEMA",
    "OPTIONAL_BYTES_SCHEMA",
    "OPTIONAL_INT32_SCHEMA",
    "OPTIONAL_INT64_SCHEMA",
    "OPTIONAL_STRING_SCHEMA",
    "REQUIRED",
    "STRING_SCHEMA",
    "TIMESTAMP_SCHEMA",
    "TIME_SCHEMA",
    "AlreadyExistsError",
    "AsyncErrantRecordReporter",
    "AsyncOffsetReader",
    "AsyncSinkTask",
    "AsyncSinkTaskContext",
    "AsyncSourceTask",
    "AsyncSourceTaskContext",
    "AsyncTask",
    "BatchMetadata",
    "BatchTransformation",
    "Column",
    "ConfigDef",
    "ConfigError",
    "ConfigKey",
    "ConfigType",
    "ConfigValue",
    "ConnectError",
    "Connector",
    "ConnectorContext",
    "ConstantColumn",
    "Converter",
    "DataError",
    "Derived",
    "ErrantRecordReporter",
    "ErrantSourceRecord",
    "ExactlyOnceSupport",
    "Field",
    "Header",
    "HeaderConverter",
    "Headers",
    "IllegalArgumentError",
    "Importance",
    "KeyOrValueTransformation",
    "MixedBatchError",
    "NotFoundError",
    "Offset",
    "OffsetAndMetadata",
    "OffsetReader",
    "Partition",
    "Password",
    "PendingReport",
    "Predicate",
    "ProjectionError",
    "Recommender",
    "Record",
    "RecordMetadata",
    "RecordPart",
    "RecordT",
    "RetriableError",
    "Schema",
    "SchemaBuilder",
    "SchemaBuilderError",
    "SchemaCache",
    "SinkBatch",
    "SinkConnector",
    "SinkRecord",
    "SinkTask",
    "SinkTaskContext",
    "SourceBatch",
    "SourceConnector",
    "SourceConnectorContext",
    "SourceRecord",
    "SourceTask",
    "SourceTaskContext",
    "Struct",
    "Task",
    "TopicPartition",
    "TransactionContext",
    "Transformation",
    "Type",
    "UnsupportedOffsetsError",
    "Validator",
    "ValueBatch",
    "Width",
    "decimal_schema",
    "field_value",
    "group_partitions",
    "project",
    "struct_schema",
    "validate_struct",
    "validate_value",
    "validators",
]

_NAMES = {
    "async_task": (
        "AsyncErrantRecordReporter AsyncOffsetReader AsyncSinkTask AsyncSinkTaskContext AsyncSourceTask "
        "AsyncSourceTaskContext AsyncTask"
    ),
    "config.definition": "ConfigDef ConfigKey ConfigValue Importance REQUIRED Recommender Width",
    "config.types": "ConfigType Password",
    "config.validators": "Validator validators",
    "connector": (
        "Connector ConnectorContext ExactlyOnceSupport SinkConnector SourceConnector SourceConnectorContext "
        "group_partitions"
    ),
    "converter": "Converter HeaderConverter",
    "data.batch": "SinkBatch SourceBatch",
    "data.columns": "BatchMetadata Column ConstantColumn Derived MixedBatchError ValueBatch",
    "data.logical": "DATE_SCHEMA TIMESTAMP_SCHEMA TIME_SCHEMA decimal_schema",
    "data.projection": "ProjectionError project",
    "data.record": "ErrantSourceRecord Header Headers SinkRecord SourceRecord TopicPartition",
    "data.schema": (
        "BOOLEAN_SCHEMA BYTES_SCHEMA FLOAT32_SCHEMA FLOAT64_SCHEMA Field INT16_SCHEMA INT32_SCHEMA INT64_SCHEMA "
        "INT8_SCHEMA OPTIONAL_BYTES_SCHEMA OPTIONAL_INT32_SCHEMA OPTIONAL_INT64_SCHEMA OPTIONAL_STRING_SCHEMA "
        "STRING_SCHEMA Schema Type struct_schema"
    ),
    "data.schema_builder": "SchemaBuilder",
    "data.schema_cache": "SchemaCache",
    "data.struct": "Struct field_value",
    "data.validate": "validate_struct validate_value",
    "errors": (
        "AlreadyExistsError ConfigError ConnectError DataError IllegalArgumentError NotFoundError RetriableError "
        "SchemaBuilderError UnsupportedOffsetsError"
    ),
    "task": (
        "ErrantRecordReporter Offset OffsetAndMetadata OffsetReader Partition PendingReport RecordMetadata SinkTask "
        "SinkTaskContext SourceTask SourceTaskContext Task TransactionContext"
    ),
    "transformation": "BatchTransformation KeyOrValueTransformation Predicate Record RecordPart RecordT Transformation",
}

_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> Any:
        """Imports a name of the API on first use (PEP 562)."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{_MODULES[name]}")
        value = globals()[name] = module if name == "validators" else getattr(module, name)
        return value


def __dir__() -> list[str]:
    return __all__
