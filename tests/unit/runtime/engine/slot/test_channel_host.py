"""The check that tasks make before every poll, put, produce and commit."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from runtime.api.errors import ConnectError
from runtime.engine.protocol.channel import encode
from runtime.engine.protocol.lease import Lease, LeaseLostError
from runtime.engine.protocol.lease_cell import LeaseCell
from runtime.engine.protocol.messages import FromSlot
from runtime.engine.slot.channel_host import ChannelHost
from runtime.engine.slot.outbox import Outbox
from runtime.system import frames
from tests.support.engine.engine_recorder import task_spec


def test_tasks_stop_when_the_worker_has_ended_although_the_lease_has_not_expired(tmp_path: Path) -> None:
    cell = LeaseCell.create(str(tmp_path), 0, os.getpid())
    cell.grant(100.0)
    ended = False
    host = ChannelHost(Outbox(lambda message: None, 1.0), Lease(cell, lambda: 50.0), lambda: ended)
    host.check_lease()
    ended = True
    with pytest.raises(LeaseLostError, match="the worker has ended"):
        host.check_lease()


MIB = 1 << 20


class Recorded(Outbox):
    """Sends at once."""

    def put(self, message: FromSlot) -> None:
        self._send(message)


def host(sent: list[Any], tmp_path: Path) -> ChannelHost:
    outbox = Recorded(sent.append, 60.0)
    return ChannelHost(outbox, Lease(LeaseCell.create(str(tmp_path), 0, os.getpid()), time.monotonic))


def test_the_offsets_of_a_large_commit_are_sent_in_parts(tmp_path: Path) -> None:
    """A frame beyond 64 MiB, or with more than two million values, would end the slot with all of its tasks."""
    sent: list[Any] = []
    found: list[str | None] = []
    large = [(f'["c",{{"n":{n}}}]', "x" * 12 * MIB) for n in range(6)]
    records: list[tuple[str, str | None]] = [*large, *[(f'["c",{n}]', None) for n in range(150_000)]]
    channel = host(sent, tmp_path)
    channel.offsets(task_spec("c"), records, found.append)
    assert [record for message in sent for record in message["records"]] == records
    for message in sent:
        assert len(encode(message)) < frames.MAX_FRAME and len(message["records"]) <= 100_000
    for message in sent[:-1]:
        channel.offsets_stored(message["number"], "refused" if message is sent[1] else None)
    assert found == [], "the commit is answered once all parts are"
    channel.offsets_stored(sent[-1]["number"], None)
    assert found == ["refused"]


def test_an_offset_larger_than_a_message_is_an_error_of_its_task(tmp_path: Path) -> None:
    sent: list[Any] = []
    with pytest.raises(ConnectError, match=r'Offsets cannot be committed: .* bytes allowed: \["c",\{"file"'):
        host(sent, tmp_path).offsets(task_spec("c"), [('["c",{"file":"a"}]', "x" * 40 * MIB)], lambda error: None)
    assert sent == []
