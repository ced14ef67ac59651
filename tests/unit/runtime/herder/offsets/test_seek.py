"""Targets of a seek that match no partition."""

from __future__ import annotations

from typing import cast

import pytest

from runtime.herder.errors import BadRequest
from runtime.herder.offsets.seek import Edge, SeekResolver, SeekTarget
from runtime.kafka.positions import Positions


class _NoTopics:
    """Brokers without topics."""

    async def partitions(self) -> dict[str, list[int]]:
        return {}


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (SeekTarget(Edge(end=False)), "none of its topics exists"),
        (SeekTarget(Edge(end=False), "t"), "no partitions of topic t "),
        (SeekTarget(Edge(end=False), "t", 3), "no partition t-3 "),
    ],
)
async def test_a_target_without_partitions_is_refused(target: SeekTarget, message: str) -> None:
    seek = SeekResolver(cast("Positions", _NoTopics()))
    with pytest.raises(BadRequest, match=message):
        await seek.resolve({}, lambda topic: True, [target])
