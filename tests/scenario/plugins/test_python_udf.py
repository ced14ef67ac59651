"""headrace.PythonUdf in a worker: dead letters, validation, preview, environments and reloads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, STRING, STRINGS, Connect, dead_letters
from tests.support.packages.wheels import build_wheel
from tests.support.tasks.pipeline import messages, records
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

MODULE = "headrace_test_functions"
JSON = {
    "key.converter": STRING,
    **JSON_VALUES,
}


def udf(function: str, **more: str) -> dict[str, str]:
    return {"transforms": "u", "transforms.u.type": "headrace.PythonUdf", "transforms.u.function": function, **more}


def test_the_record_at_fault_becomes_a_dead_letter_of_a_sink(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    name, topic, letters, file = unique("udf"), broker.create_topic(), broker.create_topic(), tmp_path / "out"
    broker.produce(topic, *(json.dumps({"id": n, "name": f"n{n}"}).encode() for n in range(500)))
    errors = dead_letters(letters)
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(file), **JSON, **errors}
    connect.create(name, {**config, **udf(f"{MODULE}:quotients")})
    offsets = [{"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": {"kafka_offset": 500}}]
    wait_until(lambda: connect.offsets(name) == offsets or connect.states(name)[1] == ["FAILED"], 60, "its offsets")
    assert connect.states(name)[1] == ["RUNNING"]
    expected = [f"{{q={1000 // (n - 77)}, name=N{n}, id={n}}}" for n in range(400) if n != 77 for _ in range(2)]
    assert file.read_text().splitlines() == expected
    (letter,) = messages(broker, letters)
    headers = dict(letter.headers())
    assert letter.value() == b'{"id": 77, "name": "n77"}'
    assert headers["__connect.errors.offset"] == b"77"
    assert (
        b"transforms.u: headrace_test_functions:quotients fails: ZeroDivisionError"
        in (headers["__connect.errors.exception.message"])
    )


def test_a_function_is_checked_and_previewed_before_it_is_used(connect: Connect) -> None:
    config = {"connector.class": "FileStreamSource", "name": "u", "file": "f", "topic": "t", **JSON}

    def errors(function: str) -> list[str]:
        response = connect.ask(
            "PUT", "/connector-plugins/FileStreamSource/config/validate", {**config, **udf(function)}
        )
        values = {entry["value"]["name"]: entry["value"] for entry in response["configs"]}
        found: list[str] = values["transforms.u.function"]["errors"]
        return found

    assert errors(f"{MODULE}.quotients") == []
    assert f"has no function quotient. Did you mean {MODULE}:quotients?" in errors(f"{MODULE}:quotient")[0]
    assert "There is no module orders in plugin.path" in errors("orders:clean")[0]
    values = [{"id": 1, "name": "a"}, {"id": 77, "name": "b"}, {"id": 400, "name": "c"}]
    body: dict[str, Any] = {
        "config": {**config, **udf(f"{MODULE}:quotients")},
        "records": [{"value": v} for v in values],
    }
    preview = connect.ask("POST", "/connector-plugins/FileStreamSource/preview", body)
    assert [record["result"] for record in preview["records"]] == ["CHANGED", "FAILS", "DROPPED"]
    first, failed, _ = preview["records"]
    assert first["after"]["value"] == first["more"][0]["value"] == {"id": 1, "q": -14, "name": "A"}
    assert "transforms.u: headrace_test_functions:quotients fails: ZeroDivisionError" in json.dumps(failed)


@pytest.mark.soak
def test_a_function_that_returns_something_else_fails_its_task(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    name, topic = unique("udf"), broker.create_topic()
    broker.produce(topic, b'{"id": 1}')
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(tmp_path / "out"), **JSON}
    connect.create(name, {**config, **udf(f"{MODULE}:wrong"), "errors.tolerance": "all"})
    connect.wait(name, "RUNNING", ["FAILED"])
    trace = connect.status(name)["tasks"][0]["trace"]
    assert "transforms.u: headrace_test_functions:wrong returns a list with str" in trace


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("functions")
    _environment(path / "geo-1.0", "1.0")
    (path / "udf_plain.py").write_text(_function("old"))
    return path


def _function(version: str) -> str:
    return f"import pyarrow as pa\ndef stamp(batch):\n    return pa.table({{'value': ['{version}'] * len(batch)}})\n"


def _environment(folder: Path, version: str) -> None:
    """A folder with a function and its own version of a library."""
    code = (
        _function("x").replace("'x'", "udf_clash.VERSION").replace("import pyarrow", "import udf_clash\nimport pyarrow")
    )
    build_wheel(folder, "udf_geo", version, {"udf_geo.py": code})
    build_wheel(folder, "udf_clash", version, {"udf_clash.py": f"VERSION = '{version}'\n"})


@pytest.fixture(scope="module")
def own(folder: Path, module_worker: StartWorker) -> Connect:
    return Connect(module_worker({"plugin.path": str(folder), "offset.flush.interval.ms": "500"}))


@pytest.mark.soak
def test_functions_have_libraries_of_their_own_and_are_reloaded(
    own: Connect, broker: KafkaBroker, folder: Path, tmp_path: Path
) -> None:
    topics, files = {}, {}
    for function in ("udf_geo:stamp", "udf_plain:stamp"):
        name = function.partition(":")[0]
        topics[name], files[name] = broker.create_topic(), tmp_path / name
        files[name].write_text("line\n")
        config = {"connector.class": "FileStreamSource", "file": str(files[name]), "topic": topics[name], **STRINGS}
        own.create(name, {**config, **udf(function)})

    def texts(name: str) -> list[bytes | None]:
        return [value for _, value in records(broker, topics[name])]

    wait_until(lambda: texts("udf_geo") == [b"1.0"] and texts("udf_plain") == [b"old"], 90, "records of both")
    (folder / "udf_plain.py").write_text(_function("new!"))
    _environment(folder / "geo-1.10", "1.10")
    (answer,) = own.ask("POST", "/connector-plugins/reload")["workers"].values()
    assert sorted(answer["restarted"]) == ["udf_geo", "udf_plain"]
    for name, file in files.items():
        own.wait(name, "RUNNING", ["RUNNING"])
        with file.open("a") as stream:
            stream.write("line\n")
    wait_until(lambda: [texts(name)[1:] for name in topics] == [[b"1.10"], [b"new!"]], 90, "new code")
