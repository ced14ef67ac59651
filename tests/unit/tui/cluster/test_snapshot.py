"""The state of the connection as text."""

from __future__ import annotations

from tui.cluster.snapshot import ClusterLink, LinkState


def test_a_silent_event_stream_is_shown_before_it_counts_as_lost() -> None:
    link = ClusterLink(LinkState.LIVE, 100.0)
    assert link.text(110.0) == "live" and not link.is_silent(110.0)
    assert link.text(114.0) == "live, silent for 14 s" and link.is_silent(114.0)
    assert not ClusterLink(LinkState.POLLING, 100.0).is_silent(200.0)
