"""What is said when something goes wrong names the thing and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.tui.scripted import Scripted, expanded, status
from tui.client import Connect, drive
from tui.commands.base import Context, execute
from tui.commands.result import Result
from tui.deadletters.letters import PREFIX, Letter
from tui.errors import NotFound, in_one, refusal
from tui.profiles import Profile, Profiles
from tui.screens.letter_words import warning
from tui.script.grammar import parse


def told(line: str, *answers: Any) -> Result:
    transport = Scripted(*answers)
    context = Context(
        lambda: Connect(transport),
        profile=lambda: Profile(transport.url),
        profiles=Profiles(Path("nowhere")),
        read=str,
    )
    command = parse(line)
    assert command is not None
    return drive(execute(command, context))


@pytest.mark.parametrize(
    ("word", "advice"),
    [("conectors", "did you mean get connectors?"), ("demo-snk", "did you mean demo-sink?"), ("xyz", "")],
)
def test_a_word_that_is_nearly_right(word: str, advice: str) -> None:
    with pytest.raises(NotFound) as caught:
        told(f"get {word}", expanded(status("demo-sink")))
    assert (caught.value.message, caught.value.advice) == (f"Connector {word} not found", advice)


def test_a_dry_run_says_that_offsets_go_too() -> None:
    assert told("delete a --with-offsets --dry-run", ["a"]).outcomes[0].message == (
        "would be deleted, and its offsets reset"
    )
    assert told("delete a --dry-run", ["a"]).outcomes[0].message == "would be deleted"


def test_lines_of_a_server_stay_apart() -> None:
    said = "2 error(s):\nInvalid value a for b: no number\nMissing c.\nSee the endpoint\n"
    assert in_one(said) == "2 error(s): Invalid value a for b: no number; Missing c. See the endpoint"
    assert in_one("one") == "one"
    assert in_one("") == ""


def test_an_address_without_a_worker() -> None:
    assert refusal(404, "HTTP 404 Not Found").advice == "is this URL a Connect worker's?"
    assert refusal(404, "Connector a not found").advice == ""


def test_where_letters_go_that_do_not_say_where_they_came_from() -> None:
    named = ("topic", b"t"), ("partition", b"3"), ("offset", b"7")
    told = Letter(0, 0, headers=tuple((PREFIX + key, value) for key, value in named))
    mute = Letter(0, 1)
    assert "headers, to the partitions they came from; every" in warning([told], 0).plain
    assert "headers, to partitions by their keys (no header tells theirs); every" in warning([mute], 0).plain
    assert "came from, or by their keys where no header tells it (1); every" in warning([told, mute], 0).plain
