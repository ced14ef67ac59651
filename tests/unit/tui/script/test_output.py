"""Results in all output formats."""

from __future__ import annotations

import json

import pytest
import yaml

from tui.commands.cluster.reading import listing
from tui.commands.result import Result, Table, TargetOutcome, confirmation
from tui.errors import CONFLICT, FAILED, NOT_FOUND
from tui.model import Connector, Task
from tui.script.output import draw, plain, render

LIST = listing(
    [
        Connector("good", "sink", "RUNNING", (Task(0, "RUNNING"),), "w:1", config={"connector.class": "x.y.Good"}),
        Connector("bad", "source", "RUNNING", (Task(0, "FAILED"),), "w:1", config={"connector.class": "Bad"}),
    ]
)


def test_table_and_wide() -> None:
    assert render(LIST, "table") == (
        "NAME  TYPE    STATE    TASKS          WORKER  CLASS\n"
        "bad   source  FAILED   0/1, 1 failed  w:1     Bad\n"
        "good  sink    RUNNING  1/1            w:1     Good\n"
    )
    assert "x.y.Good" in render(LIST, "wide")


def test_machine_formats() -> None:
    parsed = json.loads(render(LIST, "json"))
    assert [entry["name"] for entry in parsed] == ["bad", "good"]
    assert parsed[1].keys() == {"name", "type", "state", "tasks", "class", "worker"}
    assert [json.loads(line) for line in render(LIST, "jsonl").splitlines()] == parsed
    assert yaml.safe_load(render(LIST, "yaml")) == parsed
    assert render(LIST, "name") == "bad\ngood\n"


def test_colour_is_only_for_states_and_never_in_names() -> None:
    table = Table(("NAME", "STATE"), (("FAILED", "RUNNING"),))
    assert draw(table, wide=False, colour=True).splitlines()[1] == "FAILED  \x1b[32mRUNNING\x1b[0m"


@pytest.mark.parametrize("name", ["a\x1b[31mb", "a\nb", "a\tb", "a\x9bb", "a\x7f"])
def test_control_characters_of_a_server_are_escaped(name: str) -> None:
    drawn = draw(Table(("NAME",), ((name,),)), wide=False)
    assert drawn.count("\n") == 2
    assert all(char == "\n" or char.isprintable() for char in drawn)


def test_columns_are_aligned_despite_wide_characters() -> None:
    drawn = draw(Table(("NAME", "X"), (("名前", "1"), ("abcd", "2"))), wide=False)
    assert drawn.splitlines() == ["NAME  X", "名前  1", "abcd  2"]


def test_results_of_one_target_and_of_several_targets() -> None:
    one = confirmation([TargetOutcome("a", "stopped")])
    assert (one.raw, one.exit_code) == ({"name": "a", "result": "stopped"}, 0)
    answer = {"message": "altered"}
    assert confirmation([TargetOutcome("a", "altered", raw=answer)]).raw == answer
    many = confirmation([TargetOutcome("a", "stopped"), TargetOutcome("b", "gone", NOT_FOUND)])
    assert many.raw == [{"name": "a", "result": "stopped"}, {"name": "b", "error": "gone"}]
    assert (many.names, many.exit_code) == (("a",), NOT_FOUND)
    assert confirmation([TargetOutcome("a", "x", CONFLICT), TargetOutcome("b", "y", NOT_FOUND)]).exit_code == FAILED


def test_empty_results() -> None:
    assert render(Result(), "table") == ""


def test_bidirectional_characters_of_a_server_are_escaped() -> None:
    assert plain("a\u202eb\u2066c\u200fd\x9be") == "a\\u202eb\\u2066c\\u200fd\\x9be"
    assert plain("שלום 日本 e\u0301") == "שלום 日本 e\u0301"


def test_names_for_another_command_keep_their_characters() -> None:
    """Except for control characters, which Connect refuses in names."""
    names = Result(names=("a\u202eb", "日\u200b本", "c\nd\x9b"))
    assert render(names, "name", exact=True) == "a\u202eb\n日\u200b本\nc\\x0ad\\x9b\n"
    assert render(names, "name") == "a\\u202eb\n日\\u200b本\nc d\\x9b\n"


@pytest.mark.parametrize("char", ["\u200b", "\u00ad", "\u2060", "\ufeff", "\u3164", "\U000e0041"])
def test_names_that_differ_in_an_invisible_character_are_shown_differently(char: str) -> None:
    shown = draw(Table(("NAME",), ((f"a{char}b",),)), wide=False)
    assert char not in shown and f"{ord(char):x}" in shown


def test_a_long_cell_is_cut_with_an_ellipsis() -> None:
    line = draw(Table(("NAME", "STATE"), (("n" * 10**7, "RUNNING"),)), wide=False).splitlines()[1]
    assert line == "n" * 999 + "…  RUNNING"


def test_a_long_cell_shifts_its_own_line_only() -> None:
    long = "x" * 200
    assert draw(Table(("NAME", "TYPE"), (("a", "sink"), ("b", "sink"), (long, "sink"))), wide=False).splitlines() == [
        "NAME  TYPE",
        "a     sink",
        "b     sink",
        f"{long}  sink",
    ]
    assert draw(Table(("A", "B"), ((long, "1"), ("y" * 70, "2"))), wide=False).splitlines()[2] == f"{'y' * 70:200}  2"


def test_tsv_has_all_columns_and_one_line_for_each_row() -> None:
    table = Table(
        ("NAME", "TEXT"), (("a", "two\tcells\r\nof\nlines"), ("b\x1b[31m", None), ("c", 1)), frozenset({"TEXT"})
    )
    expected = "NAME\tTEXT\na\ttwo\\tcells\\nof\\nlines\nb\\x1b[31m\t\nc\t1\n"
    assert render(Result(table=table), "tsv") == expected
    assert render(Result(text="some text"), "tsv") == "some text"


def test_tables_below_a_text() -> None:
    parts = (Table(("A",), (("1",),)), Table(("B",), (("2",),)))
    assert render(Result(text="topic  orders", parts=parts), "table") == "topic  orders\n\nA\n1\n\nB\n2\n"
    assert render(Result(text="topic  orders", parts=parts), "tsv") == "A\n1\n\nB\n2\n"
