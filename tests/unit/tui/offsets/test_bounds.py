"""What is said of typed offsets of a sink that its topic does not have."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("topic", "partition", "offset", "said"),
    [
        ("t", 0, 1500, ""),
        ("t", 0, 100, ""),
        ("t", "0", "700", ""),
        ("t", 0, 199999, "past the end 1,500: a consumer there applies auto.offset.reset"),
        ("t", 0, 5, "before the beginning 100: a consumer there applies auto.offset.reset"),
        ("t", 9, 5, "the topic t has no partition 9"),
        ("gone", 0, 5, "the topic gone does not exist"),
        ("unasked", 0, 5, ""),
    ],
)
def test_remarks(topic: str, partition: Any, offset: Any, said: str) -> None:
    assert KNOWN.remark(at(topic, partition), {"kafka_offset": offset}) == said


def test_what_is_no_position_in_a_topic_is_left_alone() -> None:
    assert not KNOWN.remark(at("t", 0), None) and not KNOWN.remark({"filename": "f"}, {"position": 5})


def test_ends_that_only_the_worker_tells() -> None:
    known = bounds.of_lags([at("t", 0)], {key(at("t", 0)): Lag(end=50)})
    assert "past the end 50" in known.remark(at("t", 0), {"kafka_offset": 51})
    assert not known.remark(at("t", 1), {"kafka_offset": 51})


def test_in_the_editor_and_in_the_question() -> None:
    connector = Connector("s", "sink", "STOPPED", (), "w", "1", "", {"topics": "t"})
    one = draft.unchanged(connector, [Offset(at("t", 0), {"kafka_offset": 1490})])._replace(bounds=KNOWN)
    found = one.typed(one.text.replace("1490", "199999")).review()
    assert "! past the end 1,500" in wording.review(found).plain
    assert "! past the end 1,500" in wording.question(one.plan(found.changes)).plain


@pytest.mark.parametrize(
    "line",
    [
        "patch offsets s --kafka-topic t --kafka-partition 0 --kafka-offset -5",
        "patch offsets s "
        """'{"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": -5}}'""",
    ],
)
def test_a_negative_one_costs_no_request(line: str) -> None:
    with pytest.raises(UsageError, match="cannot be negative"):
        grammar.parse(line)


@pytest.mark.parametrize(
    ("to", "goal", "said"),
    [
        ("99999999", 500, "the end: the topic has no offset 99,999,999"),
        ("+1000", 500, "the end: the topic has no offset 1,400"),
        ("-1000", 10, "the beginning: the topic has no offset -600"),
        ("300", 300, ""),
        ("latest", 500, ""),
    ],
)
async def test_where_a_journey_ends_before_its_goal(to: str, goal: int, said: str) -> None:
    moved = {"partition": at("t", 0), "from": 400, "to": goal, "reread": 0, "skipped": 0}
    now = {"offsets": [{"partition": at("t", 0), "offset": {"kafka_offset": 400}}]}
    connect = Connect(Scripted(now, {"changes": [moved]}))
    (change,) = (await SeekPlanner(connect, None).resolve("s", SeekRequest(parse(to)))).changes  # type: ignore[arg-type]
    assert change.remark == said
