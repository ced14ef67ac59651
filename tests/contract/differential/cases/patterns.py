"""Regular expressions and replacements for RegexRouter, with the text as the topic."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.contract.differential.cases.data import Chance
from tests.contract.differential.cases.transforms import record, tested, transformed

Json = Any


def _words(text: str) -> list[str]:
    return text.split()


_TEXTS = ["", "a", "ab", "aab", "abc", "ABC", "topic", "a.b", "1", "٣", "é", "É", "_", " ", "a\n", "a\r\n", "\u0085",
          "\U0001f600", "ſ", "K", "aa", "aaaa", "{", "topic-1"]  # fmt: skip
_KNOWN = _words(r"""
    \0146 \08 \0477 \d+ \w+ \s \bx \Bx \p{L}+ \P{Digit} \p{IsAlphabetic} \p{javaLowerCase} \p{Lower}+ (?i)\p{Lower}+
    \p{IsLatin}+ \p{InGreek} \p{sc=Latin} \p{gc=Lu} \p{Foo} \p{} \p{L \pL (?i)ABC a(?-i)b (?i:A)b (?iu)É (?i)É
    (?U)\w+ (?x)a\ b (?s). . (?d). (?m)^a$ (?z) (?i \x{66} \x{110000} \x \u12 \cA \c \e \R \X+ \X \G \Gab a{2}{2}
    a{99999999999} a{2147483647} a{3,2} a{2 a{,3} {2} { ${topic} (?P<n>a) (?#c)a a** a?? a?+ ( ) [ ) \ (?<n>a)\k<n>
    (?<n>a)(?<n>b) \k<x> (?< (?<=a)b (?<=(?:a|b){1,2})c (?<=a{1,3})b (?>a|ab)c a++ a*+ab \1(a) \2(a) (a|b\1)+
    [a-z&&[^b]] [a-c&&b-d] [^a&&b] [a-z[0-9]] []a] [z-a] [a-\d] [\d-a] [a [^ [a&&] [&&a] \Q.\E \Qa..\E+ [\Q^]\E] a]b
    a}b \h \v \N{LATIN} \y $ ^a$ \Aa\Z a\z a|* a||b () (?:) \ud83d\ude00 topic(.*) (t)(o)p.* (?<name>t).*
""")
_REPLACEMENTS = ["<$0>", "$1", "x$1y", "${n}", "${name}-x", "\\$", "a", "$9", "$", "\\", "${x}", "${", "${}", "$12", ""]


def routed(pattern: str, replacement: str, topic: str) -> Json:
    return transformed("RegexRouter", {"regex": pattern, "replacement": replacement}, record(None, topic=topic))


def matched(pattern: str, topic: str) -> Json:
    return tested("TopicNameMatches", {"pattern": pattern}, record(None, topic=topic))


TABLE: list[Json] = [
    *(routed(pattern, "<$0>", topic) for n, pattern in enumerate(_KNOWN) for topic in _TEXTS[n % 3 :: 3]),
    *(routed("(?<n>t)(o)p.*", replacement, "topic") for replacement in _REPLACEMENTS),
    *(matched(pattern, "topic") for pattern in _KNOWN),
]

_PIECES = _words(r"""
    a b c ab 1 . - _ \d \w \s \D \W \S \b \B ^ $ \A \z \Z \R \X \h \v \. \\ \t \n \x41 \x{62} \0101 \u0061 \cA \e \1
    \2 \k<n> \p{L} \p{Lu} \P{Ll} \p{Lower} \p{Alpha} \p{IsAlphabetic} \p{javaLowerCase} \p{javaWhitespace}
    \p{IsLatin} \p{Punct} [a-c] [^a] [a-z&&[^b]] [abc&&b] [\d_] [^\w.] [a[bc]] [A-C1-3] \Qa.\E é É ß ſ K Ω ω # \E
    (?i) (?s) (?m) (?x) (?d) (?u) (?U) (?iu) (?-i) (?<=a) (?<!b) (?<=a|bc)
""")
_OPENINGS = ["(", "(?:", "(?=", "(?!", "(?>", "(?<n>", "(?i:", "(?-i:", "(?x:", "(?U:"]
_COUNTS = ["*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1,2}", "{0,1}", "{2,}", "{1,3}?", "{2}+", "{0}"]
_ODD = "(){}[]\\^$?*+|&-:,0129pPQExuikN#"  # characters that make a pattern invalid


def generated(random: Random, count: int) -> list[Json]:
    chance = Chance(random)
    return [
        routed(_spoilt(chance, _pattern(chance, 0)), chance.one(_REPLACEMENTS), _text(chance)) for _ in range(count)
    ]


def _pattern(chance: Chance, depth: int) -> str:
    found = ""
    for _ in range(chance.random.randint(1, 4)):
        roll = chance.random.random()
        if roll < 0.25 and depth < 2:
            found += chance.one(_OPENINGS) + _pattern(chance, depth + 1) + ")"
        else:
            found += "|" if roll < 0.32 else chance.one(_PIECES)
        found += chance.one(_COUNTS) if chance.random.random() < 0.3 else ""
    return found


def _spoilt(chance: Chance, pattern: str) -> str:
    """The pattern; one in five has a character inserted or replaced. Unbounded look-behinds are excluded."""
    if chance.random.random() < 0.8 or "(?<" in pattern:
        return pattern
    place = chance.random.randrange(len(pattern) + 1)
    return pattern[:place] + str(chance.one(_ODD)) + pattern[place + chance.random.randint(0, 1) :]


def _text(chance: Chance) -> str:
    if chance.random.random() < 0.3:
        return str(chance.one(_TEXTS))
    found: list[str] = [
        chance.one("aabbccABC1 ._-\n\r\tdéÉßſΩ\U0001f600\u2028") for _ in range(chance.random.randrange(6))
    ]
    return "".join(found)
