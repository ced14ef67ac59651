"""`headrace plugin run` without a cluster: records of sources, sinks, transformations and converters."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from runtime.plugin_kit.cli import main
from runtime.plugin_kit.project.new import new_project

_numbers = itertools.count(1)


def project(folder: Path, kind: str, is_async: bool = False) -> Path:
    """A new project whose package no other test has imported."""
    return new_project(f"run-{kind}-{next(_numbers)}", kind, is_async, folder)[0]


def run(folder: Path, *options: str) -> int:
    return main(["run", str(folder), str(folder / "example.json"), *options])


def changed(folder: Path, **more: str) -> None:
    """Changes the example's configuration."""
    file = folder / "example.json"
    keys = {key.replace("_", "."): value for key, value in more.items()}
    file.write_text(json.dumps({**json.loads(file.read_text()), **keys}))


@pytest.mark.parametrize("is_async", [False, True])
def test_records_of_a_source(tmp_path: Path, is_async: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(project(tmp_path, "source", is_async), "--records", "2") == 0
    out = capsys.readouterr().out
    assert out.splitlines() == [
        '   1  measurements  {"station": "north"} {"next": 1}',
        '      {"station": "north", "number": 0, "level": 8.0}',
        '   2  measurements  {"station": "north"} {"next": 2}',
        '      {"station": "north", "number": 1, "level": 8.1}',
    ]


def test_one_task_reads_everything_whatever_tasks_max(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project(tmp_path, "source")
    changed(
        folder, connector_class="DataSource", tasks_max="2", topic="numbers",
        data_source="tests.support.data_sources.Numbers", data_source_option_total="4",
    )  # fmt: skip
    assert run(folder, "--records", "4") == 0
    numbers = [line for line in capsys.readouterr().out.splitlines() if '"n"' in line]
    assert [json.loads(line)["n"] for line in numbers] == [0, 1, 2, 3]


def test_a_source_with_transformations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project(tmp_path, "source")
    changed(
        folder, transforms="t", transforms_t_type="org.apache.kafka.connect.transforms.ExtractField$Value",
        transforms_t_field="level",
    )  # fmt: skip
    assert run(folder, "--records", "1") == 0
    assert capsys.readouterr().out.splitlines()[1] == "      8.0"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (
            {"transforms": "t", "transforms_t_type": "Msak"},
            "Invalid value Msak for configuration transforms.t.type: Class Msak could not be found.",
        ),
        (
            {"value_converter": "Jsno"},
            "Invalid value Jsno for configuration value.converter: Class Jsno could not be found.",
        ),
        ({"connector_class": "FileStreamSource", "topic": "t"}, 'Missing required configuration "file"'),
    ],
)
def test_a_configuration_that_no_task_can_start_with_is_refused_in_one_line(
    tmp_path: Path, more: dict[str, str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = project(tmp_path, "source")
    changed(folder, **more)
    assert run(folder, "--records", "1") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"headrace plugin: {folder / 'example.json'} is not a valid configuration: {reason}")


def test_a_source_that_ends_early_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project(tmp_path, "source")
    changed(folder, total="1")
    assert run(folder, "--records", "2") == 0
    assert "No more records within 3 s." in capsys.readouterr().out


@pytest.mark.parametrize("is_async", [False, True])
def test_records_of_a_sink(
    tmp_path: Path, is_async: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project(tmp_path, "sink", is_async)
    monkeypatch.chdir(folder)
    assert run(folder, "--input", str(folder / "records.jsonl")) == 0
    out = capsys.readouterr().out
    assert 'reported: The value must have a number "id"' in out
    assert out.count("      put\n") == 3
    assert out.endswith("Committed offset 4.\n")


def test_a_sink_whose_task_would_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project(tmp_path, "sink")
    changed(folder, errors_log_enable="false", file=str(tmp_path / "items.db"))
    assert run(folder, "--input", str(folder / "records.jsonl")) == 1
    assert "the task would fail" in " ".join(capsys.readouterr().out.split())


def test_a_sink_without_input_gets_generated_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project(tmp_path, "sink")
    changed(folder, file=str(tmp_path / "items.db"))
    assert run(folder, "--records", "2") == 0
    assert '{"id": 2, "text": "record 2"}' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "shown"),
    [("transform", 'becomes {"id": 1, "site": "north"}'), ("converter", "in Kafka: a=1&b=x+y")],
)
def test_records_without_a_connector(tmp_path: Path, kind: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project(tmp_path, kind)
    assert run(folder, "--input", str(folder / "records.jsonl")) == 0
    out = capsys.readouterr().out
    assert shown in out
    assert "fails: " in out
    assert "in Kafka: null" in out


def test_lines_fit_on_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project(tmp_path, "transform")
    (folder / "records.jsonl").write_text(json.dumps({"text": "word " * 500, "long": "x" * 500}))
    assert run(folder, "--input", str(folder / "records.jsonl")) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "…" in out


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{", "is not valid JSON"),
        ("[]", "must contain a JSON object"),
        ('{"a": 1}', "values are texts, but a is 1"),
        ('{"a": "1"}', "has neither connector.class nor transforms nor a converter"),
        ('{"connector.class": "Nothing"}', "connector.class=Nothing is unknown"),
    ],
)
def test_unusable_configurations(tmp_path: Path, config: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project(tmp_path, "source")
    (folder / "example.json").write_text(config)
    assert run(folder, "--records", "1") == 2
    assert message in capsys.readouterr().err


def test_invalid_configurations_are_refused_with_all_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project(tmp_path, "source")
    changed(folder, total="many", topic="")
    assert run(folder, "--records", "1") == 1
    error = capsys.readouterr().err
    assert "Invalid value many for configuration total" in error
    assert "configuration topic" in error


def test_a_source_has_no_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project(tmp_path, "source")
    assert run(folder, "--input", str(folder / "example.json")) == 2
    assert "a source has no input" in capsys.readouterr().err
