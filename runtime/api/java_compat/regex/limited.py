"""Matching by an expression of a user, which may need exponential time."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from runtime.api.errors import ConfigError
from runtime.api.java_compat.regex import java_regex

if TYPE_CHECKING:
    import regex

LIMIT = 0.5
"""Seconds for all texts together: a million topics need less with an expression of practical use."""


class LimitedMatch:
    """Whether texts match an expression as a whole. Other threads run meanwhile. The time is counted from the first
    text; ConfigError when it is over, or if the expression is invalid."""

    def __init__(self, pattern: str, seconds: float = LIMIT, compiled: regex.Pattern[str] | None = None) -> None:
        """`pattern` is Java's expression, unless another kind is `compiled` already."""
        self._text, self._pattern, self._left = pattern, compiled or java_regex(pattern), seconds

    def __call__(self, text: str) -> bool:
        return self._run(self._pattern.fullmatch, text) is not None

    def begins(self, text: str) -> bool:
        """Whether the text, or a longer one that begins with it, matches as a whole."""
        return self._run(partial(self._pattern.fullmatch, partial=True), text) is not None

    def search(self, text: str) -> regex.Match[str] | None:
        """The first match within a text."""
        return self._run(self._pattern.search, text)

    def _run(self, match: Callable[..., regex.Match[str] | None], text: str) -> regex.Match[str] | None:
        started = time.monotonic()
        try:
            return match(text, concurrent=True, timeout=max(self._left, 0.001))
        except TimeoutError:
            raise ConfigError(
                f"The pattern {self._text} takes too long for {text[:100]}: nested repetitions such as "
                "(a+)+ need exponential time; simplify it"
            ) from None
        finally:
            self._left -= time.monotonic() - started
