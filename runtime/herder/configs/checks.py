"""The worker's own checks of a connector's configuration, in addition to those of plugins and of Connect's keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from runtime.api.config.types import java_trim, parse, to_text
from runtime.api.errors import ConfigError
from runtime.config.foreign_plugins import ClientPolicy
from runtime.config.rate_limits import invalid_rates
from runtime.config.restart_policy import invalid_keys
from runtime.config.spark_cluster import invalid_executor_size
from runtime.config.worker_config import WorkerConfig
from runtime.connectors.spark.local_paths import local_paths
from runtime.definitions.render import definition
from runtime.herder.configs.override_policy import OverridePolicy, policy_of
from runtime.herder.configs.task_specs import DEDICATED, ISOLATION, SHARED
from runtime.herder.configs.used_clients import OFFSETS_TOPIC, used_clients
from runtime.kafka.clients.definitions import client_keys
from runtime.kafka.clients.java_classes import ignored_interceptors, refusal
from runtime.kafka.formats import java_ordered
from runtime.model.states import ConnectorType

# `headrace.file.paths`: the folders of local file systems that the bundled file connectors may use.
#
# Paths are compared after symbolic links have been resolved. Java connectors and other plugins read their own keys,
# which cannot be checked.
_WRAPPERS = (
    "async_wrapper", "blockcache", "cached", "dir", "filecache", "generic", "git", "libarchive", "reference",
    "simplecache", "tar", "zip",
)  # fmt: skip
"""fsspec's file systems that consist of another one, which may be local."""
_LOCAL_OF_FILES = ("", "file", "local")


class FilePathLimit:
    """Finds the paths in a connector's configuration that are below none of the folders."""

    def __init__(self, folders: Sequence[str]) -> None:
        """Without folders every path is allowed."""
        self._folders = tuple(Path(folder).resolve() for folder in folders)

    def refused(self, config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The keys of paths that are not allowed, with what is wrong. Variables in `config` have been resolved."""
        name = re.split(r"[.:]", config.get("connector.class", "").strip())[-1].removesuffix("Connector")
        find = _CONNECTORS.get(name)
        if not self._folders or find is None:
            return
        for key, path in find(config):
            if path is None:
                yield key, "not allowed with headrace.file.paths, since its paths cannot be checked"
            elif not any(Path(path).resolve().is_relative_to(folder) for folder in self._folders):
                yield key, "not below one of headrace.file.paths"


_Paths = Iterator[tuple[str, str | None]]
"""Keys with their local paths; None if the path that a value stands for is unknown."""


def _stream(config: Mapping[str, str]) -> _Paths:
    if path := java_trim(config.get("file", "")):
        yield "file", path


def _files(config: Mapping[str, str]) -> _Paths:
    for key in ("url", "archive.url"):
        value = java_trim(config.get(key, ""))
        if not value:
            continue
        parts = urlsplit(value)
        if parts.scheme in _LOCAL_OF_FILES:
            yield key, parts.path or "/"
        elif "::" in value or parts.scheme in _WRAPPERS:
            yield key, None


def _jdbc(config: Mapping[str, str]) -> _Paths:
    """Imports SQLAlchemy, whose reading of the URL is the one that counts. An invalid URL has errors of its own."""
    try:
        from runtime.connectors.jdbc.url_parameters import local_paths
        from runtime.connectors.jdbc.urls import database_url

        yield from (("connection.url", path) for path in local_paths(database_url(config.get("connection.url", ""))))
    except (ConfigError, ImportError):
        return


def _http(config: Mapping[str, str]) -> _Paths:
    from runtime.connectors.http.source.manifest.text import manifest_path
    from runtime.connectors.http.source.manifest.translation import MANIFEST

    if (value := config.get(MANIFEST)) and (path := manifest_path(value)):
        yield MANIFEST, path


def _postgres(config: Mapping[str, str]) -> _Paths:
    from runtime.connectors.postgres import connection

    yield from connection.local_paths(config)


_CONNECTORS: Mapping[str, Callable[[Mapping[str, str]], _Paths]] = {
    "FileStreamSource": _stream,
    "FileStreamSink": _stream,
    "HttpSource": _http,
    "JdbcSource": _jdbc,
    "JdbcSink": _jdbc,
    "FilesSource": _files,
    "FilesSink": _files,
    "KafkaQuery": local_paths,
    "PostgresCdcSource": _postgres,
    "SparkSink": local_paths,
    "SparkSource": local_paths,
}


_GROUP = "consumer.override.group.id"
_ELSEWHERE = "producer.override.bootstrap.servers"
_READERS = ("admin.override.bootstrap.servers", "consumer.override.bootstrap.servers")
_CONVERTERS = ("key.converter.", "value.converter.", "header.converter.")


@dataclass(frozen=True, slots=True)
class ConfigIssue:
    """An error in the value of a key."""

    key: str
    message: str


class WorkerChecks:
    """Adds errors to the response of a validation."""

    def __init__(self, worker: WorkerConfig) -> None:
        self._worker = worker
        self._policy = policy_of(worker)
        self._paths = FilePathLimit(worker.file_paths)
        self._ignored = ignored_interceptors(worker.originals)

    def apply(self, kind: str, config: Mapping[str, str], response: dict[str, Any], text_only: bool = False) -> None:
        """Add errors to `answer`. `config` belongs to a connector of this kind (source, sink), with variables
        resolved. `text_only`: neither files nor a policy from plugins are asked."""
        self._add_overrides(kind, config, response, text_only)
        if kind == ConnectorType.SINK and _GROUP in config:
            response["configs"].insert(0, {"definition": None, "value": _value(_GROUP, config[_GROUP], [])})
        for finding in (*self._find(kind, config), *(() if text_only else self._file(config))):
            _add(response, finding, config.get(finding.key))

    def refused_override(self, kind: str, config: Mapping[str, str]) -> str | None:
        """The first override that the policy refuses, and why, when a task of this configuration starts; None: it
        refuses none. The policy of the worker's file may have changed since the configuration was validated."""
        name, cls = config.get("name", ""), config.get("connector.class", "")
        for client in self._clients(kind, config):
            for setting, reasons in self._policy.refusals(name, kind, cls, client, _given(client, config)).items():
                return f"{client}.override.{setting}: {', '.join(reasons)}"
        return None

    def refuses_paths(self, config: Mapping[str, str]) -> bool:
        """Whether the configuration, with variables resolved, names files outside of `headrace.file.paths`."""
        return any(True for _ in self._paths.refused(config))

    def _add_overrides(self, kind: str, config: Mapping[str, str], response: dict[str, Any], text_only: bool) -> None:
        """Insert each override with the client's definition, after the connector's own keys, before its converters'."""
        at = _converters_at(response["configs"])
        policy = None if text_only and not isinstance(self._policy, OverridePolicy) else self._policy
        clients = self._clients(kind, config)
        entries = [entry for client in clients for entry in _overrides(kind, client, config, policy, self._ignored)]
        response["configs"][at:at] = entries
        response["error_count"] += sum(len(entry["value"]["errors"]) for entry in entries)

    def _clients(self, kind: str, config: Mapping[str, str]) -> list[str]:
        return used_clients(kind, config, self._worker.exactly_once.transactional_tasks)

    def _find(self, kind: str, config: Mapping[str, str]) -> Iterator[ConfigIssue]:
        if kind == ConnectorType.SINK:
            yield from self._group(config)
        else:
            yield from self._offsets(config)
        for key, error in (*invalid_keys(config), *invalid_rates(config), *invalid_executor_size(config)):
            yield ConfigIssue(key, error)
        if config.get(ISOLATION, SHARED) not in (SHARED, DEDICATED):
            values = f"must be one of: {SHARED}, {DEDICATED}"
            yield ConfigIssue(ISOLATION, f"Invalid value {config[ISOLATION]} for configuration {ISOLATION}: {values}")

    def _offsets(self, config: Mapping[str, str]) -> Iterator[ConfigIssue]:
        """An exactly-once source writes its offsets with its records. Otherwise the worker's producer writes them."""
        elsewhere = config.get(_ELSEWHERE)
        if not config.get(OFFSETS_TOPIC) or not elsewhere:
            return
        if not self._worker.exactly_once.transactional_tasks:
            remedy = f"leave out {OFFSETS_TOPIC} or {_ELSEWHERE}"
            yield ConfigIssue(OFFSETS_TOPIC, f"{OFFSETS_TOPIC} cannot be on another cluster: {remedy}")
        elif missing := [key for key in _READERS if config.get(key) != elsewhere]:
            yield ConfigIssue(
                OFFSETS_TOPIC,
                f"{OFFSETS_TOPIC} is on another cluster ({_ELSEWHERE}), where it has to be read, too: set "
                f"{' and '.join(missing)} to {elsewhere}",
            )

    def _group(self, config: Mapping[str, str]) -> Iterator[ConfigIssue]:
        """Refuses a sink in the workers' own group, which would break the group's protocol."""
        name, ours = config.get("name", ""), self._worker.group_id
        if _GROUP in config:
            if config[_GROUP] == ours:
                yield ConfigIssue(_GROUP, f"Consumer group {ours} conflicts with Connect worker group {ours}")
        elif f"connect-{name}" == ours:
            message = f"Consumer group for sink connector named {name} conflicts with Connect worker group {ours}"
            yield ConfigIssue("name", message)

    def _file(self, config: Mapping[str, str]) -> Iterator[ConfigIssue]:
        """`headrace.file.paths`: the folders below which file connectors may name files."""
        for key, problem in self._paths.refused(config):
            yield ConfigIssue(key, f"Invalid value {config.get(key, '')} for configuration {key}: {problem}")


def _given(client: str, config: Mapping[str, str]) -> Mapping[str, str]:
    """The settings that a connector overrides, in Java's order."""
    prefix = f"{client}.override."
    ordered = java_ordered(config).items()  # in a Java map, keys of one bucket keep this order
    given: Mapping[str, str] = java_ordered(
        {k[len(prefix) :]: v for k, v in ordered if k.startswith(prefix) and k != prefix}
    )
    return given


def _overrides(
    kind: str, client: str, config: Mapping[str, str], policy: ClientPolicy | None, ignored: Collection[str]
) -> Iterator[dict[str, Any]]:
    """Only types and Java classes are checked here; a value that the client rejects fails the task, as in Java.
    `ignored`: interceptors that may be left out."""
    prefix = f"{client}.override."
    known, given = client_keys(client), _given(client, config)
    connector, cls = config.get("name", ""), config.get("connector.class", "")
    refused = policy.refusals(connector, kind, cls, client, given, parsed=True) if policy else {}
    for name, text in {**given, **dict.fromkeys(refused.keys() - given.keys())}.items():
        key, value, errors = known.get(name), text, list(refused.get(name, ()))
        try:
            value = to_text(parse(name, text, key.type)) if key is not None and text is not None else text
        except ConfigError as e:
            errors = errors or [str(e)]
        if not errors and text is not None and (error := refusal(client, name, text, ignored)):
            errors = [error]
        yield {
            "definition": definition(key, prefix) if key is not None else None,
            "value": _value(prefix + name, value, errors),
        }


def _add(response: dict[str, Any], finding: ConfigIssue, value: str | None) -> None:
    response["error_count"] += 1
    for entry in response["configs"]:
        if entry["value"]["name"] == finding.key:
            entry["value"]["errors"].append(finding.message)
            return
    shown = {
        "name": finding.key, "type": "STRING", "required": False, "default_value": None, "importance": "MEDIUM",
        "documentation": "", "group": None, "order_in_group": -1, "width": "NONE", "display_name": finding.key,
        "dependents": [],
    }  # fmt: skip
    response["configs"].append({"definition": shown, "value": _value(finding.key, value, [finding.message])})


def _value(name: str, value: str | None, errors: list[str]) -> dict[str, Any]:
    return {"name": name, "value": value, "recommended_values": [], "errors": errors, "visible": True}


def _converters_at(entries: Sequence[dict[str, Any]]) -> int:
    """The index of the first key of the connector's own converters, which are the last keys."""
    names = [entry["value"]["name"] for entry in entries]
    for i in range(len(names), 0, -1):
        if not names[i - 1].startswith(_CONVERTERS) or names[i - 1].endswith(".plugin.version"):
            return i
    return 0
