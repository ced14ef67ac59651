"""The effect of typed offsets of a sink in records, and warnings about those that do not exist in the topic."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from tests.unit.tui.scripted import Scripted
from tui.client.client import Connect
from tui.editor import draft
from tui.errors import UsageError
from tui.model import Connector, Offset
from tui.offsets import bounds
from tui.offsets.bounds import Bounds
from tui.offsets.lag import Lag
from tui.offsets.partitions import key
from tui.offsets.positions import parse
from tui.offsets.seek import SeekPlanner, SeekRequest
from tui.screens.offsets import wording
from tui.script import grammar

KNOWN = Bounds({("t", 0): (100, 1500)}, frozenset({"t", "gone"}))


def at(topic: str, partition: Any) -> dict[str, Any]:
    return {"kafka_topic": topic, "kafka_partition": partition}


REPORTED = bounds.of_lags([at("t", 0)], {key(at("t", 0)): Lag(end=1500)})


@pytest.mark.parametrize(
    ("topic", "partition", "offset", "warning"),
    [
        ("t", 0, 1500, ""),
        ("t", 0, 100, ""),
        ("t", "0", "700", ""),
        ("t", 0, 199999, "past the end 1,500: a consumer there applies auto.offset.reset"),
        ("t", 0, 5, "before the beginning 100: a consumer there applies auto.offset.reset"),
        ("t", 9, 5, "the topic t has no partition 9"),
        ("gone", 0, 5, "the topic gone does not exist"),
        ("unread", 0, 5, ""),
    ],
)
def test_offsets_outside_the_topic_have_a_warning(topic: str, partition: Any, offset: Any, warning: str) -> None:
    assert KNOWN.remark(at(topic, partition), {"kafka_offset": offset}) == warning


def test_resets_and_source_offsets_have_no_warning() -> None:
    assert not KNOWN.remark(at("t", 0), None) and not KNOWN.remark({"filename": "f"}, {"position": 5})


def test_end_offsets_reported_by_the_worker() -> None:
    assert "past the end 1,500" in REPORTED.remark(at("t", 0), {"kafka_offset": 1501})
    assert not REPORTED.remark(at("t", 1), {"kafka_offset": 1501})


def test_the_editor_and_the_confirmation_show_the_warning() -> None:
    connector = Connector("s", "sink", "STOPPED", (), "w", "1", "", {"topics": "t"})
    one = draft.unchanged(connector, [Offset(at("t", 0), {"kafka_offset": 1490})])._replace(bounds=KNOWN)
    found = one.typed(one.text.replace("1490", "199999")).review()
    assert "! past the end 1,500" in wording.review(found).plain
    assert "! past the end 1,500" in wording.question(one.plan(found.changes)).plain


@pytest.mark.parametrize(
    ("before", "after", "known", "effect"),
    [
        (1490, 1480, KNOWN, "(−10, 10 read again)"),
        (1480, 1490, KNOWN, "(+10, 10 skipped)"),
        (50, 1500, KNOWN, "(+1,450, 1,400 skipped)"),  # the records before 100 are deleted
        (1490, 199999, KNOWN, "(+198,509)"),
        (1490, 1480, REPORTED, "(−10)"),  # a worker reports no beginnings
    ],
)
def test_the_editor_shows_the_effect_of_typed_offsets(before: int, after: int, known: Bounds, effect: str) -> None:
    connector = Connector("s", "sink", "STOPPED", (), "w", "1", "", {"topics": "t"})
    one = draft.unchanged(connector, [Offset(at("t", 0), {"kafka_offset": before})])._replace(bounds=known)
    review = one.typed(one.text.replace(str(before), str(after))).review()
    assert f"offset {before} → offset {after}  {effect}" in wording.review(review).plain


@pytest.mark.parametrize(
    "line",
    [
        "patch offsets s --kafka-topic t --kafka-partition 0 --kafka-offset -5",
        "patch offsets s "
        """'{"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": -5}}'""",
    ],
)
def test_a_negative_offset_is_refused_without_a_request(line: str) -> None:
    with pytest.raises(UsageError, match="cannot be negative"):
        grammar.parse(line)


@pytest.mark.parametrize(
    ("offset", "problem"),
    [("true", "whole number"), ("1.0", "whole number"), ('"x"', "whole number"), ("null", "whole number"),
     ("99999999999999999999", "64 bits"), ('"7"', ""), ("9223372036854775807", "")],
)  # fmt: skip
def test_an_offset_that_workers_refuse_is_an_error_of_a_dry_run_too(offset: str, problem: str) -> None:
    partition = '{"kafka_topic": "t", "kafka_partition": 0}'
    line = f"""patch offsets s '{{"partition": {partition}, "offset": {{"kafka_offset": {offset}}}}}' --dry-run"""
    with pytest.raises(UsageError, match=problem) if problem else nullcontext():
        grammar.parse(line)


@pytest.mark.parametrize(
    ("to", "goal", "warning"),
    [
        ("99999999", 500, "the end: the topic has no offset 99,999,999"),
        ("+1000", 500, "the end: the topic has no offset 1,400"),
        ("-1000", 10, "the beginning: the topic has no offset -600"),
        ("300", 300, ""),
        ("latest", 500, ""),
    ],
)
async def test_a_position_outside_the_topic_becomes_its_beginning_or_end(to: str, goal: int, warning: str) -> None:
    moved = {"partition": at("t", 0), "from": 400, "to": goal, "reread": 0, "skipped": 0}
    now = {"offsets": [{"partition": at("t", 0), "offset": {"kafka_offset": 400}}]}
    connect = Connect(Scripted(now, {"changes": [moved]}))
    (change,) = (await SeekPlanner(connect, None).resolve("s", SeekRequest(parse(to)))).changes  # type: ignore[arg-type]
    assert change.remark == warning
