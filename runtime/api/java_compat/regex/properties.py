r"""Java's character properties (\p{…}), as sets of the regex package."""

from __future__ import annotations

import re
from functools import cache

_CASED = r"[\p{Lu}\p{Ll}\p{Lt}]"
_ANY_CASE = r"[\p{Uppercase}\p{Lowercase}\p{Lt}]"
_ASCII_LETTERS = "[A-Za-z]"
_IGNORABLE = r"\x00-\x08\x0e-\x1b\x7f-\x9f\p{Cf}"

WHITE_SPACE = r"[\p{Z}\t-\r\x85]"
DIGIT = r"[\p{Nd}]"
WORD = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]"
_BLANK = r"[\p{Zs}\t]"
_GRAPH = r"[^\p{Z}\p{Cc}\p{Cs}\p{Cn}]"

_KINDS = {"L": "ultmo", "M": "nec", "N": "dlo", "Z": "slp", "C": "ncfos", "P": "dsecoif", "S": "mcko"}
_CATEGORIES = {kind + letter for kind, letters in _KINDS.items() for letter in ["", *letters]}

_ASCII = {
    "Lower": "[a-z]",
    "Upper": "[A-Z]",
    "ASCII": r"[\x00-\x7f]",
    "Alpha": _ASCII_LETTERS,
    "Digit": "[0-9]",
    "Alnum": "[A-Za-z0-9]",
    "Punct": r"[\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]",
    "Graph": r"[\x21-\x7e]",
    "Print": r"[\x20-\x7e]",
    "Blank": r"[\x20\t]",
    "Cntrl": r"[\x00-\x1f\x7f]",
    "XDigit": "[0-9a-fA-F]",
    "Space": r"[\t-\r\x20]",
    "L1": r"[\x00-\xff]",
    "all": r"[\x00-\U0010ffff]",
    "LC": _CASED,
    "LD": r"[\p{L}\p{Nd}]",
}

_JAVA = {
    "LowerCase": r"[\p{Lowercase}]",
    "UpperCase": r"[\p{Uppercase}]",
    "TitleCase": r"[\p{Lt}]",
    "Alphabetic": r"[\p{Alphabetic}]",
    "Ideographic": r"[\p{Ideographic}]",
    "Digit": DIGIT,
    "Defined": r"[\P{Cn}]",
    "Letter": r"[\p{L}]",
    "LetterOrDigit": r"[\p{L}\p{Nd}]",
    "JavaIdentifierStart": r"[\p{L}\p{Nl}\p{Sc}\p{Pc}]",
    "JavaIdentifierPart": rf"[\p{{L}}\p{{Nl}}\p{{Sc}}\p{{Pc}}\p{{Nd}}\p{{Mc}}\p{{Mn}}{_IGNORABLE}]",
    "UnicodeIdentifierStart": r"[\p{ID_Start}]",
    "UnicodeIdentifierPart": rf"[\p{{ID_Continue}}{_IGNORABLE}]",
    "IdentifierIgnorable": f"[{_IGNORABLE}]",
    "SpaceChar": r"[\p{Z}]",
    "Whitespace": r"[[\p{Z}\t-\r\x1c-\x1f]--[\xa0\u2007\u202f]]",
    "ISOControl": r"[\x00-\x1f\x7f-\x9f]",
    "Mirrored": r"[\p{Bidi_Mirrored}]",
}

_POSIX = {
    "ALPHA": r"[\p{Alphabetic}]",
    "LOWER": r"[\p{Lowercase}]",
    "UPPER": r"[\p{Uppercase}]",
    "SPACE": WHITE_SPACE,
    "PUNCT": r"[\p{P}]",
    "XDIGIT": r"[\p{Nd}\p{Hex_Digit}]",
    "ALNUM": r"[\p{Alphabetic}\p{Nd}]",
    "CNTRL": r"[\p{Cc}]",
    "DIGIT": DIGIT,
    "BLANK": _BLANK,
    "GRAPH": _GRAPH,
    "PRINT": rf"[[{_GRAPH}{_BLANK}]--[\p{{Cc}}]]",
}

_BINARY = {
    "ALPHABETIC": r"[\p{Alphabetic}]",
    "ASSIGNED": r"[\P{Cn}]",
    "CONTROL": r"[\p{Cc}]",
    "HEXDIGIT": r"[\p{Nd}\p{Hex_Digit}]",
    "IDEOGRAPHIC": r"[\p{Ideographic}]",
    "JOINCONTROL": r"[\u200c\u200d]",
    "LETTER": r"[\p{L}]",
    "LOWERCASE": r"[\p{Lowercase}]",
    "NONCHARACTERCODEPOINT": r"[\p{Noncharacter_Code_Point}]",
    "TITLECASE": r"[\p{Lt}]",
    "PUNCTUATION": r"[\p{P}]",
    "UPPERCASE": r"[\p{Uppercase}]",
    "WHITESPACE": WHITE_SPACE,
    "WORD": WORD,
}
_WITH_LINES = {"HEX_DIGIT", "JOIN_CONTROL", "NONCHARACTER_CODE_POINT", "WHITE_SPACE"}


def property_set(name: str, ignore_case: bool, unicode: bool) -> str | None:
    """The set of characters with a property; None if Java has no property of that name."""
    if name.startswith("In"):
        return _of_unicode("Block", name[2:])
    if name.startswith("Is"):
        short = name[2:]
        return (
            _unicode_property(short.upper(), ignore_case)
            or category_or_class(short, ignore_case)
            or _of_unicode("Script", short)
        )
    characters = _cased(_POSIX.get(name.upper()), name.upper(), ignore_case) if unicode else None
    return characters or category_or_class(name, ignore_case)


def named_value(name: str, value: str, ignore_case: bool) -> str | None:
    r"""The set of \p{name=value}."""
    if name in ("sc", "script"):
        return _of_unicode("Script", value)
    if name in ("blk", "block"):
        return _of_unicode("Block", value)
    return category_or_class(value, ignore_case) if name in ("gc", "general_category") else None


def category_or_class(name: str, ignore_case: bool) -> str | None:
    """A general category, a POSIX class in ASCII, or a method of java.lang.Character."""
    if ignore_case and name in ("Lu", "Ll", "Lt"):
        return _CASED
    if ignore_case and name in ("Lower", "Upper"):
        return _ASCII_LETTERS
    if name in _CATEGORIES:
        return rf"[\p{{{name}}}]"
    if name.startswith("java"):
        return _cased(_JAVA.get(name[4:]), name[4:].upper(), ignore_case)
    return _ASCII.get(name)


def _unicode_property(name: str, ignore_case: bool) -> str | None:
    plain = name.replace("_", "") if name in _WITH_LINES else name
    return _cased(_BINARY.get(plain) or _POSIX.get(name), name, ignore_case)


def _cased(characters: str | None, name: str, ignore_case: bool) -> str | None:
    cased = name in ("LOWER", "UPPER", "LOWERCASE", "UPPERCASE", "TITLECASE")
    return _ANY_CASE if characters and cased and ignore_case else characters


@cache
def _of_unicode(kind: str, value: str) -> str | None:
    if re.fullmatch("[A-Za-z_]+" if kind == "Script" else "[A-Za-z0-9][A-Za-z0-9 _-]*", value) is None:
        return None
    import regex

    characters = rf"[\p{{{kind}={value}}}]"
    try:
        regex.compile(characters, regex.V1)
    except regex.error:
        return None
    return characters
