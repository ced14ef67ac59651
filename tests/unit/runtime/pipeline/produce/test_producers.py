"""The producers of a slot: shared, replaced and closed."""

from __future__ import annotations

import threading
import weakref

import pytest
from confluent_kafka import KafkaError

from runtime.pipeline.produce.producers import Producers, Purpose

_SETTINGS = {"bootstrap.servers": "127.0.0.1:1"}
_COMMIT_TIMEOUT = 5.0  # seconds for another task to get its producer


@pytest.mark.parametrize("closed_by", ["drop", "take"])
def test_other_tasks_commit_while_a_producer_is_closed(closed_by: str) -> None:
    """Closing a client waits for its threads, on a busy machine for seconds."""
    producers = Producers()
    producers.take(_SETTINGS, purpose=Purpose.OFFSETS)
    commits: list[bool] = []

    def commit_of_another_task() -> None:
        commit = threading.Thread(target=producers.take, args=(_SETTINGS, None, Purpose.OFFSETS), daemon=True)
        commit.start()
        commit.join(_COMMIT_TIMEOUT)
        commits.append(not commit.is_alive())

    weakref.finalize(producers.take(_SETTINGS, "owner"), commit_of_another_task)
    if closed_by == "drop":
        producers.drop("owner")
    else:
        producers.take(_SETTINGS, "owner").fatal = KafkaError(KafkaError._FATAL)
        producers.take(_SETTINGS, "owner")
    assert commits == [True]
