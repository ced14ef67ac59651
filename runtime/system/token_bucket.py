"""A token bucket: limits how often something happens, with a small burst after a pause."""

from __future__ import annotations

import time
from collections.abc import Callable

_ROUNDING = 1e-6  # tokens that may be missing because of the precision of numbers


class TokenBucket:
    """`rate` tokens arrive each second, up to `burst`. More tokens may be taken than there are: the debt delays what
    follows, so that the average rate holds. Not thread-safe."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self._clock = rate, burst, clock
        self._tokens, self._at = burst, clock()

    @property
    def tokens(self) -> float:
        """The tokens that are available now; negative while a debt is paid back."""
        now = self._clock()
        self._tokens = min(self.burst, self._tokens + (now - self._at) * self.rate)
        self._at = now
        return self._tokens

    def take(self, tokens: float) -> None:
        """Take tokens, whether or not they are available."""
        self._tokens = self.tokens - tokens

    def wait(self, tokens: float) -> float:
        """Seconds until this number of tokens, at most `burst`, is available; 0 if it is."""
        missing = min(tokens, self.burst) - self.tokens
        return missing / self.rate if missing > _ROUNDING else 0.0
