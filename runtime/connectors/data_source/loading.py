"""Data source classes by name, their options and schemas, from the configuration of a connector."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from runtime.api.config import validators
from runtime.api.config.definition import ConfigKey, ConfigType, Importance, Width
from runtime.api.errors import ConfigError
from runtime.config.properties import with_prefix
from runtime.connectors.data_source.ddl import parse_ddl
from runtime.system.python_sources.class_sources import ClassSources, UndecidedError

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.types import StructType

CLASS, SCHEMA, OPTION_PREFIX = "data.source", "data.source.schema", "data.source.option."
_CLASS_NAME = re.compile(r"[A-Za-z_][\w-]*([.:][A-Za-z_]\w*)*\Z")
GROUP = "Data source"


def common_keys(schema_doc: str) -> tuple[ConfigKey, ...]:
    """The keys of the class and the schema."""
    return (
        ConfigKey(CLASS, ConfigType.STRING, importance=Importance.HIGH, doc="Class of the data source with its module, "
             "such as `package.module.Class`: a subclass of `pyspark.sql.datasource.DataSource`. Or its short name, as "
             "in Spark's format(). Keys `data.source.option.<name>` are its options.", validator=_check_class,
             width=Width.LONG, display_name="Data source"),
        ConfigKey(SCHEMA, ConfigType.STRING, None, Importance.MEDIUM, schema_doc, validators.optional(_check_schema),
             width=Width.LONG, display_name="Data source schema"),
    )  # fmt: skip


def _check_class(name: str, value: Any) -> None:
    if not isinstance(value, str) or not _CLASS_NAME.match(value):
        raise ConfigError(
            f"Invalid value {value} for configuration {name}: expected a class such as package.module.Class"
        )


def _check_schema(name: str, value: Any) -> None:
    try:
        parse_ddl(value)
    except ConfigError as error:
        raise ConfigError(f"Invalid value for configuration {name}: {error}") from None


def check_registered(config: Mapping[str, str]) -> None:
    """check_class() for the configured class."""
    check_class(config.get(CLASS, ""))


def is_python_class(name: str) -> bool:
    """Whether a format of Spark names a class in a Python module: as `module:Class`, or as `module.Class` if there is
    such a module."""
    module = name.rpartition(".")[0]
    return ":" in name or (bool(module) and ClassSources(sys.path).file(module) is not None)


def check_class(name: str, key: str = CLASS) -> None:
    """ConfigError unless the source of its module says that the class is a data source, or an entry point does. Other
    modules are not imported: importing them may do anything, such as running tests or ending the process."""
    module, cls = class_of(name)
    declared = importlib.metadata.entry_points(group=ENTRY_POINTS)
    if any((point.module, point.attr) == (module, cls) for point in declared):
        return
    sources = ClassSources(sys.path)
    if sources.file(module) is None:
        raise ConfigError(
            f"Invalid value {name} for configuration {key}: there is no module {module}. Install the package of the "
            "data source in the environment of the worker"
        )
    try:
        definition = sources.definition(module, cls)
        if definition is None or BASE not in sources.ancestors(*definition):
            raise UndecidedError(f"{module} defines and imports no subclass of DataSource of this name")
    except UndecidedError as error:
        raise ConfigError(
            f"Invalid value {name} for configuration {key}: not a subclass of DataSource as far as the source of its "
            f"module tells, so that it is not imported: {error}. If its source is not available, declare the class by "
            f"an entry point {module}:{cls} of the group {ENTRY_POINTS}"
        ) from None


def class_of(name: str) -> tuple[str, str]:
    """The module and the class that a configuration names, as `module.Class`, as `module:Class`, or by a short name.
    ConfigError for an unknown short name."""
    if "." in name or ":" in name:
        module, _, cls = name.replace(":", ".").rpartition(".")
        return module, cls
    known = short_names()
    if name.casefold() in known:
        return known[name.casefold()]
    names = ", ".join(sorted(known)) or "there are none"
    raise ConfigError(
        f"Invalid value {name} for configuration {CLASS}: expected a class such as package.module.Class, or the short "
        f"name of a data source in an installed package pyspark_… ({names})"
    )


def load_data_source(config: Mapping[str, str]) -> DataSource:
    """A new instance of the configured class; ConfigError if it cannot be imported or created."""
    from pyspark.sql.datasource import CaseInsensitiveDict, DataSource

    name = config.get(CLASS, "")
    module, cls = class_of(name)
    try:
        source_class = getattr(importlib.import_module(module), cls)
    except (Exception, SystemExit) as error:  # third-party code
        raise ConfigError(
            f"Invalid value {name} for configuration {CLASS}: {type(error).__name__}: {error}. Install what the data "
            "source needs in the environment of the worker"
        ) from error
    if not isinstance(source_class, type) or not issubclass(source_class, DataSource):
        raise ConfigError(f"Invalid value {name} for configuration {CLASS}: not a subclass of DataSource")
    options = with_prefix(config, OPTION_PREFIX)
    try:
        return source_class(CaseInsensitiveDict(options))  # as Spark calls it
    except Exception as error:  # third-party code
        raise ConfigError(f"{name} refuses its options: {type(error).__name__}: {error}") from error


def struct_type(schema: StructType | str) -> StructType:
    """A schema that a data source or the configuration gives."""
    return parse_ddl(schema) if isinstance(schema, str) else schema


def read_schema(source: DataSource, configured: str | None) -> StructType:
    """The schema of the records that a data source reads: the configured one or its own."""
    if configured is not None:
        return parse_ddl(configured)
    from pyspark.errors import PySparkNotImplementedError

    try:
        return struct_type(source.schema())
    except (PySparkNotImplementedError, NotImplementedError) as error:
        raise ConfigError(f"{type(source).__name__} does not return a schema: set {SCHEMA}") from error


ENTRY_POINTS = "headrace.data_sources"
"""The group of entry points that declare data sources whose base class their source does not tell."""

BASE = ("pyspark.sql.datasource", "DataSource")

_PREFIX = "pyspark_"
_DEFAULT = "DefaultSource"  # the class by which Spark finds the data source of a package


def short_names() -> dict[str, tuple[str, str]]:
    """Module and class by name, in lower case."""
    names: dict[str, tuple[str, str]] = {}
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        names.setdefault(point.name.casefold(), (point.module, point.attr))
    sources = ClassSources(sys.path)
    for module in pkgutil.iter_modules(sys.path):
        if module.name.startswith(_PREFIX):
            for name, cls in _names(module.name, sources):
                names.setdefault(name.casefold(), (module.name, cls))
    return names


def _names(module: str, sources: ClassSources) -> Iterator[tuple[str, str]]:
    source = sources.source_or_none(module)
    for name in [] if source is None else source.names:
        try:
            at = sources.definition(module, name)
            if at is None or at == BASE or BASE not in sources.ancestors(*at):
                continue
        except UndecidedError:
            continue
        label = sources.class_of(*at).label
        if label is not None and label.text is not None:
            yield label.text, name
        elif name == _DEFAULT:
            yield module.removeprefix(_PREFIX), name
