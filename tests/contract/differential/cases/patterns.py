"""Regular expressions, as `topics.regex`, RegexRouter and TopicNameMatches take them."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.contract.differential.cases.data import Chance

Json = Any


def matched(pattern: str, text: str) -> Json:
    return {"op": "regex", "pattern": pattern, "text": text}


TABLE: list[Json] = []

_PIECES = ["a", "b", ".", "\\d", "\\w", "[a-c]", "[^a]", "(a|b)", "(?:ab)", "\\s", "^", "$", "\\b", "x", "1", "\\."]
_COUNTS = ["", "", "", "*", "+", "?", "{2}", "{1,2}", "*?", "++"]


def generated(random: Random, count: int) -> list[Json]:
    chance = Chance(random)
    return [matched(_pattern(chance), _text(chance)) for _ in range(count)]


def _pattern(chance: Chance) -> str:
    return "".join(chance.one(_PIECES) + chance.one(_COUNTS) for _ in range(chance.random.randrange(1, 5)))


def _text(chance: Chance) -> str:
    return "".join(chance.one("aabbcx1 .-") for _ in range(chance.random.randrange(6)))
