"""A slot on another machine: its connections to the worker, its lease, and its files."""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import os
import signal
import socket
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from runtime.api.errors import ConnectError
from runtime.connectors.spark import session_client
from runtime.engine.protocol.archives import FetchMessage, with_paths
from runtime.engine.protocol.channel import BlockingChannel, encode
from runtime.engine.protocol.descriptors import raise_limit, room
from runtime.engine.protocol.lease_cell import LeaseCell, stack_of
from runtime.engine.protocol.messages import RenewMessage
from runtime.engine.protocol.remote import Attempt, SlotCaller
from runtime.engine.protocol.settings import SlotSettings
from runtime.engine.slot.slot import Slot, load_runner
from runtime.model.task_spec import TaskSpec
from runtime.plugins import wheels
from runtime.system import frames
from runtime.system.lease_clock import lease_time
from runtime.system.processes import end_with_parent, start_time
from runtime.system.tls_socket import TlsSocket

_CHUNK = 1 << 20
_ZIP = ".archive.zip"


class SlotArchives:
    """Thread-safe: several slots and tasks may need an archive at the same time."""

    def __init__(self, folder: Path, connect: Callable[[], TlsSocket]) -> None:
        """`folder` holds the unpacked archives of all slots of this executor; `connect` opens a connection for a
        download."""
        self._folder, self._connect = folder, connect

    def localized(self, spec: TaskSpec, archives: Mapping[str, str]) -> TaskSpec:
        """The specification with the paths of this machine. `archives`: digests by path on the worker's machine.
        ConnectError if an archive cannot be downloaded."""
        if not archives:
            return spec
        unpacked = with_paths(spec, {path: str(self._unpacked(path, digest)) for path, digest in archives.items()})
        if unpacked.environment is not None:
            unpacked = replace(unpacked, environment=replace(unpacked.environment, archive=""))
        return unpacked

    def _unpacked(self, path: str, digest: str) -> Path:
        target = self._folder / digest
        try:
            wheels.publish(target, lambda fresh: self._download(digest, fresh))
        except (OSError, frames.FrameError, wheels.BrokenEnvironmentError) as error:
            raise ConnectError(f"The slot could not get the plugins in {path} from the worker: {error}") from error
        return target / Path(path).name

    def _download(self, digest: str, folder: Path) -> None:
        request: FetchMessage = {"op": "fetch", "digest": digest}
        connection = self._connect()
        try:
            connection.sendall(encode(request))
            response = frames.read(connection.stream)
            if response is None or "size" not in response[0]:
                raise OSError(f"the worker does not have the archive {digest}")
            file = folder / _ZIP
            self._copy(connection, response[0]["size"], file, digest)
            wheels.unzip(file, folder, lambda path: path)
            file.unlink()
        finally:
            connection.close()

    def _copy(self, connection: TlsSocket, size: int, file: Path, digest: str) -> None:
        hashed = hashlib.sha256()
        with file.open("wb") as copy:
            while size:
                data = connection.stream.read(min(size, _CHUNK))
                if not data:
                    raise OSError("the connection was lost")
                copy.write(data)
                hashed.update(data)
                size -= len(data)
        if hashed.hexdigest() != digest:
            raise OSError("the archive is damaged")


# Renews the lease of a slot on another machine, and ends its process when the lease ends.
#
# The slot counts from the moment at which it asks and the worker from the moment at which it answers, so that the
# lease ends here first, however long messages take. The end needs neither the interpreter nor a running thread of this
# process: faulthandler writes the stacks and exits, and behind it the kernel's timer ends the process, also one that
# was stopped (SIGSTOP) before it executes another instruction of its own.
_BACKSTOP = 0.2  # seconds after the lease at which the kernel ends a process that still runs
_RETRY = 0.2  # seconds until another connection is tried
_RENEWALS = 8  # within one lease


class LeaseRenewal:
    """Asks for renewals on a connection of its own, since the channel may be busy with large messages."""

    def __init__(self, connect: Callable[[], TlsSocket], cell: LeaseCell, ttl: float, stacks: TextIO) -> None:
        """`stacks` gets the stacks of all threads if the lease ends."""
        self._connect, self._cell, self._ttl, self._stacks = connect, cell, ttl, stacks
        self._connection: TlsSocket | None = None

    def start(self) -> None:
        """Get the lease, and renew it from now on in a thread. OSError if the worker does not grant it. Called in the
        main thread."""
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        if not self.renew():
            raise OSError("the worker has not granted a lease")
        threading.Thread(target=self._run, name="lease", daemon=True).start()

    def renew(self) -> bool:
        """Ask for a renewal once; whether the lease has been granted. OSError if the worker cannot be reached."""
        if self._connection is None:
            self._connection = self._connect()
            self._connection.settimeout(self._ttl)
        asked = lease_time()
        request: RenewMessage = {"op": "renew"}
        self._connection.sendall(encode(request))
        response = frames.read(self._connection.stream)
        if response is None:
            raise ConnectionError("the worker has closed the connection")
        return self._extend(asked + response[0]["seconds"])

    def _extend(self, deadline: float) -> bool:
        now = lease_time()
        if deadline <= now:
            return False
        if self._cell.lapsed(now):
            os._exit(1)  # tasks may have noticed; an expired lease is never renewed
        self._cell.grant(max(deadline, self._cell.deadline))
        faulthandler.dump_traceback_later(deadline - now, exit=True, file=self._stacks)
        signal.setitimer(signal.ITIMER_REAL, deadline - now + _BACKSTOP)
        return True

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(self._ttl / _RENEWALS)
            try:
                self.renew()
            except (OSError, frames.FrameError):
                self._disconnect()
                pause.wait(_RETRY)
            if self._cell.lapsed(lease_time()):
                os._exit(1)

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
        self._connection = None


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
