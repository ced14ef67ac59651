"""Validation of connector configurations, with the messages of Apache Kafka Connect 4.3.0."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime.api.connector import Connector
from runtime.definitions import invalid_message
from runtime.definitions.validation import WorkerDefaults, validate, validate_text
from runtime.plugins.registry import PluginRegistry

REGISTRY = PluginRegistry()
DEFAULTS = WorkerDefaults("JsonConverter", "StringConverter", "SimpleHeaderConverter")
K = "org.apache.kafka.connect."
NULL = "Null value can not be supplied as the configuration value."


def answer(config: dict[str, str | None], **defaults: Any) -> dict[str, Any]:
    plugin = REGISTRY.find(config["connector.class"] or "")
    assert plugin is not None
    connector: Connector = REGISTRY.load_class(plugin)()
    return validate(config, plugin, connector, REGISTRY, DEFAULTS if not defaults else WorkerDefaults(**defaults))


def source(**config: str | None) -> dict[str, Any]:
    base: dict[str, str | None] = {"connector.class": "FileStreamSource", "name": "a", "topic": "t", "file": "f"}
    return answer(base | {k.replace("__", "."): v for k, v in config.items()})


def sink(**config: str | None) -> dict[str, Any]:
    base: dict[str, str | None] = {"connector.class": "FileStreamSink", "name": "a", "file": "f"}
    return answer(base | {k.replace("__", "."): v for k, v in config.items()})


def errors(result: dict[str, Any]) -> dict[str, list[str]]:
    found = {c["value"]["name"]: c["value"]["errors"] for c in result["configs"] if c["value"]["errors"]}
    assert result["error_count"] == sum(map(len, found.values()))
    return found


def value(result: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(c["value"] for c in result["configs"] if c["value"]["name"] == name)
    return found


def test_a_valid_config_has_no_errors() -> None:
    assert errors(source()) == {}
    assert invalid_message(source()) is None
    assert errors(sink(topics="a, b")) == {}
    assert errors(sink(topics__regex="a.*")) == {}


def test_the_message_lists_all_errors() -> None:
    result = source(tasks__max="abc")
    assert invalid_message(result) == (
        "Connector configuration is invalid and contains the following 2 error(s):\n"
        "Invalid value abc for configuration tasks.max: Not a number of type INT\n"
        "Invalid value null for configuration tasks.max: Value must be non-null\n"
        "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


def test_the_default_converters_are_those_of_the_worker() -> None:
    result = source()
    assert value(result, "value.converter")["value"] == "org.apache.kafka.connect.storage.StringConverter"
    assert not [c for c in result["configs"] if c["value"]["name"].startswith("value.converter.schemas")]
    assert errors(source(value__converter__schemas__enable="x")) == {}  # the worker's converter is configured there


def test_a_converters_own_keys_are_validated() -> None:
    result = source(value__converter="Json", value__converter__schemas__enable="x", header__converter="JsonConverter")
    assert errors(result) == {
        "value.converter.schemas.enable": [
            "Invalid value x for configuration schemas.enable: Expected value to be either true or false"
        ]
    }
    assert value(result, "header.converter.converter.type")["value"] == "header"
    assert {"Serialization", "Schemas"} <= set(result["groups"])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("key.converter", "x.A", "Invalid value x.A for configuration key.converter: Class x.A could not be found."),
        ("key.converter", "", "Invalid value  for configuration key.converter: Class  could not be found."),
        (
            "value.converter",
            "FileStreamSource",
            f"Class class {K}file.FileStreamSourceConnector does not implement the Converter interface",
        ),
        (
            "value.converter",
            "Simple",
            f"Class class {K}storage.SimpleHeaderConverter does not implement the Converter interface",
        ),
    ],
)  # fmt: skip
def test_a_class_that_is_not_a_converter_is_refused(name: str, text: str, message: str) -> None:
    result = source(**{name: text})
    assert errors(result) == {name: [message]}


def test_a_java_converter_that_is_not_installed_is_refused_with_the_remedy() -> None:
    (message,) = errors(source(value__converter="io.debezium.converters.ByteBufferConverter"))["value.converter"]
    assert message.endswith("is a Java plugin; install it into a folder of plugin.path (headrace plugin install)")


def test_java_names_of_the_avro_converter_are_accepted() -> None:
    avro = "io.confluent.connect.avro.AvroConverter"
    assert list(errors(source(value__converter=avro))) == ["value.converter.schema.registry.url"]
    assert errors(source(value__converter=avro, value__converter__schema__registry__url="http://x")) == {}


def test_topics_of_a_sink() -> None:
    both = "topics and topics.regex are mutually exclusive options, but both are set."
    none = "Must configure one of topics or topics.regex"
    assert errors(sink()) == {"topics": [none], "topics.regex": [none]}
    assert errors(sink(topics=" ")) == {"topics": [none], "topics.regex": [none]}
    assert errors(sink(topics="a", topics__regex="b")) == {"topics": [both], "topics.regex": [both]}
    assert errors(sink(topics="a,,b")) == {"topics": ["Configuration 'topics' values must not be empty."]}
    assert errors(sink(topics="a,a")) == {"topics": ["Configuration 'topics' values must not be duplicated."]}
    assert "Invalid regex: " in errors(sink(topics__regex="(("))["topics.regex"][0]


def test_a_dead_letter_topic_that_the_sink_would_read() -> None:
    name = {"errors.deadletterqueue.topic.name": "abc"}
    assert errors(sink(topics="x,abc", **name))["topics"] == [
        "The DLQ topic 'abc' may not be included in the list of topics ('topics=[x, abc]') consumed by the connector"
    ]
    assert errors(sink(topics__regex="a.*", **name))["topics.regex"] == [
        "The DLQ topic 'abc' may not be matched by the regex for the topics ('topics.regex=a.*') consumed by the "
        "connector"
    ]
    (message,) = errors(sink(topics__regex="((", **name))["topics.regex"]
    assert "Invalid regex" in message


def test_errors_of_null_values() -> None:
    result = source(tasks__max=None, zzz=None, value__converter=None, errors__tolerance=None)
    assert errors(result) == {
        "tasks.max": ["Invalid value null for configuration tasks.max: Value must be non-null", NULL],
        "errors.tolerance": [
            "Invalid value null for configuration errors.tolerance: String must be one of: none, all",
            NULL,
        ],
        "value.converter": [NULL],
        "zzz": [NULL],
    }
    assert errors(source(file=None)) == {}
    assert errors(source(topic=None)) == {}  # the connector's own keys have neither a value nor a default
    assert value(source(batch__size=None), "batch.size")["value"] is None


TRANSFORMS = "org.apache.kafka.connect.transforms."


def test_transformations_add_their_keys() -> None:
    result = source(transforms="a", transforms__a__type=f"{TRANSFORMS}Cast$Value", transforms__a__spec="a:int8")
    assert errors(result) == {}
    found = [c["definition"] for c in result["configs"] if c["value"]["name"].startswith("transforms.")]
    assert [d["name"].removeprefix("transforms.a.") for d in found] == [
        "type", "plugin.version", "spec", "negate", "predicate", "replace.null.with.default",
    ]  # fmt: skip
    assert [d["order_in_group"] for d in found] == [0, 1, 2, 3, 4, 5]
    assert {d["group"] for d in found} == {"Transforms: a"}
    assert (found[2]["required"], found[2]["display_name"], found[2]["width"]) == (True, "spec", "NONE")


def test_errors_of_transformations() -> None:
    result = source(
        transforms="a,b,a,c,d,e", transforms__a__type=f"{TRANSFORMS}HoistField", transforms__c__type="Nope",
        transforms__d__type="RegexRouter", transforms__d__regex="(", transforms__d__replacement="x",
        transforms__d__negate="true", transforms__e__type="StringConverter", predicates="p",
    )  # fmt: skip
    found = errors(result)
    assert found.pop("transforms.d.regex")[0].startswith("Invalid value ( for configuration regex: Invalid regex: ")
    assert found == {
        "transforms": ["Invalid value [a, b, a, c, d, e] for configuration transforms: Duplicate alias provided."],
        "transforms.a.type": [
            f"This class is abstract and cannot be created. Did you mean {TRANSFORMS}HoistField$Key, "
            f"{TRANSFORMS}HoistField$Value?"
        ],
        "transforms.b.type": ['Missing required configuration "transforms.b.type" which has no default value.'],
        "transforms.c.type": ["Invalid value Nope for configuration transforms.c.type: Class Nope could not be found."],
        "transforms.d.type": [
            "Config 'transforms.d.negate' was provided but there is no config 'transforms.d.predicate' defining a "
            "predicate to be negated."
        ],
        "transforms.e.type": [
            "Class class org.apache.kafka.connect.storage.StringConverter does not implement the "
            "Transformation interface"
        ],
        "predicates.p.type": ['Missing required configuration "predicates.p.type" which has no default value.'],
    }
    assert result["groups"][-2:] == ["Transforms: e", "Predicates: p"]


def test_validation_ignores_undefined_predicates() -> None:
    assert errors(source(transforms="a", transforms__a__type="Filter", transforms__a__predicate="p")) == {}


def test_versions_of_plugins_are_validated() -> None:
    cls = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    message = f"Plugin {cls} not found that matches the version range [9.9,9.9], available versions: [4.3.0]"
    assert errors(source(connector__plugin__version="9.9")) == {
        "connector.class": [message],
        "connector.plugin.version": [message],
    }
    assert errors(source(connector__plugin__version="[4.0,5.0)")) == {}
    assert set(errors(source(value__converter="Json", value__converter__plugin__version="[1,2)"))) == {
        "value.converter",
        "value.converter.plugin.version",
    }
    assert set(errors(source(header__converter="Simple", header__converter__plugin__version="[1,2)"))) == {
        "header.converter",
        "header.converter.plugin.version",
    }


def test_with_a_wrong_version_versions_of_given_converters_are_visible() -> None:
    result = source(connector__plugin__version="9.9", value__converter="Json", header__converter="None")
    versions = [value(result, f"{which}.converter.plugin.version") for which in ("key", "value", "header")]
    assert [version["visible"] for version in versions] == [False, True, False]


def test_exactly_once_is_refused() -> None:
    disabled = "This worker does not have exactly-once source support enabled."
    cannot = "The connector does not support exactly-once semantics with the provided configuration."
    assert errors(source(exactly__once__support="required")) == {"exactly.once.support": [disabled]}
    assert errors(source(exactly__once__support="REQUIRED", file="")) == {"exactly.once.support": [disabled, cannot]}
    assert errors(source(transaction__boundary="interval")) == {}
    (message,) = errors(source(transaction__boundary="connector"))["transaction.boundary"]
    assert message.startswith("The connector does not support connector-defined transaction boundaries")


def test_client_overrides_are_accepted() -> None:
    assert errors(source(producer__override__linger__ms="5", consumer__override__x="1")) == {}


FAILING = """
from runtime.api import Converter, Transformation


class Undefined:
    def __get__(self, instance, owner):
        raise ValueError("no definition")


class Unlicensed(Converter):
    def __init__(self):
        raise ValueError("no license")

    def from_connect(self, topic, schema, value): ...
    def to_connect(self, topic, data): ...


class Vague(Unlicensed):
    def __init__(self): ...

    config_def = Undefined()


class UnlicensedStep(Transformation):
    def __init__(self):
        raise ValueError("no license")

    def apply(self, record): ...


class VagueStep(UnlicensedStep):
    def __init__(self): ...

    config_def = Undefined()
"""


def test_a_plugin_whose_code_fails_has_the_error_at_its_key_beside_the_others(tmp_path: Path) -> None:
    """With Apache's messages for classes that cannot be created, or that do not define their keys."""
    (tmp_path / "failing.py").write_text(FAILING)
    registry = PluginRegistry((str(tmp_path),))
    config: dict[str, str | None] = {
        "connector.class": "FileStreamSource", "name": "a", "topic": "t", "file": "f", "tasks.max": "0",
        "key.converter": "failing.Unlicensed", "value.converter": "failing.Vague",
        "transforms": "a,b", "transforms.a.type": "failing.UnlicensedStep", "transforms.b.type": "failing.VagueStep",
    }  # fmt: skip
    plugin = registry.find("FileStreamSource")
    assert plugin is not None
    result = validate(config, plugin, registry.load_class(plugin)(), registry, DEFAULTS)
    assert errors(result) == {
        "tasks.max": ["Invalid value 0 for configuration tasks.max: Value must be at least 1"],
        "key.converter": [_not_created("key.converter", "failing.Unlicensed")],
        "value.converter": ["Failed to load ConfigDef from value converter: no definition"],
        "transforms.a.type": [_not_created("transforms.a.type", "failing.UnlicensedStep")],
        "transforms.b.type": ["Error getting config definition from Transformation: no definition"],
    }
    assert value(result, "key.converter")["value"] is value(result, "transforms.a.type")["value"] is None
    text = validate_text(config, plugin, registry.load_class(plugin), registry, DEFAULTS)
    assert "key.converter" not in errors(text), "no constructor runs for a caller who may not create connectors"


def test_a_connector_that_uses_objects_of_apaches_worker_is_refused_by_name() -> None:
    plugin = REGISTRY.find("FileStreamSource")
    assert plugin is not None
    herder, config_class = f"{K}runtime.Herder", f"{K}runtime.ConnectorConfig"
    config = {"connector.class": "FileStreamSource", "name": "a", "topic": "t", "file": "f"}
    cls = REGISTRY.load_class(plugin)
    for names, refused in (((config_class,), False), ((config_class, herder), True)):
        using = replace(plugin, worker_classes=names)
        for result in (
            validate(config, using, cls(), REGISTRY, DEFAULTS),
            validate_text(config, using, cls, REGISTRY, DEFAULTS),
        ):
            expected = f"{plugin.cls} uses {herder} of Apache's worker, which Headrace does not have."
            assert refused == any(error.startswith(expected) for error in errors(result).get("connector.class", ()))


def _not_created(key: str, cls: str) -> str:
    reason = f"Class {cls} could not be found. It cannot be created: no license"
    return f"Invalid value {cls} for configuration {key}: {reason}"
