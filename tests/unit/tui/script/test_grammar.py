"""The grammar: lines to words, words to commands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.commands.cluster.reading import GetConnectors, GetOffsets
from tui.commands.connectors.lifecycle import Restart, Stop
from tui.commands.connectors.waiting import Wait
from tui.commands.offsets.altering import DeleteOffsets, PatchOffsets
from tui.errors import UsageError
from tui.script.grammar import parse, split


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("   # a comment", []),
        ("stop a # why", ["stop", "a"]),
        ("stop a#b", ["stop", "a#b"]),
        ("stop 'a b' \"c d\" e\\ f", ["stop", "a b", "c d", "e f"]),
        ('stop "a\\"b" \'a\\b\'', ["stop", 'a"b', "a\\b"]),
        ("stop ''", ["stop", ""]),
        ("stop [ab]* x", ["stop", "[ab]*", "x"]),
        ('patch x [{"a": "b # c"}] --yes', ["patch", "x", '[{"a": "b # c"}]', "--yes"]),
        ('patch x {"a": {"b": [1, 2]}} # said', ["patch", "x", '{"a": {"b": [1, 2]}}']),
        ('patch x [{"a": } tail', ["patch", "x", '[{"a": } tail']),
        ("patch x [] -y", ["patch", "x", "[]", "-y"]),
        ("patch x '[{\"a\":1}]'", ["patch", "x", '[{"a":1}]']),
        ("патч ñ", ["патч", "ñ"]),
    ],
)
def test_lines_are_split_into_words(line: str, words: list[str]) -> None:
    assert split(line) == words


@given(st.text())
def test_any_line_is_words_or_a_usage_error(line: str) -> None:
    try:
        parse(line)
    except UsageError as error:
        assert str(error)


@given(st.lists(st.text(min_size=1)))
def test_quoted_words_round_trip(words: list[str]) -> None:
    line = " ".join("'" + word.replace("'", "'\"'\"'") + "'" for word in words)
    assert split(line) == words


@pytest.mark.parametrize("line", ["stop a b", "stop connector a b", "stop connectors a b"])
def test_connector_may_be_omitted(line: str) -> None:
    command = parse(line)
    assert isinstance(command, Stop)
    assert command.names == ("a", "b")


def test_options_in_any_position_and_spelling() -> None:
    for line in ("get -o json a", "get connectors a --output=json", "get connectors -ojson a"):
        command = parse(line)
        assert isinstance(command, GetConnectors)
        assert (command.names, command.output) == (("a",), "json")


def test_all_words_after_two_dashes_are_names() -> None:
    command = parse("stop -- -a --yes")
    assert isinstance(command, Stop)
    assert command.names == ("-a", "--yes")


def test_names_may_begin_with_other_dashes() -> None:
    command = parse("stop -- \u2014x")
    assert isinstance(command, Stop) and command.names == ("\u2014x",)


def test_states_and_times_in_any_case() -> None:
    command = parse("wait a running --timeout 1.5m")
    assert isinstance(command, Wait)
    assert (command.names, command.state, command.timeout) == (("a",), "RUNNING", 90.0)
    restart = parse("restart a -t failed")
    assert isinstance(restart, Restart)
    assert restart.tasks == "FAILED"


def test_offsets_as_json_unquoted() -> None:
    command = parse('patch offsets a [{"partition": {"filename": "/a b"}, "offset": null}]')
    assert isinstance(command, PatchOffsets)
    assert command.entries == '[{"partition": {"filename": "/a b"}, "offset": null}]'
    assert isinstance(parse("get offset a"), GetOffsets)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("frob x", "unknown command 'frob'"),
        ("stpo x", "did you mean 'stop'"),
        ("export", "`export` needs a resource: offset"),
        ("stop", "missing NAME"),
        ("wait a", "missing STATE"),
        ("wait a RUNNING b", "'b' is not one of"),
        ("wait a SLEEPING", "'SLEEPING' is not one of"),
        ("get connectors -s runing", "PAUSED, STOPPED, RESTARTING (did you mean RUNNING?)"),
        ("get plugins -t snk,source", "converter, header_converter (did you mean sink?)"),
        ("stop ''", "NAME: must not be empty"),
        ("describe a b", "too many arguments: b"),
        ("wait a RUNNING --timeout soon", "is not a duration"),
        ("get connectors -o xml", "'xml' is not one of"),
        ("get connectors --nope", "unknown option --nope"),
        ("get connectors -o", "needs a value"),
        ("stop x --yes=no", "takes no value"),
        ("delete x \u2014dry-run", "dash (U+2014)"),
        ("delete x \u2013y", "dash (U+2013)"),
        ("stop -e [", "not a regular expression"),
        ("stop 'x", "missing closing quote"),
        ("restart task x", "is not a task"),
        ("apply", "apply: -f FILE is required"),
        ("patch offsets x", "give the offsets in one form"),
        ('patch offsets x [{"partition": 1', "not JSON"),
        ("patch offsets x []", "at least one"),
        ('patch offsets x [{"partition": {}}]', 'must have exactly the keys "partition" and "offset"'),
        ('patch offsets x [{"partition": {}, "offset": {}, "more": 1}]', "exactly the keys"),
        ('patch offsets x [{"partition": [], "offset": {}}]', "must be a JSON object"),
        ('patch offsets x [{"partition": {}, "offset": 3}]', "must be a JSON object or null"),
        ("patch offsets x --kafka-topic t", "together"),
        ("patch offsets x --kafka-topic t --kafka-partition x --kafka-offset 1", "not a whole number"),
        ("patch offsets x --source-partition {}", "needs a --source-offset"),
    ],
)
def test_invalid_lines(line: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(line)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_regular_expressions_for_offsets_too() -> None:
    found = parse("delete offsets -e 'orders-.*' --dry-run")
    assert isinstance(found, DeleteOffsets) and found.regex and found.names == ("orders-.*",)
    with pytest.raises(UsageError, match="not a regular expression"):
        parse("delete offsets -e '*'")
