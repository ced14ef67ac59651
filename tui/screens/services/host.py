"""The parts of the main screen that the services of a cluster use: status line, snapshot, background tasks."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol

from tui.cluster.snapshot import Snapshot

NO_RESPONSE = "the cluster does not respond: nothing is sent until it is back"
GONE = "the connector does not exist any more"
LINK = "\0link"  # subject of status texts about the connection; not a valid connector name
REFUSAL = "\0refusal"  # subject of refused keys and commands: of the page on which they were refused only


class Host(Protocol):
    """Implemented by the main screen."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest state of the cluster that the screen has processed."""

    @property
    def is_stale(self) -> bool:
        """Whether the cluster has stopped responding."""

    def report(self, text: str, kind: str = "info", subject: str = "") -> None:
        """Shows a text in the status line; `subject` names the connector concerned, or is LINK or REFUSAL."""

    def clear_report(self, text: str) -> None:
        """Clears this text if the status line still shows it."""

    def is_elsewhere(self, name: str) -> bool:
        """Whether the page of another connector is open."""

    def do(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs the coroutine in the background; errors are shown in the status line."""
