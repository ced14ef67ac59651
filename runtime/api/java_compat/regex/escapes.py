"""Escape sequences, in expressions and in character classes."""

from __future__ import annotations

import unicodedata

from runtime.api.java_compat.regex import properties
from runtime.api.java_compat.regex.cursor import Cursor

_CHARACTERS = {"a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HORIZONTAL = r"\x20\t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
VERTICAL = r"\n-\r\x85\u2028\u2029"
_SETS = {"d": "0-9", "w": "a-zA-Z_0-9", "s": r"\t-\r\x20", "h": _HORIZONTAL, "v": VERTICAL}
_UNICODE_SETS = {"d": properties.DIGIT, "w": properties.WORD, "s": properties.WHITE_SPACE}
_HEX = frozenset("0123456789abcdefABCDEF")
_OCTAL = frozenset("01234567")


def literal(char: str) -> str:
    """A literal character, for use inside and outside of sets."""
    if char.isascii() and char.isalnum():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def character_set(letter: str, cursor: Cursor) -> str | None:
    r"""The set of \d, \W, \s and similar escapes; None for other letters."""
    lower = letter.lower()
    if lower not in _SETS:
        return None
    inner = (_UNICODE_SETS if "U" in cursor.flags and lower in _UNICODE_SETS else _SETS)[lower]
    return f"[{inner}]" if letter == lower else f"[^{inner}]"


def character(letter: str, cursor: Cursor) -> str | None:
    """The character of an escape, which is read to its end; None for other escapes."""
    if letter in _CHARACTERS:
        return _CHARACTERS[letter]
    if letter == "0":
        return _octal(cursor)
    if letter == "x":
        return _hexadecimal(cursor)
    if letter == "u":
        return _utf16(cursor)
    if letter == "c":
        return _control(cursor)
    if letter == "N":
        return _named(cursor)
    return None if letter.isascii() and letter.isalnum() else letter


def family(cursor: Cursor) -> str:
    r"""The set of \p{…} or \P{…}; the cursor is at the p."""
    complement = cursor.raw() == "P"
    if cursor.next() == "{":
        cursor.next()
        name = _braced(cursor)
    else:
        name = cursor.raw()
        cursor.read()
    characters = _property(name, cursor)
    return f"[^{characters}]" if complement else characters


def _braced(cursor: Cursor) -> str:
    start = cursor.at
    while cursor.peek() != "}" and not cursor.ended:
        cursor.at += 1
    name = "".join(cursor.chars[start : cursor.at])
    closed = not cursor.ended
    cursor.at += 1
    if not closed:
        raise cursor.error("Unclosed character family")
    if not name:
        raise cursor.error("Empty character family")
    return name


def _property(name: str, cursor: Cursor) -> str:
    ignore_case = "i" in cursor.flags
    key, equals, value = name.partition("=")
    if equals:
        characters = properties.named_value(key.lower(), value, ignore_case)
        if characters is None:
            raise cursor.error(f"Unknown Unicode property {{name=<{key.lower()}>, value=<{value}>}}")
        return characters
    characters = properties.property_set(name, ignore_case, "U" in cursor.flags)
    if characters is None:
        raise cursor.error(f"Unknown character property name {{{name}}}")
    return characters


def _octal(cursor: Cursor) -> str:
    digits = ""
    while len(digits) < 3:
        char = cursor.read()
        if char not in _OCTAL or (len(digits) == 2 and digits[0] > "3"):
            if not digits:
                raise cursor.error("Illegal octal escape sequence")
            cursor.at -= 1
            break
        digits += char
    return chr(int(digits, 8))


def _hexadecimal(cursor: Cursor) -> str:
    first = cursor.read()
    if first in _HEX:
        second = cursor.read()
        if second in _HEX:
            return chr(int(first + second, 16))
    elif first == "{" and cursor.peek() in _HEX:
        code = 0
        while (char := cursor.read()) in _HEX:
            code = code * 16 + int(char, 16)
            if code > 0x10FFFF:
                raise cursor.error("Hexadecimal codepoint is too big")
        if char != "}":
            raise cursor.error("Unclosed hexadecimal escape sequence")
        return chr(code)
    raise cursor.error("Illegal hexadecimal escape sequence")


def _utf16(cursor: Cursor) -> str:
    high = _unit(cursor)
    if 0xD800 <= high < 0xDC00 and cursor.raw() == "\\" and cursor.raw(1) == "u":
        start = cursor.at
        cursor.at += 2
        low = _unit(cursor)
        if 0xDC00 <= low < 0xE000:
            return chr(0x10000 + ((high - 0xD800) << 10) + low - 0xDC00)
        cursor.at = start
    return chr(high)


def _unit(cursor: Cursor) -> int:
    code = 0
    for _ in range(4):
        char = cursor.read()
        if char not in _HEX:
            raise cursor.error("Illegal Unicode escape sequence")
        code = code * 16 + int(char, 16)
    return code


def _control(cursor: Cursor) -> str:
    if cursor.ended:
        raise cursor.error("Illegal control escape sequence")
    return chr(ord(cursor.read()) ^ 64)


def _named(cursor: Cursor) -> str:
    if cursor.read() != "{":
        raise cursor.error("Illegal character name escape sequence")
    start = cursor.at
    while cursor.read() != "}":
        if cursor.at >= cursor.length:
            raise cursor.error("Unclosed character name escape sequence")
    name = "".join(cursor.chars[start : cursor.at - 1])
    try:
        return unicodedata.lookup(name)
    except KeyError:
        raise cursor.error(f"Unknown character name [{name}]") from None
