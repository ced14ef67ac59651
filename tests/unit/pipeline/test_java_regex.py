"""Java's regular expressions."""

from __future__ import annotations

import pytest

from runtime.api.errors import ConfigError
from runtime.api.java_regex import java_regex


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("a.*", "abc", "ba"), (r"\Qa.b\E-\d+", "a.b-17", "axb-17"), (r"\p{Lower}+[\p{Digit}_]", "ab_", "AB_"),
        (r"(?<x>a|b)\k<x>", "bb", "ab"), (r"a++b\z", "aab", "aa"), ("(?i)orders", "ORDERS", "order"),
        (r"[^\]a]", "b", "]"), (r"x\\Q", "x\\Q", "x"),
    ],
)  # fmt: skip
def test_matches_as_java_does(pattern: str, matching: str, other: str) -> None:
    assert java_regex(pattern).fullmatch(matching)
    assert not java_regex(pattern).fullmatch(other)


@pytest.mark.parametrize("pattern", ["(", "[a-z&&[^b]]", r"\p{Nonsense}", r"\Ga"])
def test_refuses_what_it_cannot(pattern: str) -> None:
    with pytest.raises(ConfigError, match="Invalid regular expression"):
        java_regex(pattern)
