"""Failed attempts of a request to the Spark session, and whether to try again."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.connectors.spark.session_client import SessionLostError, SparkRequestError

_LOST_TIME, _LOST_TIME_OF_PROVEN = 60.0, 300.0
"""Seconds in which requests of other connectors may end the session several times: the connector at fault is rather
one that has never had a batch, and fails first."""


@dataclass(slots=True)
class Failures:
    """The failures since the last success. `proven`: whether the task has had a batch."""

    proven: bool = False
    errors: int = 0
    losses: int = 0
    """How often the session has ended, for which another connector may be the reason."""

    _lost_since: float = 0.0

    @property
    def count(self) -> int:
        return self.errors + self.losses

    def may_retry(self, error: SparkRequestError, retries: int, now: float) -> bool:
        """Count a failure at the time `now` in seconds. Whether another attempt may help after at most `retries`; the
        session may be lost more often, for a limited time."""
        if isinstance(error, SessionLostError):
            self._lost_since = self._lost_since if self.losses else now
            self.losses += 1
            limit = _LOST_TIME_OF_PROVEN if self.proven else _LOST_TIME
            return self.losses <= retries or now - self._lost_since < limit
        self.errors += 1
        return error.kind == "other" and self.errors <= retries
