"""Incidents: a rule that a connector violates, from the first notice to the last."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tui.watch.conditions import Observation
from tui.watch.rules import Rule

CLUSTER = ""
"""The name under which incidents of the cluster itself are kept."""


class IncidentChange(NamedTuple):
    """Connectors for which a rule's incidents have started, or ended, at the same time."""

    rule: Rule
    started: bool
    matches: tuple[tuple[str, str], ...]  # name (CLUSTER for the cluster) and description


class Incidents:
    """The open incidents of some rules. A rule is reported once when its condition has lasted long enough, and once
    when it has ended. A connector about which nothing is known keeps its incidents."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self._since: dict[tuple[int, str], float] = {}  # by rule and name: when the condition was first met
        self._open: dict[tuple[int, str], str] = {}  # the description at the start

    def observe(self, seen: Iterable[Observation], now: float) -> list[IncidentChange]:
        """Takes an observation of all connectors; deleted ones end their incidents. `now`: seconds of the
        monotonic clock."""
        met: dict[tuple[int, str], str] = {}
        unknown: set[tuple[int, str]] = set()
        for observation in seen:
            for number, rule in enumerate(self.rules):
                if rule.covers(observation.connector.name):
                    verified = rule.when.verify(observation, time.time())
                    if verified.holds:
                        met[number, observation.connector.name] = verified.text
                    elif verified.holds is None:
                        unknown.add((number, observation.connector.name))
        return self._changed(met, unknown, now)

    def lost(self, reason: str, now: float) -> list[IncidentChange]:
        """The cluster could not be observed: all other incidents remain as they are."""
        met = {
            (number, CLUSTER): reason for number, rule in enumerate(self.rules) if rule.when.subject == "unreachable"
        }
        return self._changed(met, {key for key in {*self._since, *self._open} if key[1] != CLUSTER}, now)

    def _changed(
        self, met: Mapping[tuple[int, str], str], unknown: set[tuple[int, str]], now: float
    ) -> list[IncidentChange]:
        started: dict[int, list[tuple[str, str]]] = {}
        ended: dict[int, list[tuple[str, str]]] = {}
        for key, text in met.items():
            since = self._since.setdefault(key, now)
            if key not in self._open and now - since >= self.rules[key[0]].lasting:
                self._open[key] = text
                started.setdefault(key[0], []).append((key[1], text))
        for key in [key for key in self._since if key not in met and key not in unknown]:
            del self._since[key]
            if key in self._open:
                ended.setdefault(key[0], []).append((key[1], self._open.pop(key)))
        return [
            IncidentChange(self.rules[number], began, tuple(sorted(connectors)))
            for began, changed in ((True, started), (False, ended))
            for number, connectors in sorted(changed.items())
        ]
