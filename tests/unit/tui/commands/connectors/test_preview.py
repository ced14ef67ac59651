"""`preview`: the records before and after the transformations."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.console.command_context import command_context
from tests.unit.tui.scripted import Scripted
from tui.client.calls import ApiCall, drive
from tui.client.client import Connect
from tui.commands.connectors.preview import Preview
from tui.contexts.profiles import Profile
from tui.errors import BadRequest, NotFound, UsageError
from tui.script.grammar import parse
from tui.script.output import render


def _record(result: str, by: str, after: Any, **more: Any) -> dict[str, Any]:
    before = {"topic": "t", "value": {"ssn": "1-2", "n": 1}}
    kafka = {"topic": "t", "partition": 0, "offset": 7, "value": '{"ssn":"1-2"}'}
    return {"kafka": kafka, "before": before, "after": after, "stages": [], "result": result, "by": by, **more}


CHANGES = [{"at": "value.ssn", "before": "1-2", "after": "\x1b[31m"}, {"at": "value.by", "after": "us"}]
STAGES = [{"alias": "mask", "changes": CHANGES}, {"alias": "drop", "applied": False}]
ANSWER = {
    "summary": {"records": 2, "changed": 1, "dead_letter": 1, "differs": 1},
    "records": [
        _record(
            "CHANGED", "mask", {"topic": "t", "value": {"ssn": "", "n": 1}}, stages=STAGES,
            now={"result": "UNCHANGED", "by": "", "after": None}, differs=[{"at": "x"}],
        ),
        _record(
            "DEAD_LETTER", "VALUE_CONVERTER: no JSON", None, before=None, error={"message": "no JSON"},
            now={"result": "CHANGED", "by": "mask", "after": {}}, differs=[],
        ),
    ],
    "warnings": ["look again"],
}  # fmt: skip


def _run(line: str, *answers: Any, files: dict[str, str] | None = None) -> tuple[str, list[ApiCall]]:
    transport = Scripted(*answers)
    context = command_context(Connect(transport), Profile("http://x"), read=(files or {}).__getitem__)
    command = parse(line)
    assert isinstance(command, Preview)
    assert not command.changes
    return render(drive(command.run(context)), "table"), transport.calls


def test_records_with_their_changes_and_failures() -> None:
    text, (call,) = _run("preview a -s transforms=mask -s x= -l 2", ANSWER)
    assert (call.method, call.path, call.changes) == ("POST", "/connectors/a/preview", False)
    assert call.body == {"last": 2, "config": {"transforms": "mask", "x": None}}
    assert text.splitlines() == [
        "  0  t-0@7                     CHANGED      by mask",
        '     mask          value.ssn             "1-2"  →  "\\u001b[31m"',
        '     mask          value.by              —  →  "us"',
        "  1  t-0@7                     DEAD LETTER  VALUE_CONVERTER: no JSON",
        "     now: PASSES mask",
        "",
        "2 records: 1 changed, 1 dead letter; 1 would differ from the current config",
        "note: look again",
    ]


def test_before_and_after_side_by_side() -> None:
    lines = _run("preview connector a --full", ANSWER)[0].splitlines()
    assert '       "ssn": "1-2",  |   "ssn": "",' in lines
    assert '       "n": 1             "n": 1' in lines
    assert any(line.strip().startswith('"offset": 7') and "<" in line for line in lines)


def test_records_given_as_arguments_or_in_a_file() -> None:
    files = {"lines": 'plain\n{"a": 1}\n{"value": 3, "key": "k"}\n', "array": '[{"value": 1}]'}
    assert _run("preview a -v one -v two", ANSWER)[1][0].body["records"] == ["one", "two"]
    body = _run("preview a -r lines", ANSWER, files=files)[1][0].body
    assert body["records"] == ["plain", '{"a": 1}', {"value": 3, "key": "k"}]
    assert _run("preview a -r array", ANSWER, files=files)[1][0].body["records"] == [{"value": 1}]


def test_a_config_file_replaces_the_current_config() -> None:
    files = {"c.json": '{"name": "a", "config": {"connector.class": "x.Sink", "topics": "t"}}'}
    before = {"name": "a", "connector.class": "x.Sink", "transforms": "old"}
    _, (_, call) = _run("preview a -f c.json -v 1", before, ANSWER, files=files)
    assert call.body["config"] == {"transforms": None, "name": "a", "connector.class": "x.Sink", "topics": "t"}
    _, (_, call) = _run("preview a -f c.json -v 1", NotFound("Connector a not found", 404), ANSWER, files=files)
    assert call.path == "/connector-plugins/Sink/preview"


def test_refusals_are_reported() -> None:
    for line in ("preview a -l 3 -v 1", "preview a -r f -v 1", "preview a -s x", "preview", "preview a -l x"):
        with pytest.raises(UsageError):
            _run(line, ANSWER)
    with pytest.raises(NotFound, match="cannot run previews"):
        _run("preview a", NotFound("HTTP 404 Not Found", 404))
    with pytest.raises(BadRequest):
        _run("preview a", BadRequest("transforms.x.type: …", 400))
