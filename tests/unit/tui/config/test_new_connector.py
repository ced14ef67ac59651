"""A new connector: the keys to show, and the request that creates it."""

from __future__ import annotations

from tui.config.definitions import KeyDefinition, of_validation
from tui.config.new_connector import NewConnector, offsets_message

KEYS = {
    key.name: key
    for key in (
        KeyDefinition("connector.class", required=True),
        KeyDefinition("name", required=True, importance="HIGH", group="Common"),
        KeyDefinition("topic", required=True, importance="HIGH"),
        KeyDefinition("file", importance="HIGH"),
        KeyDefinition("errors.tolerance", importance="MEDIUM"),
        KeyDefinition("batch.size", importance="LOW", errors=("too small",)),
    )
}


def test_required_keys_come_first() -> None:
    new = NewConnector("a.B", {"errors.tolerance": "all", "own.key": "1"})
    assert new.rows(KEYS, everything=False) == ["name", "topic", "file", "errors.tolerance", "batch.size", "own.key"]
    assert set(new.rows(KEYS, everything=True)) == {*KEYS, "own.key"} - {"connector.class"}


def test_the_request_contains_only_given_values() -> None:
    new = NewConnector("a.B", {"name": "n", "topic": "t", "file": ""})
    assert new.body() == {"name": "n", "config": {"connector.class": "a.B", "name": "n", "topic": "t"}}
    new.state, new.offsets = "STOPPED", '[{"partition": {"f": 1}, "offset": {"p": 2}}]'
    assert new.body()["initial_state"] == "STOPPED"
    assert new.body()["initial_offsets"] == [{"partition": {"f": 1}, "offset": {"p": 2}}]


def test_invalid_initial_offsets_are_reported() -> None:
    new = NewConnector("a.B")
    for text, word in (("[", "not JSON"), ("{}", "a list"), ('[{"partition": {}}]', "a list")):
        new.offsets = text
        assert word in new.offsets_trouble()
    new.offsets = "  "
    assert new.offsets_trouble() == "" and "initial_offsets" not in new.body()


def test_errors_of_the_worker_and_of_the_name() -> None:
    validation = of_validation({"configs": [{"definition": {"name": "topic"}, "value": {"errors": ["missing"]}}]})
    assert NewConnector("a.B").errors(validation, ()) == {"topic": ("missing",), "name": ("a connector needs a name",)}
    taken = NewConnector("a.B", {"name": "n"}).errors(None, ["n"])
    assert taken == {"name": ("a connector n exists already",)}


def test_the_message_about_initial_offsets_is_read_from_the_answer() -> None:
    message = "The initial offsets for this connector have been set successfully"
    assert offsets_message({"name": "c", "initial_offsets_response": message}) == message
    assert offsets_message({"name": "c"}) == offsets_message(None) == ""
