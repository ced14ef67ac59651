"""Tells why a task that starts is not RUNNING yet: no broker has responded to its Kafka client."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from runtime.pipeline.task.control import StoppedError

if TYPE_CHECKING:
    from runtime.kafka.clients.client_log import ClientLog
    from runtime.pipeline.task.control import TaskControl

_PAUSE = 0.2  # seconds between two tries
_SILENCE = 3.0  # seconds without a response until the task is reported as UNASSIGNED


class BrokerWait:
    """The start of one task. Java's clients try again without end, too, but their tasks are RUNNING meanwhile."""

    def __init__(
        self, control: TaskControl, client: str, settings: Mapping[str, Any], unassigned: Callable[[str], None]
    ) -> None:
        """`client`: consumer or producer, with these settings. `unassigned` reports that state with the reason."""
        self._control, self._unassigned = control, unassigned
        self._client, self._servers = client, settings["bootstrap.servers"]
        self._began, self._reported = time.monotonic(), False

    def until(self, responds: Callable[[], bool], log: ClientLog) -> None:
        """Try until a broker responds. StoppedError if the task is stopped meanwhile."""
        while not responds():
            self.silent(log)
            self._control.check()
            if self._control.stopping:
                raise StoppedError
            self._control.wait(_PAUSE)  # a server may refuse the connection at once

    def repeat(self) -> None:
        """Another state was reported meanwhile: report UNASSIGNED again if no broker has responded yet."""
        self._reported = False

    def silent(self, log: ClientLog) -> None:
        """No broker has responded yet to the client that reports its errors to `log`."""
        least = _SILENCE if log.last else _SILENCE * 2  # the client may still have the error to report
        if self._reported or time.monotonic() - self._began < least:
            return
        self._reported = True
        cause = f" ({log.last})" if log.last else ""
        reason = (
            f"No broker of bootstrap.servers={self._servers} responds to the {self._client} of the task{cause}; "
            "the task tries again until one does. If the brokers have other addresses now, change bootstrap.servers of "
            f"the worker, or {self._client}.override.bootstrap.servers of the connector"
        )
        self._unassigned(reason)
