"""JAAS configurations, for Kafka's own parser and for the JDK's parser of files."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.contract.differential.cases.data import Chance

Json = Any


def _both(text: str) -> list[Json]:
    return [_case(text, False), _case(f"KafkaClient {{ {text} }};", True)]


def _case(text: str, file: bool) -> Json:
    return {"op": "jaas", "text": text, "file": file}


_MODULES = [
    'a.Plain required username="u" password="p";',
    "a.Plain required username='u' password='p\"q';",
    'a.Plain required password="a\\"b\\\\c\\n\\t\\101\\7\\477\\q";',
    "a.Plain REQUIRED password=abc-1_$.x;",
    "a.Plain required password=1abc;",
    "a.Plain required password=-a;",
    "a.Plain required password=a/b; x;\n",
    'a.Plain required // comment\n password="x" /* other; */ ;',
    "a.Plain required keyTab=/etc/x;",
    'a.Plain required password="two\nlines";',
    'a.Plain required password="a\\\nb";',
    "a.Plain required password=é€𝄞;",
    "a.Plain required password=a b=c;",
    "a.Plain required password=;",
    "a.Plain required password;",
    "a.Plain required",
    "a.Plain;",
    "",
    ";",
    "a.Plain perhaps x=y;",
    "a.Plain required x=y",
    "a.A required; b.B optional x=y;",
    '"a.Plain" required x="";',
    "a.Plain 'required' 'x'='y';",
    '"" required;',
    "1 required;",
    "a.Plain required a=b a=c;",
    'a.Plain required "unterminated',
    "a.Plain required x='y",
    "a.Plain required x=y; /* open",
    "a.Plain required x=y; /",
    "a.Plain required x=a*b;",
    "a.Plain required x=a:b;",
    "# comment\na.Plain required;",
    'a.Plain required x = "y" ;',
    "/\nhidden\na.Plain required;",
    'a.Plain required x="\\',
    "a.Plain required x=\u00a0y;",
    "a.Plain required x=\u0085y;",
]
_FILES = [
    "",
    "Other { a.B required; };",
    "KafkaClient { a.B required; }",
    "KafkaClient { a.B required; };;",
    "KafkaClient { }; Other { b.C required; };",
    "KafkaClient { a.B required; }; KafkaClient { a.C required; };",
    '"KafkaClient" { a.B required; };',
    'KafkaClient { a.B required x="a${/}b"; };',
    "{ a.B required; };",
    'KafkaClient { a.B required x="${{x}}"; };',
    'KafkaClient { a.B required x="${no.such}"; };',
    '// c\n/* c */ Kafka { a.B required; }; KafkaClient { a.B required debug=true\n y="z"; };',
]
TABLE: list[Json] = [case for text in _MODULES for case in _both(text)] + [_case(text, True) for text in _FILES]

_PIECES = (
    "a.B", "required", "optional", "x", "y", "=", "=", "=", ";", ";", '"v"', "'v'", '"', "'", "\\", "/", "//", "/*",
    "*/", "\n", " ", " ", " ", "1", "-", ".", "é", "\\n", "\\101", "*", "_", "$", "{", "}", "#", "\x80", "\xff",
)  # fmt: skip


def generated(random: Random, count: int) -> list[Json]:
    chance = Chance(random)
    return [case for _ in range(count // 2) for case in _both(_text(chance))]


def _text(chance: Chance) -> str:
    """A well-formed configuration with a few changes, which most parsers would read in different ways."""
    text = "a.B required x=\"1\" y='2' z=w;"
    for _ in range(chance.random.randint(0, 4)):
        at = chance.random.randrange(len(text) + 1)
        text = text[:at] + chance.one(_PIECES) + text[at + chance.random.randint(0, 1) :]
    return text
