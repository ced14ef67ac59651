"""A standalone worker's properties and connector files."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.config.standalone_config import FILE, standalone
from runtime.config.worker_config import WorkerConfigError
from runtime.model.states import TargetState
from runtime.worker.connector_files import ConnectorFileError, read, read_all

REQUIRED = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    FILE: "/var/lib/offsets",
}


def test_nothing_of_a_group_is_needed() -> None:
    config = standalone(REQUIRED)
    assert config.offsets_file == Path("/var/lib/offsets")
    assert config.worker.warnings == ()


def test_properties_of_distributed_workers_have_no_effect_and_say_so() -> None:
    config = standalone(
        {**REQUIRED, "group.id": "g", "config.storage.topic": "t", "exactly.once.source.support": "enabled"}
    )
    assert len(config.worker.warnings) == 3
    assert all("distributed workers" in w for w in config.worker.warnings)


def test_without_a_file_there_is_no_worker() -> None:
    with pytest.raises(WorkerConfigError, match=FILE.replace(".", r"\.")):
        standalone({k: v for k, v in REQUIRED.items() if k != FILE})


@pytest.mark.parametrize(
    ("content", "initial"),
    [
        ("name=c\nconnector.class=X\ntasks.max=2\n", None),
        ('{"name": "c", "connector.class": "X", "tasks.max": 2}', None),
        ('{"name": "c", "config": {"connector.class": "X", "tasks.max": "2"}}', None),
        ('{"name": "c", "config": {"connector.class": "X", "tasks.max": 2}, "tasks": [], "type": "source"}', None),
        (' {"name": "c", "config": {"connector.class": "X", "tasks.max": 2}, "initial_state": "STOPPED"}', "STOPPED"),
    ],
)
@pytest.mark.parametrize("name", ["c.json", "c.properties"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_every_shape_of_a_connector_file(
    tmp_path: Path, content: str, initial: str | None, name: str, encoding: str
) -> None:
    (tmp_path / name).write_text(content, encoding)
    request = read(tmp_path / name)
    assert (request.name, request.config["connector.class"], request.config["tasks.max"]) == ("c", "X", "2")
    assert request.initial_state == (TargetState(initial) if initial else None)


@pytest.mark.parametrize(
    "content", ['{"name": ""}', '{"config": {"a": "b"}}', "{", "[1]", "", '{"name": "c", "config": {"a": []}}']
)
def test_what_is_no_connector_is_refused_with_the_files_name(tmp_path: Path, content: str) -> None:
    (tmp_path / "c.json").write_text(content)
    with pytest.raises(ConnectorFileError, match=r"c\.json"):
        read(tmp_path / "c.json")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConnectorFileError, match="No such file"):
        read(tmp_path / "c.json")


def test_two_files_of_one_connector_are_a_mistake(tmp_path: Path) -> None:
    for name, connector in (("a", "x"), ("b", "y"), ("c", "x")):
        (tmp_path / name).write_text(f"name={connector}\nconnector.class=X\n")
    a, b, c = (str(tmp_path / name) for name in "abc")
    assert [file for file, _ in read_all([a, b])] == [a, b]
    for again in (c, a):
        with pytest.raises(ConnectorFileError, match=f"{again}: {a} also defines the connector x"):
            read_all([a, b, again])
