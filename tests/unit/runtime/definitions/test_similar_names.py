"""Misspelled classes and aliases get the name that was probably meant."""

from __future__ import annotations

import pytest

from runtime.definitions.messages import unknown_class_hint, unknown_connector
from runtime.plugins.plugin import PluginType
from runtime.plugins.registry import CONNECTORS, registry

K = "org.apache.kafka.connect."
CLASSES = registry()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("JdbcSorce", "JdbcSource"),
        ("httpsource", "HttpSource"),
        ("FileStreamSourceConector", "FileStreamSourceConnector"),
        ("org.apache.kafka.connect.flie.FileStreamSinkConnector", "FileStreamSinkConnector"),
    ],
)
def test_a_connector(name: str, meant: str) -> None:
    available = [plugin for kind in CONNECTORS for plugin in CLASSES.of_kind(kind)]
    assert unknown_connector(name, available).endswith(f". Did you mean {meant}?")


@pytest.mark.parametrize(
    ("kind", "name", "meant"),
    [
        (PluginType.CONVERTER, "JsonConvertor", "JsonConverter"),
        (PluginType.CONVERTER, f"{K}json.StringConverter", "StringConverter"),
        (PluginType.TRANSFORMATION, "RegexRoute", "RegexRouter"),
        (PluginType.TRANSFORMATION, f"{K}transforms.InsertFeild$Value", f"{K}transforms.InsertField$Value"),
        (PluginType.PREDICATE, "TopicNameMatch", "TopicNameMatches"),
    ],
)
def test_a_class_of_another_type(kind: PluginType, name: str, meant: str) -> None:
    assert unknown_class_hint(name, kind, CLASSES) == f" Did you mean {meant}?"


def test_a_name_that_resembles_nothing_gets_no_hint() -> None:
    assert unknown_class_hint("com.example.Warehouse", PluginType.TRANSFORMATION, CLASSES) == ""
    assert unknown_connector("com.example.Warehouse", []).endswith("available connectors are: ")
