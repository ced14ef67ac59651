"""A connector that checks its keys against each other and recommends values, as the REST API shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api import ConfigDef, ConfigError, ConfigKey, ConfigType, ConfigValue, Recommender, SinkConnector, SinkTask
from runtime.definitions.validation import WorkerDefaults, validate
from runtime.plugins.registry import PluginRegistry

DEFAULTS = WorkerDefaults("JsonConverter", "StringConverter", "SimpleHeaderConverter")


class Databases(Recommender):
    """Recommends the databases of the server, which refuses some users."""

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        if parsed.get("user") == "nobody":
            raise ConfigError("the server refuses user nobody")
        return ["sales", "stock"] if "user" in parsed else []


class IfSecured(Recommender):
    """Shows a key only if `ssl` is true."""

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return []

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return bool(parsed.get("ssl"))


class Task(SinkTask):
    def start(self, config: Mapping[str, str]) -> None: ...

    def put(self, records: Sequence[object]) -> None: ...


class DatabaseSink(SinkConnector):
    task_class = Task
    config_def = ConfigDef(
        ConfigKey("user", ConfigType.STRING, dependents=("database",)),
        ConfigKey("database", ConfigType.STRING, "sales", recommender=Databases()),
        ConfigKey("ssl", ConfigType.BOOLEAN, False, dependents=("truststore",)),
        ConfigKey("truststore", ConfigType.STRING, "", recommender=IfSecured()),
    )

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = super().validate(config)
        found = {value.name: value for value in values}
        if found["ssl"].value and not found["truststore"].value:
            found["truststore"].errors.append("ssl needs a truststore")
        return values

    def start(self, config: Mapping[str, str]) -> None: ...

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return []


def _answer(**config: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    registry = PluginRegistry()
    plugin = registry.find("FileStreamSink")
    assert plugin is not None
    whole = {"connector.class": "x", "name": "a", "topics": "t", **config}
    answer = validate(whole, plugin, DatabaseSink(), registry, DEFAULTS)
    entries = {entry["value"]["name"]: entry for entry in answer["configs"]}
    return (
        answer,
        {name: entry["value"] for name, entry in entries.items()},
        {name: entry["definition"] for name, entry in entries.items()},
    )


def test_recommended_values_and_dependents_are_shown() -> None:
    answer, values, definitions = _answer(user="me")
    assert answer["error_count"] == 0
    assert values["database"]["recommended_values"] == ["sales", "stock"]
    assert definitions["user"]["dependents"] == ["database"]
    assert _answer()[1]["database"]["recommended_values"] == [], "a missing key is not in the parsed values"


def test_visibility_follows_the_other_keys() -> None:
    hidden, shown = _answer(user="me")[1], _answer(user="me", ssl="true", truststore="/x")[1]
    assert not hidden["truststore"]["visible"] and shown["truststore"]["visible"]
    assert hidden["database"]["visible"], "visible unless the recommender says otherwise"


def test_errors_of_a_recommender_and_of_checks_across_keys_are_counted() -> None:
    answer, values, _ = _answer(user="nobody", ssl="true")
    assert values["database"]["errors"] == ["the server refuses user nobody"]
    assert values["truststore"]["errors"] == ["ssl needs a truststore"]
    assert answer["error_count"] == 2
