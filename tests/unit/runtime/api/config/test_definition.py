"""ConfigDef: validation and parsing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType
from runtime.api.errors import ConfigError


def errors(definition: ConfigDef, config: Mapping[str, Any]) -> dict[str, list[str]]:
    return {v.name: v.errors for v in definition.validate(config) if v.errors}


def test_an_invalid_number_also_fails_its_validator() -> None:
    definition = ConfigDef(ConfigKey("n", ConfigType.INT, 1, validator=validators.at_least(1)))
    assert errors(definition, {"n": "x"}) == {
        "n": [
            "Invalid value x for configuration n: Not a number of type INT",
            "Invalid value null for configuration n: Value must be non-null",
        ]
    }


def test_missing_keys_and_defaults() -> None:
    definition = ConfigDef(ConfigKey("must", ConfigType.STRING), ConfigKey("may", ConfigType.LIST, "a,b"))
    assert errors(definition, {}) == {"must": ['Missing required configuration "must" which has no default value.']}
    assert definition.parse({"must": " x "}) == {"must": "x", "may": ["a", "b"]}
    with pytest.raises(ConfigError, match='Missing required configuration "must"'):
        definition.parse({})


def test_undefined_keys_are_ignored() -> None:
    assert ConfigDef().validate({"zzz": "1"}) == []


def test_dependents_must_be_defined() -> None:
    definition = ConfigDef(ConfigKey("a", ConfigType.STRING, "", dependents=("b",)))
    assert errors(definition, {}) == {"b": ["b is referred in the dependents, but not defined."]}


class OnlyWithSsl:
    """A recommender whose values and visibility depend on another key."""

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return ["jks", "pem"] if parsed.get("ssl") else []

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return bool(parsed.get("ssl"))


def test_recommenders_receive_the_other_values() -> None:
    definition = ConfigDef(
        ConfigKey("ssl", ConfigType.BOOLEAN, False),
        ConfigKey("store", ConfigType.STRING, "jks", recommender=OnlyWithSsl()),
    )
    hidden, shown = (definition.validate({"ssl": text})[1] for text in ("false", "true"))
    assert (hidden.recommended_values, hidden.visible) == ([], False)
    assert (shown.recommended_values, shown.visible) == (["jks", "pem"], True)


def test_conflicts_see_valid_values_and_are_refused_by_parse() -> None:
    seen: list[dict[str, Any]] = []

    def conflicts(values: Mapping[str, Any]) -> dict[str, str]:
        seen.append(dict(values))
        return {"least": "least exceeds most"} if values.get("least", 0) > values.get("most", 0) else {}

    definition = ConfigDef(ConfigKey("least", ConfigType.INT), ConfigKey("most", ConfigType.INT), conflicts=conflicts)
    [least, most] = definition.validate({"least": "3", "most": "x"})
    assert (least.errors, len(most.errors), seen) == (["least exceeds most"], 1, [{"least": 3}])
    with pytest.raises(ConfigError, match="least exceeds most"):
        definition.parse({"least": "3", "most": "2"})
    assert definition.parse({"least": "1", "most": "2"}) == {"least": 1, "most": 2}
