"""READ: a validation as text runs nothing, opens nothing and resolves nothing, whatever the configuration names."""

from __future__ import annotations

import socket
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runtime.api.connector import SourceConnector
from runtime.definitions.validation import WorkerDefaults, validate_text
from runtime.java.plugins.definition import definition_of
from runtime.plugins.registry import PluginRegistry

REGISTRY = PluginRegistry()
DEFAULTS = WorkerDefaults("JsonConverter", "StringConverter", "SimpleHeaderConverter")


def answer(config: dict[str, str | None]) -> dict[str, Any]:
    plugin = REGISTRY.find(config["connector.class"] or "")
    assert plugin is not None
    return validate_text({"name": "a", **config}, plugin, REGISTRY.load_class(plugin), REGISTRY, DEFAULTS)


def errors(result: dict[str, Any]) -> dict[str, list[str]]:
    return {c["value"]["name"]: c["value"]["errors"] for c in result["configs"] if c["value"]["errors"]}


def test_a_reader_cannot_make_jdbc_connect(tmp_path: Path) -> None:
    file = tmp_path / "made-by-a-reader.db"
    config = {"connector.class": "headrace.JdbcSourceConnector", "connection.url": f"sqlite:///{file}"}
    result = answer({**config, "mode": "bulk", "topic.prefix": "t-", "table.include": "a"})
    assert not file.exists()
    assert all(not c["value"]["recommended_values"] for c in result["configs"] if c["value"]["name"] == "table.include")


def test_a_reader_cannot_make_change_data_capture_connect() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        at = {"database.hostname": host, "database.port": str(port)}
        more = {"database.user": "u", "database.password": "p", "database.dbname": "d", "topic.prefix": "t"}
        assert errors(answer({"connector.class": "headrace.PostgresCdcSourceConnector", **at, **more})) == {}
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_reader_cannot_import_modules(tmp_path: Path) -> None:
    module = "this"  # prints a poem when it is imported
    sys.modules.pop(module, None)
    answer({"connector.class": "headrace.DataSourceConnector", "data.source": f"{module}.X", "topic": "t"})
    assert module not in sys.modules


def test_a_reader_cannot_run_functions(tmp_path: Path) -> None:
    (tmp_path / "udf_of_reader.py").write_text("import this\n\ndef clean(batch): return batch\n")
    sys.modules.pop("this", None)
    plugins = PluginRegistry((str(tmp_path),))
    plugin = plugins.find("FileStreamSink")
    assert plugin is not None
    for function, problem in (
        ("udf_of_reader:clean", ""),
        ("udf_of_reader:x", "no function x"),
        ("os:abort", "no module os"),
    ):
        chain = {"transforms": "u", "transforms.u.type": "headrace.PythonUdf", "transforms.u.function": function}
        config: dict[str, str | None] = {"name": "a", "connector.class": plugin.cls, "topics": "t", **chain}
        found = errors(validate_text(config, plugin, plugins.load_class(plugin), plugins, DEFAULTS))
        assert problem in "".join(found.get("transforms.u.function", [""])) and bool(found) is bool(problem)
    assert "this" not in sys.modules and "udf_of_reader" not in sys.modules


def test_variables_are_shown_as_they_are_and_named_as_unchecked() -> None:
    result = answer({
        "connector.class": "FileStreamSink", "topics": "${file:/x:topics}", "tasks.max": "${env:N}",
        "transforms": "${file:/x:dbpw}",
    })  # fmt: skip
    assert errors(result) == {} and result["error_count"] == 0
    shown = {c["value"]["name"]: c["value"]["value"] for c in result["configs"]}
    assert (shown["tasks.max"], shown["transforms"]) == ("${env:N}", "${file:/x:dbpw}")
    assert any("topics, tasks.max, transforms" in line and "role admin" in line for line in result["unchecked"])


def test_types_and_required_keys_are_checked() -> None:
    result = answer({"connector.class": "FileStreamSource", "tasks.max": "many"})
    assert "Not a number of type INT" in errors(result)["tasks.max"][0]
    assert 'Missing required configuration "topic"' in errors(result)["topic"][0]


def test_keys_of_transformations_are_checked() -> None:
    chain = {"transforms": "a,b", "transforms.a.type": "org.apache.kafka.connect.transforms.RegexRouter"}
    result = answer({"connector.class": "FileStreamSource", "topic": "t", "file": "f", **chain})
    assert "transforms.a.regex" in errors(result)
    assert "transforms.b.type" in errors(result)


def test_a_reader_runs_no_code_of_a_java_connector() -> None:
    """Its definitions are read, as for GET /connector-plugins/{plugin}/config. Instances, validators and recommenders
    are in the JVM and may connect."""

    def call(name: str, *_: object) -> Any:
        assert name == "definition", "the JVM is asked"
        return [("url", "STRING", True, None, "HIGH", "", None, -1, "NONE", "url", [], True, True)]

    class Java(SourceConnector):
        config_def = definition_of(lambda: nullcontext(SimpleNamespace(call=call)))  # type: ignore[arg-type]

        def __init__(self) -> None:
            raise AssertionError("an instance is created")

    plugin = REGISTRY.find("FileStreamSource")
    assert plugin is not None
    config: dict[str, str | None] = {
        "connector.class": "FileStreamSource",
        "name": "a",
        "url": "postgresql://attacker/",
    }
    with pytest.raises(AssertionError, match="the JVM is asked"):
        Java.config_def.validate(config)
    result = validate_text(config, plugin, Java, REGISTRY, DEFAULTS)
    assert "url" not in errors(result) and any("role admin" in line for line in result["unchecked"])
