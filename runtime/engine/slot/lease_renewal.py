"""Renews the lease of a slot on another machine, and ends its process when the lease ends.

The slot counts from the moment at which it asks and the worker from the moment at which it answers, so that the lease
ends here first, however long messages take. The end needs neither the interpreter nor a running thread of this process:
faulthandler writes the stacks and exits, and behind it the kernel's timer ends the process, also one that was stopped
(SIGSTOP) before it executes another instruction of its own.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import threading
from collections.abc import Callable
from typing import TextIO

from runtime.engine.protocol.channel import encode
from runtime.engine.protocol.lease_cell import LeaseCell
from runtime.engine.protocol.messages import RenewMessage
from runtime.system import frames
from runtime.system.lease_clock import lease_time
from runtime.system.tls_socket import TlsSocket

_BACKSTOP = 0.2  # seconds after the lease at which the kernel ends a process that still runs
_RETRY = 0.2  # seconds until another connection is tried
_RENEWALS = 8  # within one lease


class LeaseRenewal:
    """Asks for renewals on a connection of its own, since the channel may be busy with large messages."""

    def __init__(
        self,
        connect: Callable[[], TlsSocket],
        cell: LeaseCell,
        ttl: float,
        stacks: TextIO,
        clock: Callable[[], float] = lease_time,
    ) -> None:
        """`stacks` gets the stacks of all threads if the lease ends."""
        self._connect, self._cell, self._ttl, self._stacks, self._clock = connect, cell, ttl, stacks, clock
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
        asked = self._clock()
        request: RenewMessage = {"op": "renew"}
        self._connection.sendall(encode(request))
        answer = frames.read(self._connection.stream)
        if answer is None:
            raise ConnectionError("the worker has closed the connection")
        return self._extend(asked + answer[0]["seconds"])

    def _extend(self, deadline: float) -> bool:
        now = self._clock()
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
            if self._cell.lapsed(self._clock()):
                os._exit(1)

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
        self._connection = None
