"""Connector files in each of the three forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tui.commands.connectors.documents import documents, files_of
from tui.config.changes import changes
from tui.errors import UsageError


def test_three_forms_are_equivalent() -> None:
    post = documents('{"name": "a", "config": {"connector.class": "X", "tasks.max": 2}}', "f.json")
    flat = documents('{"name": "a", "connector.class": "X", "tasks.max": 2}', "f.json")
    text = documents("name=a\nconnector.class=X\ntasks.max=2\n", "f.properties")
    assert post[0].config == flat[0].config == {"name": "a", "connector.class": "X", "tasks.max": 2}
    assert text[0].config == {"name": "a", "connector.class": "X", "tasks.max": "2"}
    assert not changes(text[0].config, post[0].config)


def test_initial_state_offsets_and_name() -> None:
    entry = {"partition": {"filename": "f"}, "offset": {"position": 3}}
    text = json.dumps({"config": {"k": "v"}, "initial_state": "STOPPED", "initial_offsets": [entry]})
    (one,) = documents(text, "-", name="a")
    assert (one.name, one.initial_state, one.initial_offsets) == ("a", "STOPPED", [entry])


def test_standard_input_may_have_any_form() -> None:
    assert documents("name = a", "standard input")[0].name == "a"
    assert documents('{"name": "a"}', "standard input")[0].name == "a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"name": ', "not JSON"),
        ('{"name": "a", "config": {"topic": "a", "topic": "b"}}', 'the key "topic" occurs twice'),
        ("[1]", "expected a JSON object"),
        ('{"connector.class": "X"}', "has no name"),
        ('{"name": "a", "config": {}, "tasks": []}', "unknown key 'tasks'"),
        ('{"name": "a", "x": {"y": 1}}', "the value of 'x'"),
        ('{"name": "a", "config": {}, "initial_offsets": [{"partition": {}}]}', "initial_offsets must be a list"),
    ],
)
def test_invalid_files_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        documents(text, "f.json")


def test_one_name_for_several_connectors_is_refused() -> None:
    with pytest.raises(UsageError, match="only one"):
        documents('[{"name": "a"}, {"name": "b"}]', "f.json", name="c")


def test_all_files_of_a_folder_are_read(tmp_path: Path) -> None:
    for name in ("b.json", "a.properties", "c.txt"):
        (tmp_path / name).touch()
    assert [Path(file).name for file in files_of(str(tmp_path))] == ["a.properties", "b.json"]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match="contains no"):
        files_of(str(empty))


def test_properties_files_are_read_as_in_java() -> None:
    text = "name=x\r# no\n ! no\n\n a = 1 \nb:2\nc 3\nd\\ e=f=g\nlong = x, \\\n    y\n"
    text += "uni=\\u00e9\\ud83d\\ude00\npath=c:\\\\dir\\tx\nempty\n"
    (one,) = documents(text, "f.properties")
    assert one.config == {
        "name": "x",
        "a": "1",
        "b": "2",
        "c": "3",
        "d e": "f=g",
        "long": "x, y",
        "uni": "é😀",
        "path": "c:\\dir\tx",
        "empty": "",
    }
