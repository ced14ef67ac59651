"""Conditions of connectors, as rules and `check` name them: `failed`, `lag > 10000`, `expires < 24h`."""

from __future__ import annotations

import re
from typing import NamedTuple

from tui.errors import UsageError
from tui.formatting import did_you_mean, format_duration
from tui.model import Connector

STATES = ("failed", "unassigned", "paused", "stopped", "restarting")
MARKS = ("stalled", "unreachable")
MEASURES = {"lag": ">", "failures": ">", "expires": "<"}
"""Measures with the direction of trouble: records behind, failed records a second, time left."""
EXPECTED = (
    "failed, unassigned, paused, stopped, restarting, stalled, unreachable, lag > N, failures > N, expires < TIME"
)

_MEASURE = re.compile(r"([a-z]+)\s*([<>])\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)(?:/s)?")
_NUMBERS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_TIMES = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


class Observation(NamedTuple):
    """What is known of a connector at one time; None where the cluster does not report it."""

    connector: Connector
    lag: int | None = None  # records, of a sink
    failures: float | None = None  # failed records a second that did not fail the task
    stalled: tuple[int, ...] | None = None  # tasks
    expires_at: float | None = None  # seconds since 1970, of the offsets of a stopped sink
    knows_expiry: bool = False  # False: `expires_at` None means that the cluster does not report it
    lag_error: str = ""  # why the lag could not be read from the brokers


class Verified(NamedTuple):
    """Whether a condition holds; None if the cluster does not report what it needs. `text` describes what was seen, or
    is the error, if there was one."""

    holds: bool | None
    text: str = ""


class Condition(NamedTuple):
    """A state, a mark, or a measure with its limit."""

    subject: str
    limit: float = 0.0
    text: str = ""

    def verify(self, observation: Observation, now: float) -> Verified:
        """Whether the condition holds for a connector. `now` in seconds since 1970."""
        if self.subject in STATES:
            return self._state(observation.connector)
        if self.subject == "stalled":
            return self._stalled(observation)
        if self.subject == "lag":
            return self._lag(observation)
        if self.subject == "failures":
            return self._failures(observation)
        return self._expires(observation, now) if self.subject == "expires" else Verified(False)

    def _state(self, connector: Connector) -> Verified:
        if connector.overall != self.subject.upper():
            return Verified(False)
        if self.subject == "failed" and connector.state != "FAILED":
            return Verified(True, f"{connector.failed} of {connector.total} tasks FAILED")
        return Verified(True, f"is {connector.overall}")

    def _stalled(self, observation: Observation) -> Verified:
        if observation.stalled is None:
            return Verified(None if observation.connector.running else False)
        tasks = ", ".join(map(str, observation.stalled))
        return Verified(
            bool(observation.stalled),
            f"task {tasks} is STALLED" if len(observation.stalled) == 1 else f"tasks {tasks} are STALLED",
        )

    def _lag(self, observation: Observation) -> Verified:
        connector = observation.connector
        if connector.type != "sink" or (observation.lag is None and connector.state in ("PAUSED", "STOPPED")):
            return Verified(False)
        return (
            Verified(None, observation.lag_error)
            if observation.lag is None
            else Verified(observation.lag > self.limit, f"lag {observation.lag:,} > {self.limit:,.0f}")
        )

    def _failures(self, observation: Observation) -> Verified:
        if observation.failures is None:
            return Verified(None if observation.connector.running else False)
        return Verified(
            observation.failures > self.limit, f"{observation.failures:.1f} failed records/s > {self.limit:g}"
        )

    def _expires(self, observation: Observation, now: float) -> Verified:
        if observation.connector.type != "sink" or observation.connector.state != "STOPPED":
            return Verified(False)
        if observation.expires_at is None:
            return Verified(False if observation.knows_expiry else None)
        left = observation.expires_at - now
        text = f"offsets expire in {format_duration(left)}" if left > 0 else "offsets may have expired"
        return Verified(left < self.limit, text)


def condition(text: str) -> Condition:
    """The condition that a text names. Raises UsageError."""
    word = text.strip().lower().removeprefix("state:").removeprefix("state ").strip()
    if word in STATES or word in MARKS:
        return Condition(word, text=word)
    if word in MEASURES:
        raise UsageError(f"{text!r} needs a limit", f"expected {word} {MEASURES[word]} …")
    match = _MEASURE.fullmatch(text.strip().removesuffix("/s"))
    if match is None or match[1] not in MEASURES:
        advice = did_you_mean(word.split(" ")[0], (*STATES, *MARKS, *MEASURES)) or f"expected one of: {EXPECTED}"
        raise UsageError(f"{text!r} is not a condition", advice)
    subject, sign, number, unit = match.groups()
    if sign != MEASURES[subject]:
        raise UsageError(f"{text!r} is not a condition", f"expected {subject} {MEASURES[subject]} …")
    units = _TIMES if subject == "expires" else _NUMBERS
    if unit not in units:
        raise UsageError(
            f"{text!r} has the unknown unit {unit!r}", f"expected one of: {', '.join(filter(None, units))}"
        )
    return Condition(subject, float(number) * units[unit], f"{subject} {sign} {number}{unit}")
