"""The check that tasks make before every poll, put, produce and commit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.engine.protocol.lease import Lease, LeaseLostError
from runtime.engine.protocol.lease_cell import LeaseCell
from runtime.engine.slot.channel_host import ChannelHost
from runtime.engine.slot.outbox import Outbox


def test_tasks_stop_when_the_worker_has_ended_although_the_lease_has_not_expired(tmp_path: Path) -> None:
    cell = LeaseCell.create(str(tmp_path), 0, os.getpid())
    cell.grant(100.0)
    ended = False
    host = ChannelHost(Outbox(lambda message: None, 1.0), Lease(cell, lambda: 50.0), lambda: ended)
    host.check_lease()
    ended = True
    with pytest.raises(LeaseLostError, match="the worker has ended"):
        host.check_lease()
