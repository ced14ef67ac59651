"""The first process of a container, which inherits the orphans of all others, and has to collect their exit codes.

Without that, each slot or driver that is replaced would leave processes in the table until the container ends.
"""

from __future__ import annotations

import contextlib
import os
import signal

_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def leave_first_process() -> None:
    """Continue in a child if this is the first process, which then only forwards signals and collects orphans, as
    `tini` does, and ends with the child's exit code. To be called before there are threads."""
    if os.getpid() != 1:
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
    child = os.fork()
    if child:
        for number in _FORWARDED:
            signal.signal(number, lambda received, frame: _forward(child, received))
    else:
        os.setpgid(0, 0)  # Ctrl-C in a terminal is for the first process, which forwards it
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
    if child:
        os._exit(_collect(child))


def _forward(child: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)


def _collect(child: int) -> int:
    """The exit code of the child, after it has ended."""
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
