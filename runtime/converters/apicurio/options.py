"""The options of Apicurio's converters, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType
from runtime.api.config.validators import Validator, one_of
from runtime.api.errors import ConfigError, DataError
from runtime.converters.definitions import CONVERTER_TYPE
from runtime.converters.registry.http import HttpClient
from runtime.converters.registry.options import STORES, optional, tls_context

_A = "apicurio.registry."
_STRATEGIES = ("TopicIdStrategy", "SimpleTopicIdStrategy", "RecordIdStrategy", "QualifiedRecordIdStrategy",
               "TopicRecordIdStrategy")  # fmt: skip
_SIZES = {"Default4ByteIdHandler": 4, "Legacy8ByteIdHandler": 8}
_EXISTING = ("FAIL", "CREATE_VERSION", "FIND_OR_CREATE_VERSION")


def apicurio_options(url: Validator, *own: ConfigKey) -> ConfigDef:
    """The definition of a converter: the options of a registry, and its own. `url`: the validator of the URL."""
    kinds = ConfigType
    return ConfigDef(
        CONVERTER_TYPE,
        ConfigKey(f"{_A}url", kinds.STRING, doc="URL of the API: http://registry:8080/apis/registry/v3.",
                  validator=url),
        optional(f"{_A}auto-register", kinds.BOOLEAN, False, "Whether to register new schemas."),
        optional(f"{_A}auto-register.if-exists", kinds.STRING, _EXISTING[2],
                 "What to do if the artifact exists: " + ", ".join(_EXISTING) + ".", one_of(*_EXISTING)),
        optional(f"{_A}find-latest", kinds.BOOLEAN, False, "Whether to write with the artifact's latest version."),
        optional(f"{_A}artifact.group-id", kinds.STRING, None, "Group of the artifacts."),
        optional(f"{_A}artifact.artifact-id", kinds.STRING, None, "Artifact of all records."),
        optional(f"{_A}artifact-resolver-strategy", kinds.STRING, _STRATEGIES[0],
                 "Strategy for the artifact of a record: " + ", ".join(_STRATEGIES) + "."),
        optional(f"{_A}use-id", kinds.STRING, "contentId", "Which id is written: contentId or globalId.",
                 one_of("contentId", "globalId")),
        optional(f"{_A}id-handler", kinds.STRING, next(iter(_SIZES)), "Size of ids: " + " or ".join(_SIZES) + "."),
        optional(f"{_A}headers.enabled", kinds.BOOLEAN, False, "Whether ids are written to headers, and read there."),
        optional(f"{_A}auth.username", kinds.STRING, "", "User for basic authentication."),
        optional(f"{_A}auth.password", kinds.PASSWORD, "", "Password for basic authentication."),
        *(optional(f"{_A}tls.{name}", type_, default, doc) for name, type_, default, doc in STORES),
        *own,
    )  # fmt: skip


def http_client(given: Mapping[str, str], parsed: Mapping[str, Any]) -> HttpClient:
    """The client for a converter's configuration; `parsed` has its typed values."""
    parts = urlsplit(parsed[f"{_A}url"])
    user = parts.username or given.get(f"{_A}auth.username", "")
    password = parts.password or given.get(f"{_A}auth.password", "")
    url = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    stores = {name: given[f"{_A}tls.{name}"] for name, *_ in STORES if given.get(f"{_A}tls.{name}")}
    tls = tls_context(stores, f"{_A}tls.")
    return HttpClient([url], (user, password) if user else None, tls=tls)


def id_size(parsed: Mapping[str, Any]) -> int:
    """The size of ids in bytes; ConfigError for an unknown handler."""
    return _SIZES[_simple(parsed, f"{_A}id-handler", tuple(_SIZES))]


def artifacts(parsed: Mapping[str, Any], part: str) -> Callable[[str, str | None], str]:
    """The function from topic and name of the schema to `<group>/<artifact>`; ConfigError for an unknown strategy."""
    strategy = _simple(parsed, f"{_A}artifact-resolver-strategy", _STRATEGIES)
    group, artifact = parsed[f"{_A}artifact.group-id"], parsed[f"{_A}artifact.artifact-id"]

    def of(topic: str, name: str | None) -> str:
        own, wanted = _by_strategy(strategy, topic, part, name)
        return f"{group or own or 'default'}/{artifact or wanted}"

    return of


def _by_strategy(strategy: str, topic: str, part: str, name: str | None) -> tuple[str, str]:
    """Group and artifact."""
    if strategy == "TopicIdStrategy":
        return "", f"{topic}-{part}"
    if strategy == "SimpleTopicIdStrategy":
        return "", topic
    if name is None:
        raise DataError(f"{strategy} needs a schema name, which the {part} of topic {topic} lacks")
    if strategy == "QualifiedRecordIdStrategy":
        return "", name
    space, _, simple = name.rpartition(".")
    return space, f"{topic}-{simple}" if strategy == "TopicRecordIdStrategy" else simple


def _simple(parsed: Mapping[str, Any], name: str, classes: tuple[str, ...]) -> str:
    """The simple name of a class that a property names."""
    simple = str(parsed[name]).rpartition(".")[2]
    if simple not in classes:
        raise ConfigError(f"Invalid value {parsed[name]} for configuration {name}: use one of {', '.join(classes)}")
    return simple
