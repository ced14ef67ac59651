"""Java's regular expressions, translated for the regex package: for `topics.regex` and other configuration keys."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from runtime.api.errors import ConfigError
from runtime.api.java_compat.regex.cursor import PatternError
from runtime.api.java_compat.regex.parser import PatternParser
from runtime.api.java_compat.regex.replacement import Replacement

if TYPE_CHECKING:
    import regex

__all__ = ["PatternError", "Replacement", "compiled", "java_regex"]


@lru_cache(maxsize=256)
def compiled(pattern: str) -> regex.Pattern[str]:
    """The compiled expression, for fullmatch() or for search() from the start of a text; PatternError, with the message
    of java.util.regex.Pattern, if it is invalid."""
    import regex  # imported on first use: most processes use no regular expressions

    try:
        return regex.compile(PatternParser(pattern).translation(), regex.V1)
    except (RecursionError, MemoryError, OverflowError) as error:
        raise PatternError("The expression is too large", pattern, -1) from error
    except regex.error as error:
        raise PatternError(f"The expression is not supported: {error}", pattern, -1) from error


def java_regex(pattern: str) -> regex.Pattern[str]:
    """The compiled expression, for fullmatch(); ConfigError if it is invalid."""
    try:
        return compiled(pattern)
    except PatternError as error:
        raise ConfigError(f"Invalid regular expression {pattern}: {error}") from error
