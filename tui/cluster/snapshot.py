"""Immutable snapshots of a cluster and of the connection to it, and differences between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from itertools import compress
from operator import is_not
from types import MappingProxyType
from typing import NamedTuple

from tui.errors import Refused, error_line
from tui.model import Connector

SILENT = 12.0  # seconds; a worker sends at least a comment every 10 s


class LinkState(Enum):
    """How the cluster is being watched."""

    CONNECTING = "connecting"  # no response yet
    LIVE = "live"  # the worker's event stream
    POLLING = "polling"  # one request per interval
    LOST = "lost"  # the snapshot is stale


class ClusterLink(NamedTuple):
    """The connection, in seconds of the monotonic clock. `heard_at` is the time of the last response or event, None
    before the first. `trouble` is why the connection is lost or, while polling, why there is no event stream;
    `is_refused` if the cluster is lost because it responds with an error."""

    state: LinkState = LinkState.CONNECTING
    heard_at: float | None = None
    next_try_at: float | None = None
    trouble: str = ""
    is_refused: bool = False

    def text(self, now: float) -> str:
        """A description such as `stale 42 s, next try in 8 s: cannot reach …`."""
        if self.state is LinkState.LOST:
            never = "refused" if self.is_refused else "no response yet"
            freshness = never if self.heard_at is None else f"stale {max(0, now - self.heard_at):.0f} s"
            wait = max(0.0, (self.next_try_at or now) - now)
            return (
                f"{freshness}, next try in {wait:.0f} s: {self.trouble}"
                if wait
                else f"{freshness}, trying: {self.trouble}"
            )
        if self.is_silent(now):
            return f"{self.state.value}, silent for {now - (self.heard_at or now):.0f} s"
        return f"{self.state.value} ({self.trouble})" if self.trouble else self.state.value

    def is_silent(self, now: float) -> bool:
        """Whether the event stream is overdue: the worker may have frozen, or the network may be gone."""
        return self.state is LinkState.LIVE and self.heard_at is not None and now - self.heard_at > SILENT


def lost_link(before: ClusterLink, next_try_at: float, error: Exception) -> ClusterLink:
    """The connection after a failure."""
    refused = isinstance(error, Refused)
    return ClusterLink(LinkState.LOST, before.heard_at, next_try_at, error_line(error), refused)


class Snapshot(NamedTuple):
    """All connectors at one moment. `since` has the time of each connector's last change of state, in seconds
    since 1970, if the worker reports it or it was observed."""

    connectors: Mapping[str, Connector] = MappingProxyType({})
    since: Mapping[str, float] = MappingProxyType({})
    link: ClusterLink = ClusterLink()


class Diff(NamedTuple):
    """Connectors added, changed and removed since the previous snapshot; `link` if the connection changed."""

    added: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    link: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed or self.link)


def changed_names(before: Mapping[str, Connector], now: Mapping[str, Connector]) -> list[str]:
    """Names of connectors that are added, or are other objects than before. Quick with 10,000 connectors."""
    return list(compress(now, map(is_not, now.values(), map(before.get, now))))


class Notice(NamedTuple):
    """A line from the `log` or `notice` events of a Headrace worker."""

    time: float | str
    level: str
    message: str
    connector: str = ""
    task: int | None = None
