"""A SparkSink that writes into a table, killed again and again while it does."""

from __future__ import annotations

import os
import signal
from functools import partial

from tests.support.connect import Connect
from tests.support.engine.engine_recorder import living_driver
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

VICTIMS = ("slot", "driver", "slot", "worker")


def committed(connect: Connect, name: str) -> int:
    """The sum of the sink's committed offsets."""
    return sum(one["offset"]["kafka_offset"] for one in connect.offsets(name))


def kill_between_batches(process: WorkerProcess, connect: Connect, name: str) -> None:
    """Kills each of VICTIMS as soon as another batch was committed; the worker is started again."""
    for number, victim in enumerate(VICTIMS):
        wait_until(partial(_has_grown, connect, name, committed(connect, name)), 300, f"batch {number}", every=0.01)
        if victim == "worker":
            process.kill()
            process.start()
        else:
            os.kill(connect.slot_of(name) if victim == "slot" else living_driver(process.pid), signal.SIGKILL)


def _has_grown(connect: Connect, name: str, before: int) -> bool:
    return committed(connect, name) > before
