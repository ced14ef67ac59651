"""Verifies the rules of config.toml against what the screen knows of its cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from tui.cluster.snapshot import LinkState, Snapshot
from tui.metrics.progress import ConnectorProgress, ProgressMonitor
from tui.user_folders import config_folder
from tui.watch.conditions import Observation
from tui.watch.incidents import IncidentChange, Incidents
from tui.watch.notifying import Notifier, text_of
from tui.watch.observing import expiry_of, with_expiry
from tui.watch.rules import rules_of

if TYPE_CHECKING:
    from tui.client.client import Connect
    from tui.contexts.profiles import Profile

EVERY = 2.0  # seconds
EXPIRY_EVERY = 600.0  # seconds between two requests for the offsets of stopped sinks

Say = Callable[[str, str], None]


class IncidentWatch:
    """`tick` is called each second. It sends requests only for rules about offsets that expire."""

    def __init__(
        self, profile: Profile, connect: Connect, progress: ProgressMonitor, terminal: Callable[[str], None],
        report: Say, do: Callable[[Coroutine[Any, Any, None]], None], every: float = EVERY,
    ) -> None:  # fmt: skip
        """`report` shows a text of a kind (warn, bad, good), on any thread; `do` runs a coroutine in the background;
        `every`: seconds between two looks at the rules."""
        from tui.appearance import settings

        rules, self.problems = rules_of(settings.load(config_folder(os.environ))[0].rules, profile.name)
        self.incidents = Incidents(rules)
        self._label, self._connect, self._progress, self._report, self._do = (
            profile.label,
            connect,
            progress,
            report,
            do,
        )
        self._notifier = Notifier(profile.label, terminal, self._warn)
        self._expiry: dict[str, Any] = {}  # details of offsets, by stopped sink
        self._next, self._next_expiry, self._every = 0.0, 0.0, every

    def tick(self, snapshot: Snapshot) -> None:
        """Verifies the rules if it is time, and reports incidents that have started or ended."""
        now, state = time.monotonic(), snapshot.link.state
        if not self.incidents.rules or now < self._next or state is LinkState.CONNECTING:
            return
        self._next = now + self._every
        if state is LinkState.LOST:
            changes = self.incidents.lost(f"cannot be reached: {snapshot.link.trouble}", now)
        else:
            self._ask_when_due(snapshot, now)
            changes = self.incidents.observe(self._observed(snapshot), now)
        for change in changes:
            self._notify(change)

    def close(self) -> None:
        """Sends the notices that wait, for a limited time."""
        self._notifier.close()

    def _warn(self, text: str) -> None:
        self._report(text, "warn")

    def _notify(self, change: IncidentChange) -> None:
        kind = "good" if not change.started else "bad" if change.rule.severity == "critical" else "warn"
        self._report(text_of(change, self._label), kind)
        self._notifier.notify(change)

    def _observed(self, snapshot: Snapshot) -> list[Observation]:
        nothing = ConnectorProgress()
        seen = []
        for name, connector in snapshot.connectors.items():
            known = self._progress.known.get(name, nothing)
            observation = Observation(connector, known.lag)
            if self._progress.has_events:
                rate = known.failing.rate if known.failing.is_so(time.time()) else 0.0
                observation = observation._replace(failures=rate, stalled=known.stalled)
            seen.append(with_expiry(observation, self._expiry[name]) if name in self._expiry else observation)
        return seen

    def _ask_when_due(self, snapshot: Snapshot, now: float) -> None:
        rules = [rule for rule in self.incidents.rules if rule.when.subject == "expires"]
        if not rules or now < self._next_expiry:
            return
        self._next_expiry = now + EXPIRY_EVERY
        stopped = [
            connector.name
            for connector in snapshot.connectors.values()
            if connector.type == "sink" and connector.state == "STOPPED"
        ]
        self._do(self._read_expiry([name for name in stopped if any(rule.covers(name) for rule in rules)]))

    async def _read_expiry(self, names: list[str]) -> None:
        self._expiry = {name: await expiry_of(self._connect, name) for name in names}
