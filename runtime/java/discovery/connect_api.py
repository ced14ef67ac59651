"""What discovery knows of Connect's own classes without reading its jars: types, inheritance and isolation."""

from __future__ import annotations

from runtime.java.discovery.java_plugin import JavaPluginType
from runtime.transforms.bundled import PREDICATES, TRANSFORMATIONS

_K = "org.apache.kafka."
_C = "org.apache.kafka.connect."

VERSIONED = f"{_C}components.Versioned"

BASES: dict[JavaPluginType, str] = {
    JavaPluginType.SINK: f"{_C}sink.SinkConnector",
    JavaPluginType.SOURCE: f"{_C}source.SourceConnector",
    JavaPluginType.TRANSFORMATION: f"{_C}transforms.Transformation",
    JavaPluginType.PREDICATE: f"{_C}transforms.predicates.Predicate",
    JavaPluginType.CONVERTER: f"{_C}storage.Converter",
    JavaPluginType.HEADER_CONVERTER: f"{_C}storage.HeaderConverter",
    JavaPluginType.CONFIG_PROVIDER: f"{_K}common.config.provider.ConfigProvider",
    JavaPluginType.REST_EXTENSION: f"{_C}rest.ConnectRestExtension",
    JavaPluginType.OVERRIDE_POLICY: f"{_C}connector.policy.ConnectorClientConfigOverridePolicy",
}
"""The class or interface that makes a class a plugin of a type."""

FROM_WORKER = frozenset(BASES.values())
"""Types that a plugin always gets from the worker, even if its jars contain them. The worker has no plugins outside of
the packages that locations isolate, so that a jar cannot contain another class in place of one of the worker's."""

SERVICES_ONLY = (JavaPluginType.CONFIG_PROVIDER, JavaPluginType.REST_EXTENSION, JavaPluginType.OVERRIDE_POLICY)
"""Types that Connect finds by service entries alone, whatever `plugin.discovery` says."""

_TRANSFORMATIONS = [name for name, _ in TRANSFORMATIONS if name.startswith(_C)]
_CONVERTERS = (BASES[JavaPluginType.CONVERTER], BASES[JavaPluginType.HEADER_CONVERTER], VERSIONED)

OF_WORKER: dict[str, JavaPluginType] = {
    **{f"{_C}connector.policy.{name}ConnectorClientConfigOverridePolicy": JavaPluginType.OVERRIDE_POLICY
       for name in ("All", "Allowlist", "None", "Principal")},
    **{f"{_K}common.config.provider.{name}ConfigProvider": JavaPluginType.CONFIG_PROVIDER
       for name in ("Directory", "EnvVar", "File")},
}  # fmt: skip
"""Kafka's own plugins of the worker itself."""

SUPER_TYPES: dict[str, tuple[str, ...]] = {
    **{base: (VERSIONED,) for kind, base in BASES.items() if kind is not JavaPluginType.CONFIG_PROVIDER},
    **{f"{_C}converters.{name}Converter": _CONVERTERS
       for name in ("Boolean", "ByteArray", "Double", "Float", "Integer", "Long", "Number", "Short")},
    f"{_C}storage.StringConverter": _CONVERTERS,
    f"{_C}json.JsonConverter": _CONVERTERS,
    f"{_C}storage.SimpleHeaderConverter": (BASES[JavaPluginType.HEADER_CONVERTER], VERSIONED),
    **{name.partition("$")[0]: (BASES[JavaPluginType.TRANSFORMATION], VERSIONED) for name in _TRANSFORMATIONS},
    **dict.fromkeys(_TRANSFORMATIONS, (BASES[JavaPluginType.TRANSFORMATION], VERSIONED)),
    **{name: (BASES[JavaPluginType.PREDICATE], VERSIONED) for name, _ in PREDICATES},
    f"{_C}connector.policy.AbstractConnectorClientConfigOverridePolicy": (BASES[JavaPluginType.OVERRIDE_POLICY],),
    **{name: (BASES[kind],) for name, kind in OF_WORKER.items()},
}  # fmt: skip
"""The super types of classes of Connect that plugins extend."""

KAFKA_PLUGINS = frozenset(name for name, parents in SUPER_TYPES.items() if name not in BASES.values()
                          and VERSIONED in parents)  # fmt: skip
"""Plugins of Kafka itself; their version is Kafka's."""


def is_named(cls: str, kind: JavaPluginType, name: str) -> bool:
    """Whether a name is that of a class, or its alias as a plugin of this type: without its package, and also without
    the name of the type at its end."""
    simple = cls.rpartition(".")[2]
    return name in (cls, simple, simple.removesuffix(BASES[kind].rpartition(".")[2]))


def is_provided(name: str) -> bool:
    """True for classes that the worker or the JDK provides to every plugin."""
    return name.startswith((_K, "org.slf4j.", *_JDK))


_JDK = ("java.", "javax.", "jdk.", "sun.", "com.sun.", "org.w3c.dom.", "org.xml.sax.", "org.ietf.jgss.")
