"""Creates the task, converters and transformations that a task specification names."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from runtime.api.errors import ConfigError, ConnectError
from runtime.config.properties import comma_separated, with_prefix
from runtime.java.target import is_java_target
from runtime.model.task_spec import ConverterSpec
from runtime.pipeline.chain.step import ChainStep
from runtime.transforms.python_udf.reference import FUNCTION, PYTHON_UDF, FunctionReference

if TYPE_CHECKING:
    from runtime.api.converter import Converter, HeaderConverter
    from runtime.api.transformation import Predicate
    from runtime.model.task_spec import TaskSpec


_log = logging.getLogger(__name__)


def load_task(spec: TaskSpec) -> Any:
    """An instance of the task class. ConfigError if the class cannot be loaded."""
    try:
        return _class(spec.task_class, f"{spec.type}_task", spec)()
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"Task class {spec.task_class} cannot be loaded: {error}") from error


def _class(target: str, kind: str, spec: TaskSpec) -> type:
    """The class of a target. A Java class is one whose instances are objects in the task host of this process."""
    if is_java_target(target):
        from runtime.java.plugins.shared_host import java_classes

        return java_classes().load(target, kind)
    from runtime.plugins.loading import load_target

    return load_target(target, spec.plugin_path)


def _make(kind: str, key: str, name: str, spec: TaskSpec) -> Any:
    """An instance of the plugin that the herder has chosen for this configuration key. Without such a choice the plugin
    is searched by its name."""
    if key in spec.targets:
        try:
            return _class(spec.targets[key], kind, spec)()
        except (ImportError, AttributeError) as error:
            raise _unusable(kind, key, name, spec, f"Class {name} cannot be loaded: {error}.") from error
        except ConnectError as error:
            if error.java_name not in _MISSING_IN_JAVA:
                raise
            raise _unusable(kind, key, name, spec, f"Class {name} cannot be loaded: {error} is missing.") from error
    from runtime.plugins.registry import load

    try:
        return load(kind, name, spec.plugin_path)()
    except LookupError as error:
        raise _unusable(kind, key, name, spec, f"Class {name} could not be found.") from error


_MISSING_IN_JAVA = ("java.lang.ClassNotFoundException", "java.lang.NoClassDefFoundError")


def _unusable(kind: str, key: str, name: str, spec: TaskSpec, reason: str) -> ConfigError:
    """The error for a key with the class of a plugin that this worker does not have, with the remedy."""
    from runtime.api.config.types import invalid
    from runtime.definitions.messages import unknown_class_hint
    from runtime.plugins.registry import PluginType, registry

    hint = unknown_class_hint(name, PluginType(kind), registry(tuple(spec.plugin_path)))
    remedy = hint or f" Install it into a folder of plugin.path on this worker, or correct {key}"
    return invalid(key if key in spec.settings else f"{key} of the worker", name, reason + remedy)


def load_converter(converter: ConverterSpec, is_key: bool, spec: TaskSpec) -> Converter:
    """A configured converter. ConfigError if the class cannot be loaded or the configuration is invalid."""
    key = "key.converter" if is_key else "value.converter"
    made = cast("Converter", _make("converter", key, converter.cls, spec))
    made.configure({**converter.config, "converter.type": "key" if is_key else "value"}, is_key)
    return made


class Converters(NamedTuple):
    """The converters of one task."""

    key: Converter
    value: Converter
    header: HeaderConverter

    def close(self) -> None:
        """Close all of them; errors are logged."""
        for converter in self:
            try:
                converter.close()
            except Exception:  # the task has ended; a converter that cannot be closed must not change its result
                _log.warning("A converter could not be closed", exc_info=True)


def load_converters(spec: TaskSpec) -> Converters:
    """The configured converters of a task. ConfigError as for load_converter()."""
    return Converters(
        load_converter(spec.key_converter, True, spec),
        load_converter(spec.value_converter, False, spec),
        load_header_converter(spec),
    )


def load_steps(spec: TaskSpec) -> list[ChainStep]:
    """The transformations in the connector's config, in order, with their predicates. ConfigError if one is invalid."""
    config = spec.settings
    predicates: dict[str, Predicate] = {}
    steps = []
    for alias in comma_separated(config.get("transforms", "")):
        own = with_prefix(config, f"transforms.{alias}.")
        name, negate = own.get("predicate"), own.get("negate", "false").strip().lower() == "true"
        if name is not None and name not in predicates:
            predicates[name] = _load_predicate(name, spec)
        transformation = _configured("transformation", own, f"transforms.{alias}", spec)
        predicate = predicates.get(name) if name is not None else None
        steps.append(ChainStep(transformation, predicate, negate, alias, name or ""))
    return steps


def _load_predicate(name: str, spec: TaskSpec) -> Predicate:
    if name not in comma_separated(spec.settings.get("predicates", "")):
        raise ConfigError(f"Unknown configuration 'predicates.{name}.type'")
    prefix = f"predicates.{name}"
    return cast("Predicate", _configured("predicate", with_prefix(spec.settings, f"{prefix}."), prefix, spec))


def _configured(kind: str, own: Mapping[str, str], prefix: str, spec: TaskSpec) -> Any:
    if "type" not in own:
        raise ConfigError(f'Missing required configuration "{prefix}.type" which has no default value.')
    key = f"{prefix}.type"
    made = _make(kind, key, own["type"].strip(), spec)
    if getattr(made, "java_name", "") == PYTHON_UDF:
        made.label = prefix
        _check_function(prefix, own.get(FUNCTION, ""), spec)
    hidden = _HIDDEN if is_java_target(spec.targets.get(key, "")) else ("type", *_HIDDEN)
    made.configure({name: text for name, text in own.items() if name not in hidden})
    return made


def _check_function(prefix: str, text: str, spec: TaskSpec) -> None:
    """ConfigError unless the function of a user is in a module of plugin.path. The herder has found it there if it has
    chosen the plugins."""
    if f"{prefix}.{FUNCTION}" in spec.targets or FunctionReference.of(text) is None:
        return
    from runtime.plugins.functions import function_problem
    from runtime.plugins.registry import registry

    if problem := function_problem(text, registry(tuple(spec.plugin_path))):
        raise ConfigError(f"{prefix}.{FUNCTION}: {problem}")


_HIDDEN = ("predicate", "negate", "plugin.version")
"""Options of a chain that its plugins do not see. Those in Java see their `type`, as in Connect."""


def load_header_converter(spec: TaskSpec) -> HeaderConverter:
    """A configured header converter. ConfigError as for load_converter()."""
    made = cast("HeaderConverter", _make("header_converter", "header.converter", spec.header_converter.cls, spec))
    made.configure({**spec.header_converter.config, "converter.type": "header"})
    return made
