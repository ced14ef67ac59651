"""A slot on another machine: its connections to the worker, its lease, and its files."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import socket
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from runtime.connectors.spark import session_client
from runtime.engine.protocol.channel import BlockingChannel
from runtime.engine.protocol.descriptors import raise_limit, room
from runtime.engine.protocol.lease_cell import LeaseCell, stack_of
from runtime.engine.protocol.remote import Attempt, SlotCaller
from runtime.engine.protocol.settings import SlotSettings
from runtime.engine.slot.archives import SlotArchives
from runtime.engine.slot.lease_renewal import LeaseRenewal
from runtime.engine.slot.slot import Slot, load_runner
from runtime.model.task_spec import TaskSpec
from runtime.system.processes import end_with_parent, start_time

MAX_STACK = 64 * 1024  # characters of a stack that are reported


class RemotePlace:
    """What a slot on another machine does differently (slot.SlotPlace)."""

    def __init__(self, caller: SlotCaller, ttl: float, folder: Path) -> None:
        self._caller, self._ttl, self._folder = caller, ttl, folder
        archives = folder / "archives"
        archives.mkdir(exist_ok=True)
        self._archives = SlotArchives(archives, lambda: caller.connect("archive"))

    def hold_lease(self, cell: LeaseCell, stacks: TextIO) -> None:
        """Get the lease, and renew it from now on."""
        LeaseRenewal(lambda: self._caller.connect("lease"), cell, self._ttl, stacks).start()

    def localized(self, spec: TaskSpec, archives: Mapping[str, str]) -> TaskSpec:
        """The specification with the paths of this machine."""
        return self._archives.localized(spec, archives)

    def report_former(self, log: Callable[[str], None]) -> None:
        """Log the stacks of slots of this executor whose lease has ended, and remove their files."""
        for cell in self._folder.glob("slot-*.lease"):
            pid = cell.stem.rpartition("-")[2]
            if start_time(int(pid)) is not None:
                continue
            stack = stack_of(cell)
            with contextlib.suppress(OSError):  # another slot is faster
                cell.unlink()
                text = stack.read_text(errors="replace")
                stack.unlink()
                if text:
                    log(f"A slot on this executor ended when its lease expired. Its stacks:\n{text[-MAX_STACK:]}")


def serve_remote(data: dict[str, Any], token: str) -> None:
    """The body of the Spark task. It never returns: leftover threads must not outlive it in a reused process."""
    os.setsid()  # a plugin that signals its process group reaches this slot alone
    end_with_parent()
    faulthandler.enable()
    raise_limit()
    try:
        _run(SlotSettings.from_json(data), token)
    except BaseException:
        traceback.print_exc()  # written to the executor's log, since the channel may not work
    os._exit(0)


def _run(settings: SlotSettings, token: str) -> None:
    from pyspark import SparkFiles

    folder = Path(SparkFiles.getRootDirectory(), "headrace").absolute()  # "." here; removed with the application
    folder.mkdir(mode=0o700, exist_ok=True)
    settings = replace(settings, folder=str(folder))
    assert settings.access is not None
    attempt = Attempt(settings.generation, settings.slot, settings.attempt)
    caller = SlotCaller(settings.access, attempt, token, socket.gethostname(), os.getpid())
    factory = load_runner(settings.runner)
    os.environ[session_client.ROWS] = str(folder)
    session_client.use(lambda: caller.connect("session"))
    channel = BlockingChannel(caller.connect("slot", room()))
    Slot(settings, channel, factory, RemotePlace(caller, settings.lease_ttl, folder)).run()
