"""Errors about the classes of plugins name the configuration key and a remedy."""

from __future__ import annotations

import pytest

from runtime.api.errors import ConfigError, ConnectError
from runtime.java.errors import java_error
from runtime.model.task_spec import ConverterSpec, TaskSpec
from runtime.pipeline.load import load_converters, load_steps
from tests.support.tasks.pipeline import SINK, task_spec

_MASK = "org.apache.kafka.connect.transforms.MaskField"
_INSTALL = "Install it into a folder of plugin.path on this worker, or correct"


def _spec(config: dict[str, str], converter: str = "com.example.Gone", **targets: str) -> TaskSpec:
    own = {key.replace("_", "."): target for key, target in targets.items()}
    return task_spec("sink", SINK, config, value_converter=ConverterSpec(converter), targets=own)


@pytest.mark.parametrize(
    ("config", "place"),
    [({"value.converter": "com.example.Gone"}, "value.converter"), ({}, "value.converter of the worker")],
)
def test_an_unknown_converter(config: dict[str, str], place: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_converters(_spec(config))
    reason = f"Class com.example.Gone could not be found. {_INSTALL} value.converter"
    assert str(error.value) == f"Invalid value com.example.Gone for configuration {place}: {reason}"


def test_an_unknown_transformation_with_a_similar_name() -> None:
    key = "transforms.m.type"
    with pytest.raises(ConfigError) as error:
        load_steps(_spec({"transforms": "m", key: f"{_MASK}$Valeu"}))
    assert str(error.value).startswith(
        f"Invalid value {_MASK}$Valeu for configuration {key}: Class {_MASK}$Valeu could"
    )
    assert str(error.value).endswith(f"Did you mean {_MASK}$Value?")


def test_a_class_that_has_gone_from_its_module_or_jar_since_the_task_was_planned() -> None:
    config = {"value.converter": "com.example.Gone"}
    with pytest.raises(ConfigError, match=rf"configuration value\.converter: Class .* {_INSTALL} value\.converter"):
        load_converters(_spec(config, value_converter="runtime.api.converter:Gone"))
    with pytest.raises(ConfigError, match=r"configuration value\.converter: .* loaded: com\.example\.Gone is missing"):
        load_converters(_spec(config, value_converter=f"{__name__}:GoneFromJar"))
    with pytest.raises(ConnectError, match="no license"):
        load_converters(_spec(config, value_converter=f"{__name__}:Unlicensed"))


class GoneFromJar:
    """A Java class whose jar was removed."""

    def __init__(self) -> None:
        missing = "java.lang.ClassNotFoundException"
        raise java_error([missing, "com.example.Gone", "", [missing, "java.lang.Exception"]])


class Unlicensed:
    """A Java class whose constructor fails."""

    def __init__(self) -> None:
        raise java_error(["com.example.NoLicense", "no license", "", ["com.example.NoLicense"]])
