"""Java's regular expressions against recorded results of java.util.regex in Java 17 (java_regexes.jsonl)."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import pytest
import regex

from runtime.api.errors import ConfigError, ConnectError
from runtime.api.java_compat.regex import PatternError, Replacement, compiled, java_regex

ANSWERS = [json.loads(line) for line in Path(__file__).with_name("java_regexes.jsonl").read_text("utf-8").splitlines()]
TAKEN = [answer for answer in ANSWERS if "error" not in answer]
REFUSED = [answer for answer in ANSWERS if "error" in answer]


def _replaced(expression: regex.Pattern[str], replacement: str, text: str) -> list[Any]:
    found = expression.search(text)
    try:
        new = (
            text
            if found is None
            else text[: found.start()] + Replacement(replacement).expand(found) + text[found.end() :]
        )
    except ConnectError as error:
        return [None, f"{error.java_name}: {error}"]
    return [new]


def test_matches_and_replaces_as_java_does() -> None:
    wrong = []
    for answer in TAKEN:
        expression = compiled(answer["pattern"])
        for text, matches, *replaced in answer["texts"]:
            ours = [expression.fullmatch(text) is not None, *_replaced(expression, answer["replacement"], text)]
            if ours != [matches, *replaced]:
                wrong.append((answer["pattern"], text, matches, *replaced, ours))
    assert len(TAKEN) > 300
    assert not wrong


def test_refuses_the_same_expressions_as_java_with_the_same_messages() -> None:
    wrong = []
    for answer in REFUSED:
        try:
            compiled(answer["pattern"])
        except PatternError as error:
            if str(error) == answer["error"]:
                continue
        wrong.append(answer)
    assert len(REFUSED) > 100
    assert not wrong


@pytest.mark.parametrize("pattern", ["(", r"\p{Nonsense}", "(?c)a", r"\b{g}", "(" * 5000 + ")" * 5000])
def test_refuses_unsupported_expressions(pattern: str) -> None:
    with pytest.raises(ConfigError, match="Invalid regular expression"):
        java_regex(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("a{2147483647}", "aa", False), ("(a?){2147483647}", "aa", True), ("((a{60000}){60000})|b", "b", True),
        ("(((((a{20}){20}){20}){20}){20}){20}", "a", False), ("(?:a|){2000000}b", "aab", True),
    ],
)  # fmt: skip
def test_huge_repetitions_take_no_memory(pattern: str, text: str, matches: bool) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (compiled(pattern).fullmatch(text) is not None) is matches
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KB
