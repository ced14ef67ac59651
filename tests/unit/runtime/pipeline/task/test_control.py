"""Topics that a task has used are each reported once after a reset."""

from __future__ import annotations

import itertools

from runtime.pipeline.task.control import UsedTopics


def _used(*moments: float) -> UsedTopics:
    return UsedTopics(itertools.chain(moments, itertools.repeat(1e9)).__next__)


def test_a_topic_is_reported_once() -> None:
    topics = _used()
    assert [topics.use(topic) for topic in ("t", "u", "t", "u")] == [True, True, False, False]


def test_after_a_reset_the_next_use_is_reported() -> None:
    topics = _used(1, 2)
    topics.use("t")
    assert topics.reset(1500) == []
    assert topics.use("t")
    assert not topics.use("t")


def test_uses_between_a_reset_and_its_arrival_are_reported() -> None:
    """Another worker has reset the topics; this task produces its only record before its worker has read so."""
    topics = _used(1, 1, 2)
    topics.use("t")
    topics.use("u")
    topics.use("t")
    assert topics.reset(1500) == ["t"]
    assert not topics.use("t")
    assert topics.use("u")
