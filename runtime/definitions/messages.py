"""Messages about connector configurations, with Connect's wording."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from runtime.plugins.plugin import Plugin, PluginType
from runtime.transforms.bundled import ABSTRACT

if TYPE_CHECKING:
    from runtime.plugins.registry import PluginRegistry

_JAVA_PLUGINS = (
    "com.couchbase.", "com.datamountaineer.", "com.github.jcustenborder.", "com.google.", "com.ibm.", "com.mongodb.",
    "com.sap.", "com.snowflake.", "com.wepay.", "io.aiven.", "io.confluent.", "io.debezium.", "io.lenses.",
    "io.streamthoughts.", "org.apache.camel.", "org.apache.iceberg.", "org.apache.kafka.connect.mirror.",
    "org.apache.kafka.connect.tools.", "org.neo4j.",
)  # fmt: skip
"""Packages of common Java plugins."""


def invalid_message(result: Mapping[str, Any]) -> str | None:
    """The message of the 400 response for an invalid configuration; None if it is valid."""
    errors = [error for config in result["configs"] for error in config["value"]["errors"]]
    if not errors:
        return None
    listed = "\n".join(errors)
    return (
        f"Connector configuration is invalid and contains the following {len(errors)} error(s):\n{listed}\n"
        "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


NO_CONNECTOR_TYPE = "Connector config contains no connector type: set connector.class"
"""As since Kafka 4.4; before, the message repeats the config with its passwords."""


def unknown_connector(name: str, available: Collection[Plugin]) -> str:
    """The message for a `connector.class` that is not a connector of this worker."""
    listed = ", ".join(map(_description, available))
    message = f"Failed to find any class that implements Connector and which name matches {name}, "
    hint = java_hint(name) or did_you_mean(name, available)
    return f"{message}available connectors are: {listed}{'.' if hint else ''}{hint}"


def unknown_class_hint(name: str, kind: PluginType, registry: PluginRegistry) -> str:
    """Explains why no plugin of this type has the name, or suggests another one; empty if nothing is known."""
    return java_hint(name) or registry.elsewhere(name) or did_you_mean(name, registry.of_kind(kind))


def java_hint(name: str) -> str:
    """Explains how a well-known Java plugin becomes available; empty for other classes."""
    if not name.startswith(_JAVA_PLUGINS):
        return ""
    return f" {name} is a Java plugin; install it into a folder of plugin.path (headrace plugin install)"


def _description(plugin: Plugin) -> str:
    kind = plugin.kinds[0]
    location = "bundled" if plugin.target.startswith("runtime.") else plugin.target
    return (
        f"PluginDesc{{klass=class {plugin.cls}, name='{plugin.cls}', version='{plugin.version}', "
        f"encodedVersion={plugin.version}, type={kind.value}, typeName='{kind.value}', location='{location}'}}"
    )


NON_PLUGIN_CLASSES = frozenset(
    ABSTRACT.keys()
    | {f"java.lang.{n}" for n in ("Boolean", "Exception", "Integer", "Long", "Object", "String", "Thread")}
    | {f"java.util.{n}" for n in ("ArrayList", "Date", "HashMap", "HashSet", "LinkedList", "Properties", "UUID")}
)
"""Classes of every Java worker that are not plugins, which it reports as such instead of as unknown."""

_CONVERTERS = "org.apache.kafka.connect.converters."
_STORAGE = "org.apache.kafka.connect.storage."
ABSTRACT_CONVERTERS = {
    PluginType.CONVERTER: (f"{_STORAGE}Converter", f"{_CONVERTERS}NumberConverter"),
    PluginType.HEADER_CONVERTER: (f"{_STORAGE}HeaderConverter", f"{_CONVERTERS}NumberConverter"),
}
"""Abstract classes and interfaces by the type of plugin that they define."""

ABSTRACT_CLASS = "This class is abstract and cannot be created."

_INTERFACES = {
    PluginType.CONVERTER: "Converter",
    PluginType.HEADER_CONVERTER: "HeaderConverter",
    PluginType.TRANSFORMATION: "Transformation",
    PluginType.PREDICATE: "Predicate",
}


def not_an_interface(cls: str, kind: PluginType) -> str:
    """The message for a class that is not a plugin of this type."""
    interface = _INTERFACES[kind]
    return f"Class class {cls} does not implement the {interface} interface"


_SIMILARITY = 0.8  # of 1, so that names of other vendors' plugins suggest nothing


def did_you_mean(name: str, plugins: Iterable[Plugin]) -> str:
    """` Did you mean NAME?` with an alias, or with the class of a plugin without one; empty if no plugin has a similar
    name. Case and package do not matter."""
    from difflib import get_close_matches

    known: dict[str, str] = {}
    for plugin in plugins:
        known[plugin.simple_name.lower()] = plugin.cls
        known |= {alias.lower(): alias for alias in plugin.aliases}
    close = get_close_matches(name.strip().rpartition(".")[2].lower(), list(known), 1, _SIMILARITY)
    return f" Did you mean {known[close[0]]}?" if close else ""
