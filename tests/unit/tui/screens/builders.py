"""Connectors and snapshots for tests of the screens."""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import Any

from tui import model
from tui.cluster.snapshot import ClusterLink, LinkState, Snapshot
from tui.model import Connector


def connector(name: str, state: str = "RUNNING", tasks: tuple[str, ...] = ("RUNNING",), **more: Any) -> Connector:
    status = {
        "connector": {"state": state, "worker_id": "w:8083"},
        "tasks": [
            {"id": number, "state": task, "worker_id": "w:8083", "trace": "boom\n\tat [/x]"}
            for number, task in enumerate(tasks)
        ],
        "type": "sink",
    }
    return model.connector(name, status, {"config": {"connector.class": "a.b.FileStreamSink", **more}})


def snapshot(*some: Connector, state: LinkState = LinkState.POLLING) -> Snapshot:
    return Snapshot(MappingProxyType({one.name: one for one in some}), link=ClusterLink(state, time.monotonic()))
