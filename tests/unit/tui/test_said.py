"""What is said when something goes wrong names the thing and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.unit.tui.scripted import Scripted, expanded, status
from tui.client.client import Connect, drive
from tui.commands.base import CommandContext, execute
from tui.commands.offsets.changing import announce
from tui.commands.result import Result, TargetOutcome, confirmation
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile
from tui.errors import NotFound, Refused, refusal
from tui.formatting import joined_lines
from tui.offsets.plan import OffsetPlan
from tui.screens.operations.operation_runner import summary
from tui.script.grammar import parse
from tui.script.runner import Printer
from tui.scrubbing import scrubbed_line
from tui.wire.endpoint import decode

NOUNS = "connectors, plugins, loggers, topics, events, offsets, offset history, contexts, unfinished, orphans"


def told(line: str, *answers: Any) -> Result:
    transport = Scripted(*answers)
    context = CommandContext(
        lambda: Connect(transport),
        profile=lambda: Profile(transport.url),
        profiles=ContextsFile(Path("nowhere")),
        read=str,
    )
    command = parse(line)
    assert command is not None
    return drive(execute(command, context))


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("get conectors", "did you mean get connectors?"),
        ("get demo-snk", "did you mean demo-sink?"),
        ("get o", "did you mean get offsets or get offset history or get orphans?"),
        ("get workers", f"unknown resource 'workers'; choose from {NOUNS}"),
        ("list workers", f"unknown resource 'workers'; choose from {NOUNS}"),
        ("get dead-letters demo-sink", f"unknown resource 'dead-letters'; choose from {NOUNS}"),
        ("get connectors demo-snk", "did you mean demo-sink?"),
        ("get connectors workers", ""),  # a name beyond doubt
    ],
)
def test_a_word_that_is_nearly_right(line: str, advice: str) -> None:
    with pytest.raises(NotFound) as caught:
        told(line, expanded(status("demo-sink")))
    word = line.removeprefix("get connectors ").removeprefix("get ").removeprefix("list ").split()[0]
    assert (caught.value.message, caught.value.advice) == (f"Connector {word} not found", advice)


@pytest.mark.parametrize(("state", "back"), [("PAUSED", "paused again"), ("RUNNING", "resumed")])
def test_what_becomes_of_a_connector_that_is_stopped_for_its_offsets(state: str, back: str) -> None:
    plan = OffsetPlan("a", None, (), state)
    assert plan.restored_state == back
    heard: list[str] = []
    announce(cast("CommandContext", SimpleNamespace(narrate=heard.append)), plan)
    assert heard == [f"a: is {state}; it will be stopped for the change, and {back} afterwards"]


def test_failures_are_counted_by_connector(capsys: pytest.CaptureFixture[str]) -> None:
    one = [TargetOutcome("a", "would set p: 1 → 2"), TargetOutcome("a", "it is PAUSED", 4)]
    Printer().result(confirmation(one), None)
    assert capsys.readouterr().err == "a: would set p: 1 → 2\nheadrace: a: it is PAUSED\n"
    Printer().result(confirmation([*one, TargetOutcome("b", "no", 4), TargetOutcome("c", "done")]), None)
    assert "headrace: 2 of 3 failed\n" in capsys.readouterr().err
    assert summary(tuple(one)) == "a: it is PAUSED"
    assert summary((*one, TargetOutcome("b", "done"))) == "1 of 2 failed; a: it is PAUSED"


def test_a_dry_run_says_that_offsets_go_too() -> None:
    assert told("delete a --with-offsets --dry-run", ["a"]).outcomes[0].message == (
        "would be deleted, and its offsets reset"
    )
    assert told("delete a --dry-run", ["a"]).outcomes[0].message == "would be deleted"


def test_a_dry_run_says_what_would_be_refused() -> None:
    offsets = {"offsets": [{"partition": {"f": "x"}, "offset": {"p": 1}}]}
    entry = json.dumps({"partition": {"f": "x"}, "offset": {"p": 5}})
    running = told(f"patch offsets a '{entry}' --dry-run", offsets, status("a"))
    assert [(one.code, one.message) for one in running.outcomes] == [
        (0, "would set f x: p 1 → p 5"),
        (4, "the connector is RUNNING; offsets can be changed only while it is STOPPED "
            "(--stop stops it and resumes it afterwards)"),
    ]  # fmt: skip
    assert told(f"patch offsets a '{entry}' --dry-run", offsets, status("a", "STOPPED")).exit_code == 0
    paused = told("delete offsets a --dry-run", status("a", "PAUSED"))
    assert paused.exit_code == 4 and "--stop stops it and pauses it again afterwards" in paused.outcomes[0].message
    assert told("delete offsets a --dry-run --stop", status("a")).exit_code == 0


def test_help_of_a_verb_with_several_nouns() -> None:
    assert told("help get").text.count("\n") > 5
    assert told("help restart").text.startswith("restart connector  ")
    assert told("help export").text.startswith("export offsets [NAME…]")
    assert told("help help").text.startswith("help ")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("patch connector x -s db.password=hunter2 -s a=b", "patch connector x -s db.password=[hidden] -s a=b"),
        ("patch connector x -s 'db.password=hun ter2' -r y", "patch connector x -s db.password=[hidden] -r y"),
        ('patch connector x -s "db.password=hun\\"ter 2"', "patch connector x -s db.password=[hidden]"),
        ("patch connector x -s 'db.password=hunter 2", "patch connector x -s db.password=[hidden]"),
        ("patch connector x -s db.password=${file:/a:b}", "patch connector x -s db.password=${file:/a:b}"),
        (
            "config set-context p --token hunter2 --url http://me:hunter2@h",
            "config set-context p --token [hidden] --url http://h",
        ),
        ("config set-context p --header Authorization=hunter2", "config set-context p --header Authorization=[hidden]"),
        ("patch offsets n '{\"a\": 1}' --reason 'the key'", "patch offsets n '{\"a\": 1}' --reason 'the key'"),
        ("stop 'a b' c\\ d", "stop 'a b' c\\ d"),
    ],
)
def test_a_typed_line_is_shown_without_its_secrets(line: str, shown: str) -> None:
    assert scrubbed_line(line) == shown


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (
            b"<html><title>Error 400 x</title><tr><th>MESSAGE:</th><td>Ambiguous &amp; bad</td></tr>",
            ": Ambiguous & bad",
        ),
        (b"<html><head><title>502 Bad Gateway</title></head>", ": 502 Bad Gateway"),
        (b"<p>sorry</p>", ""),
        (b"no page", ": no page"),
    ],
)
def test_the_reason_on_a_page(page: bytes, reason: str) -> None:
    with pytest.raises(Refused) as caught:
        decode(400, page)
    assert caught.value.message == f"HTTP 400{reason}"


def test_lines_of_a_server_stay_apart() -> None:
    said = "2 error(s):\nInvalid value a for b: no number\nMissing c.\nSee the endpoint\n"
    assert joined_lines(said) == "2 error(s): Invalid value a for b: no number; Missing c. See the endpoint"
    assert joined_lines("one") == "one"
    assert joined_lines("") == ""


def test_an_address_without_a_worker() -> None:
    assert refusal(404, "HTTP 404 Not Found").advice == "is this the URL of a Connect worker?"
    assert refusal(404, "Connector a not found").advice == ""
