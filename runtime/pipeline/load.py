"""Making a task and its converters from what the spec names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from runtime.api.errors import ConfigError

if TYPE_CHECKING:
    from runtime.api.converter import Converter, HeaderConverter
    from runtime.task_spec import ConverterSpec, TaskSpec


def load_task(spec: TaskSpec) -> Any:
    """An instance of the spec's task class."""
    from runtime.plugins import load_target

    try:
        return load_target(spec.task_class, spec.plugin_path)()
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"Task class {spec.task_class} cannot be loaded: {error}") from error


def _make(kind: str, converter: ConverterSpec, spec: TaskSpec) -> Any:
    from runtime.plugins import load

    try:
        return load(kind, converter.cls, spec.plugin_path)()
    except LookupError as error:
        raise ConfigError(f"Class {converter.cls} could not be found.") from error


def load_converter(converter: ConverterSpec, is_key: bool, spec: TaskSpec) -> Converter:
    made = cast("Converter", _make("converter", converter, spec))
    made.configure({**converter.config, "converter.type": "key" if is_key else "value"}, is_key)
    return made


def load_header_converter(spec: TaskSpec) -> HeaderConverter:
    made = cast("HeaderConverter", _make("header_converter", spec.header_converter, spec))
    made.configure({**spec.header_converter.config, "converter.type": "header"})
    return made
