"""Checks of an offsets document in the editor, before it is sent."""

from __future__ import annotations

import pytest

from tui.editor.checks import check
from tui.editor.draft import OffsetDraft
from tui.model import Connector, Offset
from tui.offsets import partitions
from tui.offsets.changes import distance

SINK = Connector("s", "sink", "STOPPED", config={"connector.class": "FileStreamSink", "topics": "a, b"})
FILE = Connector("f", "source", "STOPPED", config={"connector.class": "x.FileStreamSource", "file": "/in"})
OTHER = Connector("o", "source", "STOPPED", config={"connector.class": "com.example.Jdbc"})
SINKS = [Offset({"kafka_topic": "a", "kafka_partition": 0}, {"kafka_offset": 5})]
FILES = [Offset({"filename": "/in"}, {"position": 12})]
JDBC = [Offset({"table": "t"}, {"id": 3, "at": "2026-01-01"})]


def problems(connector: Connector, known: list[Offset], text: str) -> tuple[list[str], list[str]]:
    found = check(text, connector, known)
    return [str(one) for one in found.errors], [str(one) for one in found.warnings]


@pytest.mark.parametrize(("connector", "known"), [(SINK, SINKS), (FILE, FILES), (OTHER, JDBC)])
def test_an_unedited_document_has_no_problems(connector: Connector, known: list[Offset]) -> None:
    text = partitions.document(known)
    assert problems(connector, known, text) == ([], [])
    assert check(text, connector, known).entries == tuple(known)


@pytest.mark.parametrize("char", ["\x0b", "\x85", "\u2028", "\u202e", "\u200d", "\U000e0041", "\ud800"])
def test_characters_that_an_editor_does_not_keep_are_escaped(char: str) -> None:
    known = [Offset({"filename": f"/a{char}b"}, {"position": 12})]
    text = partitions.document(known)
    assert char not in text and text.count("\n") + 1 == len(f"{text}.".splitlines())
    assert check(text, FILE, known).entries == tuple(known)


@pytest.mark.parametrize("digits", ["9223372036854775808", "9" * 5_000])
def test_numbers_as_text_that_do_not_fit_are_errors(digits: str) -> None:
    partition, offset = f'{{"kafka_topic": "a", "kafka_partition": "{digits}"}}', f'{{"kafka_offset": "{digits}"}}'
    text = f'[{{"partition": {partition}, "offset": {offset}}}]'
    errors, _ = problems(SINK, SINKS, text)
    assert len(errors) == 2 and all("does not fit in 64 bits" in error for error in errors)
    text = f'[{{"partition": {{"table": "t"}}, "offset": {{"id": "{digits}"}}}}]'
    assert len(OffsetDraft(OTHER, tuple(JDBC), text, False).review().changes) == 1
    assert distance({"id": "1"}, {"id": "9" * 5_000}) == ""


def test_templates_have_no_problems() -> None:
    for connector in (SINK, FILE, OTHER):
        assert problems(connector, [], partitions.template(connector)) == ([], [])


def test_a_list_without_the_offsets_key_and_an_empty_list() -> None:
    assert check('[{"partition": {"filename": "/in"}, "offset": null}]', FILE, FILES).entries[0].offset is None
    assert problems(FILE, FILES, "[]") == ([], [])
    assert problems(FILE, [], partitions.document([])) == ([], [])


@pytest.mark.parametrize(
    ("connector", "entry", "message"),
    [
        (FILE, '{"partition": {"filename": "/in"}, "offset": {"position": -1}}', "must not be negative"),
        (FILE, '{"partition": {"filename": "/in"}, "offset": {"position": "1"}}', "whole number"),
        (FILE, '{"partition": {"filename": "/in"}, "offset": {"position": true}}', "whole number"),
        (FILE, '{"partition": {"filename": "/in"}, "offset": {"position": 1.0}}', "whole number"),
        (FILE, '{"partition": {"filename": "/in"}, "offset": {"position": 9223372036854775808}}', "64 bits"),
        (FILE, '{"partition": {"filename": "/in"}, "offset": {"pos": 1}}', "position"),
        (FILE, '{"partition": {"file": "/in"}, "offset": null}', "filename"),
        (FILE, '{"partition": {"filename": "/in"}}', '"offset" is missing'),
        (FILE, '{"partition": null, "offset": null}', "partition must be an object"),
        (FILE, '{"partition": {"filename": "/in"}, "offset": 3}', "null to reset"),
        (FILE, '{"partition": {"filename": "/in"}, "offset": null, "x": 1}', 'unknown key "x"'),
        (FILE, "3", "an object with"),
        (SINK, '{"partition": {"kafka_topic": "a"}, "offset": null}', "kafka_partition"),
        (SINK, '{"partition": {"kafka_topic": 1, "kafka_partition": 0}, "offset": null}', "must be a string"),
        (SINK, '{"partition": {"kafka_topic": "a", "kafka_partition": "x"}, "offset": null}', "whole number"),
        (SINK, '{"partition": {"kafka_topic": "a", "kafka_partition": -1}, "offset": null}', "negative"),
        (SINK, '{"partition": {"kafka_topic": "a", "kafka_partition": 0}, "offset": {"offset": 1}}', "kafka_offset"),
        (SINK, '{"partition": {"kafka_topic": "a", "kafka_partition": 0}, "offset": {"kafka_offset": 1.5}}', "whole"),
    ],
)
def test_invalid_entries_are_errors_with_a_position(connector: Connector, entry: str, message: str) -> None:
    errors, _ = problems(connector, [], f'{{"offsets": [\n{entry}\n]}}')
    assert len(errors) == 1 and message in errors[0] and errors[0].startswith("line 2, column ")


@pytest.mark.parametrize(
    ("text", "message"), [("3", "in [ ]"), ("{}", "missing key"), ('{"offsets": [], "y": 1}', '"y"')]
)
def test_documents_of_the_wrong_shape(text: str, message: str) -> None:
    errors, _ = problems(OTHER, [], text)
    assert any(message in error for error in errors)


def test_a_duplicate_partition_is_detected_in_any_spelling() -> None:
    one = '{"partition": {"kafka_topic": "a", "kafka_partition": 0}, "offset": null}'
    two = '{"partition": {"kafka_partition": "0", "kafka_topic": "a"}, "offset": null}'
    errors, _ = problems(SINK, SINKS, f"[{one},\n{two}]")
    assert errors == ["line 2, column 15: duplicate of the partition in entry 1"]


@pytest.mark.parametrize(
    ("connector", "known", "entry", "message"),
    [
        (SINK, SINKS, '{"partition": {"kafka_topic": "z", "kafka_partition": 0}, "offset": null}', "does not read"),
        (SINK, SINKS, '{"partition": {"kafka_topic": "b", "kafka_partition": 7}, "offset": null}', "a new partition"),
        (FILE, FILES, '{"partition": {"filename": "/inn"}, "offset": {"position": 1}}', "a new partition"),
        (OTHER, JDBC, '{"partition": {"table": "t"}, "offset": {"id": "3", "at": ""}}', "a whole number"),
        (OTHER, JDBC, '{"partition": {"table": "t"}, "offset": {"id": 3}}', '"at" is missing'),
        (OTHER, JDBC, '{"partition": {"table": "t"}, "offset": {"id": 3, "at": "", "it": 1}}', '"it" is not in'),
    ],
)
def test_unusual_entries_are_warnings(connector: Connector, known: list[Offset], entry: str, message: str) -> None:
    errors, warnings = problems(connector, known, f"[{entry}]")
    assert not errors and any(message in warning for warning in warnings)
