"""The options that all converters with a schema registry have, and the subjects under which schemas are registered."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance
from runtime.api.config.types import invalid
from runtime.api.config.validators import Validator
from runtime.api.errors import ConfigError, DataError
from runtime.config.stores.key_stores import load_keys, own_keys, trusted
from runtime.converters.definitions import CONVERTER_TYPE
from runtime.converters.registry.http import HttpClient

STRATEGIES = ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy")
_PACKAGE = "io.confluent.kafka.serializers.subject."


class Subjects:
    """Subjects of keys or values by a strategy, which is named by Confluent's class or its simple name."""

    def __init__(self, strategy: str, part: str) -> None:
        """`part`: key or value; ConfigError for an unknown strategy."""
        self._strategy, self._part = strategy.removeprefix(_PACKAGE), part
        if self._strategy not in STRATEGIES:
            raise ConfigError(f"Unknown subject name strategy {strategy}: use one of {', '.join(STRATEGIES)}")

    def subject(self, topic: str, name: str | None) -> str:
        """`name`: the full name of the schema; DataError if the strategy needs one and the schema has none."""
        if self._strategy == STRATEGIES[0]:
            return f"{topic}-{self._part}"
        if name is None:
            raise DataError(f"{self._strategy} needs a schema name, which the {self._part} of topic {topic} lacks")
        return name if self._strategy == STRATEGIES[1] else f"{topic}-{name}"


_TLS = "schema.registry.ssl."
STORES = (
    ("truststore.location", ConfigType.STRING, "", "Store of trusted certificates: JKS, JCEKS, PKCS12 or PEM."),
    ("truststore.password", ConfigType.PASSWORD, "", "Its password."),
    ("truststore.type", ConfigType.STRING, "JKS", "Its type; the content decides."),
    ("keystore.location", ConfigType.STRING, "", "Store of the key and certificate to present."),
    ("keystore.password", ConfigType.PASSWORD, "", "Its password."),
    ("keystore.type", ConfigType.STRING, "JKS", "Its type; the content decides."),
    ("key.password", ConfigType.PASSWORD, "", "Password of the key, if it differs from that of the store."),
)
"""Keys after _TLS, with type, default and description."""

_ID_PACKAGE = "io.confluent.kafka.serializers.schema.id."
SERIALIZERS = ("PrefixSchemaIdSerializer", "HeaderSchemaIdSerializer")
DESERIALIZERS = ("DualSchemaIdDeserializer", "PrefixSchemaIdDeserializer")


def missing(converter: str, package: str, extra: str) -> str:
    """The message about an optional package that is not installed."""
    return f"{converter} needs {package}, which is not installed: pip install 'headrace[{extra}]'"


def installed(converter: str, package: str, module: str, extra: str) -> Validator:
    """A validator that reports a missing package, or an empty list of registries."""

    def validate(name: str, value: Any) -> None:
        require(converter, package, module, extra)
        if not value:
            raise ConfigError(f"Invalid value {value} for configuration {name}: set the URL of a schema registry")

    return validate


def require(converter: str, package: str, module: str, extra: str) -> None:
    """Raises ConfigError if a package is not installed."""
    try:
        exists = find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):  # its parent is missing, or it is None in sys.modules
        exists = False
    if not exists:
        raise ConfigError(missing(converter, package, extra))


def optional(name: str, type_: ConfigType, default: Any, doc: str, validator: Validator | None = None) -> ConfigKey:
    return ConfigKey(name, type_, default, Importance.LOW, doc, validator)


_NOT_STRICT = "Only false: each value is checked, not the schema as a whole."


def _false(name: str, value: Any) -> None:
    if value:
        checked = "each value is checked against the schema in the registry, not the schema as a whole"
        raise invalid(name, value, f"{checked}; remove {name}, or set it to false")


def registry_options(url: Validator, *own: ConfigKey) -> ConfigDef:
    """The definition of a converter: the options of a registry, and its own. `url`: the validator of the URLs."""
    kinds = ConfigType
    return ConfigDef(
        CONVERTER_TYPE,
        ConfigKey("schema.registry.url", kinds.LIST, doc="URLs of schema registries, tried in order.", validator=url),
        optional("auto.register.schemas", kinds.BOOLEAN, True, "Whether to register new schemas."),
        optional("normalize.schemas", kinds.BOOLEAN, False, "Whether the registry compares schemas in a normal form."),
        optional(
            "use.latest.version",
            kinds.BOOLEAN,
            False,
            "Whether to write with the subject's latest schema if auto.register.schemas is false.",
        ),
        optional(
            "use.schema.id",
            kinds.INT,
            -1,
            "Id of the schema to write with if auto.register.schemas is false; -1: none.",
        ),
        *(
            optional(f"{kind}.compatibility.strict", kinds.BOOLEAN, False, _NOT_STRICT, _false)
            for kind in ("latest", "id")
        ),
        *(
            option
            for part in ("key", "value")
            for option in (
                optional(f"{part}.subject.name.strategy", kinds.STRING, STRATEGIES[0],
                         f"Strategy for the subjects of {part} schemas."),
                optional(f"{part}.schema.id.serializer", kinds.STRING, _ID_PACKAGE + SERIALIZERS[0],
                         f"Where the schema id of a {part} is written: {' or '.join(SERIALIZERS)}."),
                optional(f"{part}.schema.id.deserializer", kinds.STRING, _ID_PACKAGE + DESERIALIZERS[0],
                         f"Where the schema id of a {part} is read: {' or '.join(DESERIALIZERS)}."),
            )
        ),
        optional("basic.auth.credentials.source", kinds.STRING, "URL", "URL or USER_INFO."),
        optional("basic.auth.user.info", kinds.PASSWORD, "", "user:password, if the source is USER_INFO."),
        optional("bearer.auth.token", kinds.PASSWORD, "", "Token for bearer authentication."),
        *(optional(f"{_TLS}{name}", type_, default, doc) for name, type_, default, doc in STORES),
        optional("schemas.cache.config", kinds.INT, 1000, "Ignored: all schemas in use are cached."),
        *own,
    )  # fmt: skip


def id_class(parsed: Mapping[str, Any], name: str, classes: tuple[str, ...]) -> str:
    """The simple name of the class that a property names; ConfigError if it is not among `classes`."""
    given = str(parsed[name])
    if given.removeprefix(_ID_PACKAGE) not in classes:
        raise ConfigError(f"Invalid value {given} for configuration {name}: use one of {', '.join(classes)}")
    return given.removeprefix(_ID_PACKAGE)


def http_client(given: Mapping[str, str], parsed: Mapping[str, Any]) -> HttpClient:
    """The client for a converter's configuration; `parsed` has its typed values."""
    source = parsed["basic.auth.credentials.source"].upper()
    if source not in ("URL", "USER_INFO"):
        raise ConfigError(
            f"Invalid value {source} for configuration basic.auth.credentials.source: use URL or USER_INFO"
        )
    info = given.get("schema.registry.basic.auth.user.info") or given.get("basic.auth.user.info", "")
    user, _, password = info.partition(":")
    credentials = (user, password) if source == "USER_INFO" else None
    token = given.get("bearer.auth.token", "")
    stores = {name: given[f"{_TLS}{name}"] for name, *_ in STORES if given.get(f"{_TLS}{name}")}
    tls = tls_context(stores, _TLS)
    return HttpClient(parsed["schema.registry.url"], credentials, token, tls)


def tls_context(stores: Mapping[str, str], prefix: str) -> Any:
    """A context with the trust and key store, in any of Java's formats; True without stores. `stores`: by names like
    `truststore.location`. ConfigError names the property, which starts with `prefix`, and the file."""
    from runtime.system.http_client import verifying_context

    named = {f"ssl.{name}": value for name, value in stores.items()}
    try:
        certificates, keys = trusted(named), own_keys(named)
        if certificates is None and keys is None:
            return True
        context = verifying_context(cadata=certificates)
        if keys is not None:
            load_keys(context, keys)
    except (OSError, ValueError) as e:  # ssl.SSLError is an OSError
        raise ConfigError(f"{prefix}{str(e).removeprefix('ssl.')}") from None
    return context
