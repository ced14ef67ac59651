"""Matching by an expression of a user, which may need exponential time."""

from __future__ import annotations

import time

from runtime.api.errors import ConfigError
from runtime.api.java_compat.regex import java_regex

LIMIT = 0.5
"""Seconds for all texts together: a million topics need less with an expression of practical use."""


class LimitedMatch:
    """Whether texts match an expression as a whole. Other threads run meanwhile. The time is counted from the first
    text; ConfigError when it is over, or if the expression is invalid."""

    def __init__(self, pattern: str, seconds: float = LIMIT) -> None:
        self._text, self._pattern, self._left = pattern, java_regex(pattern), seconds

    def __call__(self, text: str) -> bool:
        started = time.monotonic()
        try:
            found = self._pattern.fullmatch(text, concurrent=True, timeout=max(self._left, 0.001))
        except TimeoutError:
            raise ConfigError(
                f"The regular expression {self._text} takes too long for {text[:100]}: nested repetitions such as "
                "(a+)+ need exponential time; simplify it"
            ) from None
        finally:
            self._left -= time.monotonic() - started
        return found is not None
