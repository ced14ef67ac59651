"""Connector files of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.model.states import TargetState
from runtime.worker.standalone import ConnectorFileError, read, read_all


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
def test_each_shape_of_a_connector_file(
    tmp_path: Path, content: str, initial: str | None, name: str, encoding: str
) -> None:
    (tmp_path / name).write_text(content, encoding)
    request = read(tmp_path / name)
    assert (request.name, request.config["connector.class"], request.config["tasks.max"]) == ("c", "X", "2")
    assert request.initial_state == (TargetState(initial) if initial else None)


@pytest.mark.parametrize(
    "content", ['{"name": ""}', '{"config": {"a": "b"}}', "{", "[1]", "", '{"name": "c", "config": {"a": []}}']
)
def test_the_error_of_an_invalid_file_names_the_file(tmp_path: Path, content: str) -> None:
    (tmp_path / "c.json").write_text(content)
    with pytest.raises(ConnectorFileError, match=r"c\.json"):
        read(tmp_path / "c.json")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConnectorFileError, match="No such file"):
        read(tmp_path / "c.json")


def test_two_files_with_the_same_connector_are_an_error(tmp_path: Path) -> None:
    for name, connector in (("a", "x"), ("b", "y"), ("c", "x")):
        (tmp_path / name).write_text(f"name={connector}\nconnector.class=X\n")
    a, b, c = (str(tmp_path / name) for name in "abc")
    assert [file for file, _ in read_all([a, b])] == [a, b]
    for again in (c, a):
        with pytest.raises(ConnectorFileError, match=f"{again}: {a} also defines the connector x"):
            read_all([a, b, again])
