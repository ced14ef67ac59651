"""Messages of commands name the problem and the remedy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.console.command_context import run_command
from tests.unit.tui.scripted import Scripted, expanded, status
from tui.client.client import Connect
from tui.commands.context import CommandTerminal
from tui.commands.offsets.changing import announce
from tui.commands.result import Result
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError, NotFound
from tui.offsets.plan import OffsetPlan

NOUNS = (
    "connectors, plugins, loggers, topics, deadletters, events, offsets, failing records, offset history, failures, "
    "restarts, workers, contexts, unfinished, config history, deleted connectors, orphans"
)


def run(line: str, *answers: Any) -> Result:
    transport = Scripted(*answers)
    return run_command(line, Connect(transport), Profile(transport.url))


@pytest.mark.parametrize("line", ["topics", "describe topic orders", "records orders"])
def test_a_context_without_brokers_is_named_by_each_command_that_needs_them(line: str) -> None:
    with pytest.raises(HeadraceError, match=r"^the context \S+ names no brokers"):
        run(line)


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("get conectors", "did you mean get connectors?"),
        ("get demo-snk", "did you mean demo-sink?"),
        ("get o", "did you mean get offsets or get offset history or get orphans?"),
        ("get widgets", f"unknown resource 'widgets'; choose from {NOUNS}"),
        ("list widgets", f"unknown resource 'widgets'; choose from {NOUNS}"),
        ("get letters demo-sink", "did you mean get deadletters?"),
        ("get connectors demo-snk", "did you mean demo-sink?"),
        ("get connectors widgets", ""),  # names that match exactly get no suggestion
    ],
)
def test_suggestions_for_unknown_names(line: str, advice: str) -> None:
    with pytest.raises(NotFound) as caught:
        run(line, expanded(status("demo-sink")))
    word = line.removeprefix("get connectors ").removeprefix("get ").removeprefix("list ").split()[0]
    assert (caught.value.message, caught.value.advice) == (f"Connector {word} not found", advice)


@pytest.mark.parametrize(("state", "back"), [("PAUSED", "paused again"), ("RUNNING", "resumed")])
def test_a_plan_announces_the_stop_and_the_restored_state(state: str, back: str) -> None:
    plan = OffsetPlan("a", None, (), state)
    assert plan.restored_state == back
    heard: list[str] = []
    announce(CommandTerminal(heard.append), plan)
    assert heard == [f"a: is {state}; it will be stopped for the change, and {back} afterwards"]


def test_a_dry_run_of_delete_mentions_the_offsets() -> None:
    assert run("delete a --with-offsets --dry-run", ["a"]).outcomes[0].message == (
        "would be deleted, and its offsets reset"
    )
    assert run("delete a --dry-run", ["a"]).outcomes[0].message == "would be deleted"


def test_a_dry_run_reports_that_a_running_connector_would_be_refused() -> None:
    offsets = {"offsets": [{"partition": {"f": "x"}, "offset": {"p": 1}}]}
    entry = json.dumps({"partition": {"f": "x"}, "offset": {"p": 5}})
    running = run(f"patch offsets a '{entry}' --dry-run", offsets, status("a"))
    assert [(one.code, one.message) for one in running.outcomes] == [
        (0, "would set f x: p 1 → p 5"),
        (4, "the connector is RUNNING; offsets can be changed only while it is STOPPED "
            "(--stop stops it and resumes it afterwards)"),
    ]  # fmt: skip
    assert run(f"patch offsets a '{entry}' --dry-run", offsets, status("a", "STOPPED")).exit_code == 0
    paused = run("delete offsets a --dry-run", status("a", "PAUSED"))
    assert paused.exit_code == 4 and "--stop stops it and pauses it again afterwards" in paused.outcomes[0].message
    assert run("delete offsets a --dry-run --stop", status("a")).exit_code == 0


def test_help_of_a_verb_with_several_nouns() -> None:
    assert run("help get").text.count("\n") > 5
    assert run("help restart").text.startswith("restart connector  ")
    assert run("help import").text.startswith("import offsets ")
    assert run("help help").text.startswith("help ")


def test_unknown_connectors_are_answered_with_similar_names() -> None:
    missing = NotFound("Unknown connector ordres", 404)
    result = run("pause ordres", missing, ["orders", "stock"])
    assert result.outcomes[0].message == "Unknown connector ordres (did you mean orders?)" and result.exit_code == 3
    with pytest.raises(NotFound, match="did you mean orders"):
        run("describe connector ordres", missing, ["orders", "stock"])
    with pytest.raises(NotFound) as raised:
        run("describe connector xyz", NotFound("Unknown connector xyz", 404), ["orders"])
    assert not raised.value.advice
