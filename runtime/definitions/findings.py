"""Collects the results of a validation: keys, values and errors, in the order of the response."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigValue
from runtime.definitions import render
from runtime.definitions.text_only import without_code
from runtime.kafka.formats import java_ordered

NULL = "Null value can not be supplied as the configuration value."


class Findings:
    """Keys, values and errors of a connector configuration."""

    def __init__(self, text_only: bool = False) -> None:
        """`text_only`: no code of plugins is run."""
        self.text_only = text_only
        self.values: dict[str, ConfigValue] = {}
        self._definitions: dict[str, dict[str, Any]] = {}
        self._groups: dict[str, None] = {}
        self.own: frozenset[str] = frozenset()
        """The keys whose values come from the connector."""

    def keys_of(self, plugin: type) -> ConfigDef:
        """The keys that a plugin defines."""
        definition: ConfigDef = getattr(plugin, "config_def", None) or ConfigDef()
        return without_code(definition) if self.text_only else definition

    def add(self, keys: Iterable[ConfigKey], values: Iterable[ConfigValue], prefix: str = "") -> None:
        """Adds keys with their values. If a key is known already, adds only its new errors."""
        for key in keys:
            if key.group is not None:
                self._groups.setdefault(key.group)
            self._definitions.setdefault(prefix + key.name, render.definition(key, prefix))
        for value in values:
            value.name = prefix + value.name
            known = self.values.setdefault(value.name, value)
            known.errors += [error for error in value.errors if error not in known.errors]

    def add_own(self, definition: ConfigDef, values: Iterable[ConfigValue]) -> None:
        """Adds what the connector itself has found. Its keys and values replace common ones of the same name. New
        values are in the order of the definition; those of unknown keys come first."""
        for key in definition:
            if key.group is not None:
                self._groups.setdefault(key.group)
            self._definitions[key.name] = render.definition(key)
        by_name = {value.name: value for value in values}
        self.own = frozenset(by_name)
        unknown = {name: value for name, value in by_name.items() if name not in self._definitions}
        in_order = {name: by_name[name] for name in self._definitions if name in by_name}
        self.values = {**unknown, **self.values, **in_order}

    def check(self, definition: ConfigDef, config: Mapping[str, Any], prefix: str = "") -> None:
        """Validates these keys and adds them."""
        self.add(definition, definition.validate(config), prefix)

    def error(self, name: str, message: str) -> None:
        """Adds an error to a key, which may be unknown."""
        self.values.setdefault(name, ConfigValue(name)).errors.append(message)

    def add_null_errors(self, names: Iterable[str]) -> None:
        """Adds an error for each key that is null. Unknown keys come first, in the order of a Java map."""
        unknown = java_ordered({name: ConfigValue(name) for name in names if name not in self.values})
        self.values = {**unknown, **self.values}
        for name in names:
            self.error(name, NULL)

    def leave_unchecked(self, values: Mapping[str, str | None]) -> None:
        """Shows these values of keys as they are, without errors."""
        for name, text in values.items():
            value = self.values.setdefault(name, ConfigValue(name))
            value.value, value.errors = text, []

    def valid_value(self, name: str) -> Any:
        """The value of a key without errors; otherwise None."""
        value = self.values.get(name)
        return None if value is None or value.errors else value.value

    def response(self, connector_class: str) -> dict[str, Any]:
        """The body of the REST API's response."""
        configs = [
            {"definition": self._definitions.get(name), "value": render.value(value)}
            for name, value in self.values.items()
        ]
        return {
            "name": connector_class,
            "error_count": sum(len(v.errors) for v in self.values.values()),
            "groups": list(self._groups),
            "configs": configs,
        }
