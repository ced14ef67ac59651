"""What a validation has found so far: keys with their values, in the order of the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigValue
from runtime.definitions import render
from runtime.kafka.formats import java_ordered

NULL = "Null value can not be supplied as the configuration value."


class Findings:
    """Collects keys, values and errors, and makes the answer of the REST API of them."""

    def __init__(self) -> None:
        self.values: dict[str, ConfigValue] = {}
        self._definitions: dict[str, dict[str, Any]] = {}
        self._groups: dict[str, None] = {}

    def add(self, keys: Iterable[ConfigKey], values: Iterable[ConfigValue], prefix: str = "") -> None:
        """Keys with their values; for one that is known already only the errors are new."""
        for key in keys:
            if key.group is not None:
                self._groups.setdefault(key.group)
            self._definitions.setdefault(prefix + key.name, render.definition(key, prefix))
        for value in values:
            value.name = prefix + value.name
            known = self.values.setdefault(value.name, value)
            known.errors += [error for error in value.errors if error not in known.errors]

    def check(self, definition: ConfigDef, config: Mapping[str, Any], prefix: str = "") -> None:
        """Validate these keys, and add them."""
        self.add(definition, definition.validate(config), prefix)

    def error(self, name: str, message: str) -> None:
        """An error at a key, known or not."""
        self.values.setdefault(name, ConfigValue(name)).errors.append(message)

    def add_null_errors(self, names: Iterable[str]) -> None:
        """Keys that were given without a value; those that nobody knows are listed first, as a Java map has them."""
        unknown = java_ordered({name: ConfigValue(name) for name in names if name not in self.values})
        self.values = {**unknown, **self.values}
        for name in names:
            self.error(name, NULL)

    def valid_value(self, name: str) -> Any:
        """The value of a key without errors; None otherwise."""
        value = self.values.get(name)
        return None if value is None or value.errors else value.value

    def answer(self, connector_class: str) -> dict[str, Any]:
        """The body of the REST API's answer."""
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
