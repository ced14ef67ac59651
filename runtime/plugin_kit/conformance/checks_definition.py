"""Checks of definitions: documented keys, valid defaults, a version, errors that name their keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from runtime.api.config.definition import ConfigDef, ConfigKey
from runtime.api.config.types import parse, to_text
from runtime.api.connector import Connector
from runtime.api.errors import ConfigError
from runtime.plugin_kit.conformance.case import Case, Config, ConverterCase, HeaderConverterCase
from runtime.plugin_kit.conformance.outcome import CheckFailed, CheckSkipped

_CANDIDATES = ("", "-1", "0", "-99999999999999", "99999999999999", "not-a-value", "?", "http://", "((", "a,,a", "\x00")
"""Texts that validators may refuse."""

_SET_BY_WORKER = "converter.type"

Validate = Callable[[Config], dict[str, list[str]]]
"""Errors by key."""


def _definition(case: Case) -> ConfigDef:
    definition = getattr(case.plugin, "config_def", None)
    if not isinstance(definition, ConfigDef):
        raise CheckFailed("config_def is not a ConfigDef", "Assign config_def = ConfigDef(ConfigKey(…), …)")
    return definition


def documented(case: Case) -> str:
    """Every key has documentation, and a default that its own validator accepts."""
    definition = _definition(case)
    if missing := [key.name for key in definition if not key.doc.strip()]:
        raise CheckFailed(f"No documentation for {', '.join(missing)}", 'Give each ConfigKey a doc="…"')
    for key in definition:
        _check_default(key)
    if missing := sorted({name for key in definition for name in key.dependents if name not in definition}):
        raise CheckFailed(f"Dependents that are not defined: {', '.join(missing)}", "Define them, or correct the name")
    return f"keys: {', '.join(definition.keys) or 'none'}"


def _check_default(key: ConfigKey) -> None:
    if key.required or key.default is None:
        return
    try:
        value = key.typed_default()
        if key.validator is not None:
            key.validator(key.name, value)
    except Exception as error:  # third-party code
        raise CheckFailed(
            f"The default of {key.name} is invalid: {error}", "Change the default or the validator"
        ) from error


def version(case: Case) -> str:
    """version() returns text without a configuration."""
    plugin = case.plugin()
    if not hasattr(plugin, "version"):
        raise CheckSkipped("it has no version(); the worker reports the version of its package")
    version = plugin.version()
    if not isinstance(version, str) or not version.strip():
        raise CheckFailed(f"version() returned {version!r}", 'Return text such as "1.0.0"')
    return version


def example_is_valid(case: Case) -> str:
    """The configuration of the example has no errors."""
    with case.opened() as config:
        errors = _validation(case)(config)
    if errors:
        text = "; ".join(message for messages in errors.values() for message in messages)
        raise CheckFailed(f"The example's configuration is refused: {text}", "Correct the example, or the validator")
    return "valid"


def missing_keys(case: Case) -> str:
    """Without a required key, the error names the key."""
    definition = _definition(case)
    required = [key.name for key in definition if key.required and key.name != _SET_BY_WORKER]
    if not required:
        raise CheckSkipped("no key is required")
    validate = _validation(case)
    with case.opened() as config:
        for name in required:
            without = {key: text for key, text in config.items() if key != name}
            _expect_error(validate, without, name, f"{name} is missing")
    return ", ".join(required)


def invalid_values(case: Case) -> str:
    """For every value that a type or validator refuses, the error names the key."""
    definition, tried = _definition(case), 0
    validate = _validation(case)
    with case.opened() as config:
        for key in definition:
            for text in () if key.name == _SET_BY_WORKER else _invalid(key):
                tried += 1
                _expect_error(validate, {**config, key.name: text}, key.name, f"{key.name}={text!r}")
        for name, text in case.invalid.items():
            tried += 1
            _expect_error(validate, {**config, name: text}, name, f"{name}={text!r}")
    if not tried:
        raise CheckSkipped("no key has a type or validator that refuses a value")
    return f"{tried} invalid values"


def _invalid(key: ConfigKey) -> Iterator[str]:
    """Values that the key's type or validator refuses. CheckFailed if the validator itself fails."""
    for text in _CANDIDATES:
        try:
            value = parse(key.name, text, key.type)
            if key.validator is not None:
                key.validator(key.name, value)
        except ConfigError:
            yield text
        except Exception as error:  # third-party code
            raise _validator_failed(key, text, error) from error
    if key.validator is not None:
        try:
            key.validator(key.name, None)  # the value of a key that is missing or could not be parsed
        except ConfigError:
            pass
        except Exception as error:  # third-party code
            raise _validator_failed(key, None, error) from error


def _validator_failed(key: ConfigKey, value: str | None, error: Exception) -> CheckFailed:
    hint = " A validator is also called with None, for a missing value" if value is None else ""
    return CheckFailed(
        f"The validator of {key.name} raised {type(error).__name__} for {value!r}: {error}",
        f"Raise ConfigError for every value that is refused.{hint}",
    )


def _expect_error(validate: Validate, config: Config, name: str, what: str) -> None:
    try:
        errors = validate(config)
    except CheckFailed:
        raise
    except Exception as error:  # third-party code
        raise CheckFailed(
            f"With {what}, {type(error).__name__} is raised: {error}",
            "Report invalid values as errors of their key (validate()) or raise ConfigError",
        ) from error
    if not errors:
        raise CheckFailed(f"With {what}, no error is reported", "Validate the key with a type or a validator")
    if name not in errors and not any(name in message for messages in errors.values() for message in messages):
        messages_text = "; ".join(message for messages in errors.values() for message in messages)
        raise CheckFailed(
            f"With {what}, the error does not name {name}: {messages_text}", "Name the key in the message"
        )


def _validation(case: Case) -> Validate:
    """How the plugin validates: a connector with validate(), other plugins with configure()."""
    if issubclass(case.plugin, Connector):
        return lambda config: _validated(case, config)
    return lambda config: _configured(case, config)


def _validated(case: Case, config: Config) -> dict[str, list[str]]:
    connector = cast("Connector", case.plugin())
    values = connector.validate(dict(config))
    for value in values:
        to_text(value.value)  # the REST API shows it
    return {value.name: value.errors for value in values if value.errors}


def _configured(case: Case, config: Config) -> dict[str, list[str]]:
    """The worker validates the definition; configure() itself must refuse the same values with ConfigError."""
    whole = {**config, _SET_BY_WORKER: _use(case)}
    errors = {value.name: value.errors for value in _definition(case).validate(whole) if value.errors}
    try:
        plugin = configured(case, config)
        close = getattr(plugin, "close", None)
        if close is not None:
            close()
    except ConfigError as error:
        errors.setdefault("", []).append(str(error))
        return errors
    if errors:
        raise CheckFailed(
            f"configure() accepts a configuration that config_def refuses ({next(iter(errors.values()))[0]})",
            "Parse the configuration with self.config_def.parse(config)",
        )
    return errors


def configured(case: Case, config: Mapping[str, str]) -> Any:
    """A configured transformation, predicate or converter."""
    plugin: Any = case.plugin()
    match case:
        case ConverterCase():
            plugin.configure({**config, _SET_BY_WORKER: _use(case)}, False)
        case HeaderConverterCase():
            plugin.configure({**config, _SET_BY_WORKER: _use(case)})
        case _:
            plugin.configure(dict(config))
    return plugin


def _use(case: Case) -> str:
    return "header" if isinstance(case, HeaderConverterCase) else "value"
