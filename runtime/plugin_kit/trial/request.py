"""What `headrace plugin run` is asked to run: the plugin's project, the configuration and the records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.api.connector import Connector, SinkConnector, SourceConnector
from runtime.api.errors import ConfigError
from runtime.model.task_spec import ConverterSpec, TaskSpec
from runtime.plugin_kit.author_code import AuthorCode
from runtime.plugin_kit.conformance.connector_run import topic_of
from runtime.plugin_kit.errors import KitError, KitUsageError
from runtime.plugins.plugin import PluginType
from runtime.plugins.registry import PluginRegistry

_JSON = ("org.apache.kafka.connect.json.JsonConverter", {"schemas.enable": "false"})
_STRING = "org.apache.kafka.connect.storage.StringConverter"
_SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_GENERATED = 5  # records if there is no input


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """A run. `connector` is None if the configuration has only transformations or converters."""

    code: AuthorCode
    name: str
    config: Mapping[str, str]
    connector: type[Connector] | None
    input: Path | None
    limit: int | None

    @property
    def topic(self) -> str:
        """The topic of a sink's records."""
        return topic_of(self.config)

    def values(self) -> Iterator[Any]:
        """The values of the input's lines, or generated ones; at most `limit`."""
        values = _generated() if self.input is None else _lines(self.input)
        limit = self.limit or (_GENERATED if self.input is None else None)
        for number, value in enumerate(values):
            if limit is not None and number >= limit:
                return
            yield value

    def spec(self, task: Mapping[str, str] | None = None) -> TaskSpec:
        """The specification from which the pipeline loads converters and transformations."""
        sink = self.connector is not None and issubclass(self.connector, SinkConnector)
        return TaskSpec(
            connector=self.name, task=0, epoch=1, type="sink" if sink else "source", task_class="",
            config=dict(task or self.config), connector_config=dict(self.config),
            key_converter=self._converter("key", ConverterSpec(_STRING)),
            value_converter=self._converter("value", ConverterSpec(*_JSON)),
            header_converter=self._converter("header", ConverterSpec(_SIMPLE)),
            plugin_path=[str(self.code.source)],
        )  # fmt: skip

    def _converter(self, which: str, default: ConverterSpec) -> ConverterSpec:
        key = f"{which}.converter"
        if key not in self.config:
            return default
        settings = {k[len(key) + 1 :]: v for k, v in self.config.items() if k.startswith(f"{key}.")}
        return ConverterSpec(self.config[key], settings)


def read_request(code: AuthorCode, file: Path, input: Path | None, limit: int | None) -> TrialRequest:
    """KitUsageError if a file cannot be read or is not what it should be; KitError with all errors of the connector's
    configuration."""
    name, config = _config(file)
    connector = _connector(code, config.get("connector.class"), file)
    if input is not None and not input.is_file():
        raise KitUsageError(f"--input: {input} is not a file")
    if input is not None and connector is not None and issubclass(connector, SourceConnector):
        raise KitUsageError("--input: a source has no input; it reads its own system")
    if connector is None and not any(key.endswith("converter") or key == "transforms" for key in config):
        raise KitUsageError(f"{file} has neither connector.class nor transforms nor a converter")
    if connector is not None:
        _check(connector, config, file)
    return TrialRequest(code, name, config, connector, input, limit)


def _config(file: Path) -> tuple[str, dict[str, str]]:
    """Name and configuration, from `{"name", "config"}` or from the configuration alone."""
    try:
        data = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise KitUsageError(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise KitUsageError(f"{file} is not valid JSON: {error}") from None
    config = data.get("config", data) if isinstance(data, dict) else None
    if not isinstance(config, dict):
        raise KitUsageError(f'{file} must contain a JSON object with the configuration, or {{"name", "config"}}')
    if wrong := [key for key, value in config.items() if not isinstance(value, str)]:
        raise KitUsageError(f"{file}: values are texts, but {wrong[0]} is {json.dumps(config[wrong[0]])}")
    name = str(data.get("name") or config.get("name") or file.stem)
    return name, {**config, "name": name}


def _connector(code: AuthorCode, name: str | None, file: Path) -> type[Connector] | None:
    if name is None:
        return None
    own = [cls for cls in code.plugins if issubclass(cls, Connector)]
    for cls in own:
        if name in (f"{cls.__module__}.{cls.__qualname__}", cls.__name__, cls.__name__.removesuffix("Connector")):
            return cls
    registry = PluginRegistry([str(code.source)])
    plugin = registry.find(name, (PluginType.SOURCE, PluginType.SINK))
    if plugin is None:
        known = ", ".join(f"{cls.__module__}.{cls.__qualname__}" for cls in own) or "none"
        raise KitUsageError(f"{file}: connector.class={name} is unknown; the connectors of {code.folder} are: {known}")
    connector_class: type[Connector] = registry.load_class(plugin)
    return connector_class


def _check(connector: type[Connector], config: Mapping[str, str], file: Path) -> None:
    try:
        errors = [error for value in connector().validate(config) for error in value.errors]
    except ConfigError as error:
        errors = [str(error)]
    if errors:
        raise invalid(file, "; ".join(errors))


def invalid(file: Path, reason: str) -> KitError:
    """The error for a configuration that cannot run."""
    return KitError(f"{file} is not a valid configuration: {reason}")


def _lines(file: Path) -> Iterator[Any]:
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield json.loads(line)
        except ValueError as error:
            raise KitUsageError(f"{file}, line {number} is not valid JSON: {error}") from None


def _generated() -> Iterator[Any]:
    number = 0
    while True:
        number += 1
        yield {"id": number, "text": f"record {number}"}
