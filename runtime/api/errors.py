"""What plugins raise, and what the runtime makes of it.

ConnectError
├── ConfigError        a configuration value is wrong
├── DataError          a record cannot be converted or transformed
│   ├── IllegalArgumentError
│   ├── NullPointerError
│   ├── NoSuchGroupError
│   └── SchemaBuilderError
├── RetriableError     the same call may succeed later
└── AlreadyExistsError / NotFoundError
"""

from __future__ import annotations


class ConnectError(Exception):
    """Any failure that a plugin reports knowingly (Java: ConnectException)."""

    java_name = "org.apache.kafka.connect.errors.ConnectException"


class ConfigError(ConnectError):
    """A configuration value is wrong; the message names the key (Java: ConfigException)."""

    java_name = "org.apache.kafka.common.config.ConfigException"


class DataError(ConnectError):
    """A record cannot be converted or transformed (Java: DataException)."""

    java_name = "org.apache.kafka.connect.errors.DataException"


class IllegalArgumentError(DataError):
    """A record asks for something that the configuration does not allow for (Java: IllegalArgumentException)."""

    java_name = "java.lang.IllegalArgumentException"


class NullPointerError(DataError):
    """Something that is not there is needed, and Apache's worker falls over that (Java: NullPointerException)."""

    java_name = "java.lang.NullPointerException"


class NoSuchGroupError(DataError):
    """A replacement names a group that the expression does not have (Java: IndexOutOfBoundsException)."""

    java_name = "java.lang.IndexOutOfBoundsException"


class SchemaBuilderError(DataError):
    """A schema cannot be made (Java: SchemaBuilderException)."""

    java_name = "org.apache.kafka.connect.errors.SchemaBuilderException"


class RetriableError(ConnectError):
    """The same call may succeed later; the runtime tries again (Java: RetriableException)."""

    java_name = "org.apache.kafka.connect.errors.RetriableException"


class NotFoundError(ConnectError):
    """Something named does not exist."""

    java_name = "org.apache.kafka.connect.errors.NotFoundException"


class AlreadyExistsError(ConnectError):
    """Something with that name exists already."""

    java_name = "org.apache.kafka.connect.errors.AlreadyExistsException"


class UnsupportedOffsetsError(ConnectError):
    """A connector's offsets cannot be altered or reset at all (KIP-875: UnsupportedOperationException)."""

    java_name = "java.lang.UnsupportedOperationException"
