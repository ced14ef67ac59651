"""Exceptions that plugins raise. Each names the Java exception that clients of the REST API know (`java_name`).

ConnectError
├── ConfigError        a configuration value is invalid
├── DataError          a record cannot be converted or transformed
│   ├── IllegalArgumentError
│   ├── NullPointerError
│   ├── NoSuchGroupError
│   └── SchemaBuilderError
├── RetriableError     the same call may succeed later: the worker retries it
├── NotFoundError / AlreadyExistsError
└── UnsupportedOffsetsError    the connector's offsets cannot be altered or reset
"""

from __future__ import annotations


class ConnectError(Exception):
    """Base class of the failures that plugins report (Java: ConnectException)."""

    java_name = "org.apache.kafka.connect.errors.ConnectException"
    tolerable = True
    """False: the failure concerns the task, not a record, so that `errors.tolerance` does not apply to it."""


class ConfigError(ConnectError):
    """A configuration value is invalid; the message names its key (Java: ConfigException)."""

    java_name = "org.apache.kafka.common.config.ConfigException"


class DataError(ConnectError):
    """A record cannot be converted or transformed (Java: DataException)."""

    java_name = "org.apache.kafka.connect.errors.DataException"


class IllegalArgumentError(DataError):
    """A record needs something that the configuration does not provide (Java: IllegalArgumentException)."""

    java_name = "java.lang.IllegalArgumentException"


class NullPointerError(DataError):
    """A required value, schema or field is missing (Java: NullPointerException)."""

    java_name = "java.lang.NullPointerException"


class NoSuchGroupError(DataError):
    """A replacement refers to a group that the regular expression lacks (Java: IndexOutOfBoundsException)."""

    java_name = "java.lang.IndexOutOfBoundsException"


class SchemaBuilderError(DataError):
    """A schema is invalid (Java: SchemaBuilderException)."""

    java_name = "org.apache.kafka.connect.errors.SchemaBuilderException"


class RetriableError(ConnectError):
    """The same call may succeed later, so the worker retries it (Java: RetriableException)."""

    java_name = "org.apache.kafka.connect.errors.RetriableException"


class NotFoundError(ConnectError):
    """A named resource does not exist (Java: NotFoundException)."""

    java_name = "org.apache.kafka.connect.errors.NotFoundException"


class AlreadyExistsError(ConnectError):
    """A resource of that name already exists (Java: AlreadyExistsException)."""

    java_name = "org.apache.kafka.connect.errors.AlreadyExistsException"


class UnsupportedOffsetsError(ConnectError):
    """The connector's offsets cannot be altered or reset (KIP-875; Java: UnsupportedOperationException)."""

    java_name = "java.lang.UnsupportedOperationException"
