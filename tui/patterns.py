"""Regular expressions of users and of connectors' configs, with a limit of time."""

from __future__ import annotations

import time
from collections.abc import Callable

from tui.errors import UsageError

TIME_LIMIT = 2.0  # seconds of processor time, which the regex package measures, for all names together


class Pattern:
    """A compiled expression. Raises UsageError if it is invalid, and once it has taken longer than the limit."""

    def __init__(self, text: str, ignore_case: bool = False, time_limit: float = TIME_LIMIT) -> None:
        # Not `re`, which has no limit of time: with sixty letters a, `(a|a)+b` needs 2^60 steps. Imported on first use:
        # most script lines use no regular expression.
        import regex

        self._text, self._left = text, time_limit
        try:
            self._compiled = regex.compile(text, regex.IGNORECASE if ignore_case else 0)
        except (regex.error, RecursionError, MemoryError, OverflowError) as error:
            raise UsageError(f"{text!r} is not a regular expression: {error}") from None

    def matches(self, name: str) -> bool:
        """Whether the expression matches the whole name."""
        return self._limited(lambda seconds: self._compiled.fullmatch(name, timeout=seconds))

    def occurs_in(self, text: str) -> bool:
        """Whether the expression matches a part of the text."""
        return self._limited(lambda seconds: self._compiled.search(text, timeout=seconds))

    def _limited(self, match: Callable[[float], object]) -> bool:
        started = time.thread_time()
        try:
            if self._left <= 0:
                raise TimeoutError
            return match(self._left) is not None
        except TimeoutError:
            raise UsageError(f"the regular expression {self._text!r} takes too long", "simplify it") from None
        finally:
            self._left -= time.thread_time() - started
