"""Values that must not be seen: passwords, and whatever config providers supplied."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping

HIDDEN = "[hidden]"

_SHORTEST = 4
"""Shorter ones are not looked for: they would be found everywhere."""

_NAMES = re.compile(r"(sasl\.jaas\.config|ssl\.keystore\.key|user\.info|password|secret)$", re.IGNORECASE)
"""Keys whose values are passwords, whoever defines them."""


def passwords(config: Mapping[str, str | None]) -> set[str]:
    """Values of keys that are passwords by their names."""
    return {v for k, v in config.items() if v and _NAMES.search(k)}


class Secrets:
    """All that are known, by owner; scrubs them from texts. Grows only: an old trace may hold an old password."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def add(self, values: Iterable[str]) -> None:
        """These too, and their trimmed and their one-line forms."""
        new = {form for v in values for form in (v, v.strip(), *v.splitlines()) if len(form) >= _SHORTEST}
        if not new <= self._values:
            self._values |= new
            longest_first = sorted(self._values, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def scrub(self, text: str) -> str:
        return self._pattern.sub(HIDDEN, text) if self._pattern is not None else text


class ScrubbingFormatter(logging.Formatter):
    """Formats log lines, traces and all, without secrets."""

    def __init__(self, line: str, secrets: Secrets) -> None:
        super().__init__(line)
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return self._secrets.scrub(super().format(record))
