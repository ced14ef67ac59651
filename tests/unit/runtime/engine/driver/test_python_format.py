"""Python data sources as formats of Spark, without Spark."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import cloudpickle

from runtime.api.errors import ConfigError
from runtime.connectors.spark.config_keys import FORMAT, is_format
from runtime.engine.driver.session import python_format
from runtime.engine.driver.session.frames import format_name
from runtime.engine.driver.session.queries import NotAQueryError

SQUARES = "tests.support.data_sources.Squares"


@pytest.mark.parametrize("name", [SQUARES, "tests.support.data_sources:Squares"])
def test_only_the_processes_that_read_import_the_class(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[bytes] = []
    monkeypatch.setattr(python_format, "register", lambda _, source: registered.append(cloudpickle.dumps(source)))
    monkeypatch.delitem(sys.modules, "tests.support.data_sources", raising=False)
    assert format_name(SimpleNamespace(), name) == SQUARES
    assert "tests.support.data_sources" not in sys.modules
    source: Any = cloudpickle.loads(registered[0])
    assert (source.name(), source.__name__, source({"reads": "x"}).schema()) == (
        SQUARES, "Squares", "n BIGINT NOT NULL, square BIGINT, reads INT",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["parquet", "avro", "org.apache.spark.sql.avro.AvroFileFormat", "pyspark_other"])
def test_other_formats_are_those_of_spark(name: str) -> None:
    is_format(FORMAT, name)
    assert format_name(None, name) == ("org.apache.spark.sql.avro.AvroFileFormat" if name == "avro" else name)


@pytest.mark.parametrize("name", ["os.path", "tests.support.data_sources.Cubes", "nowhere:Squares"])
def test_a_class_that_is_not_a_data_source_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"Invalid value {name} for configuration spark\.format"):
        is_format(FORMAT, name)
    with pytest.raises(NotAQueryError, match=name):
        format_name(None, name)
