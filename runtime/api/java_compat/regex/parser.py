"""Translates patterns of java.util.regex.Pattern to equivalent patterns of the regex package."""

from __future__ import annotations

import re

from runtime.api.java_compat.regex import escapes, properties
from runtime.api.java_compat.regex.classes import character_class, single
from runtime.api.java_compat.regex.cursor import Cursor
from runtime.api.java_compat.regex.quantifiers import Fragment, alternatives, quantified, sequence

_LINE_ENDS = r"\n\r\x85\u2028\u2029"
_NOT_WITHIN_CRLF = r"(?<!\r(?=\n))"
_LETTERS = r"[\p{L}\p{Nd}_]"


def assertion(letter: str, cursor: Cursor) -> str | None:
    r"""The assertions \A, \G, \z, \Z, \b and \B; None for other escapes. Patterns are always matched from the
    start of a text, so \G equals \A."""
    if letter in "AG":
        return r"\A"
    if letter == "z":
        return r"\Z"
    if letter == "Z":
        return line_end(cursor.flags, False)
    return _boundary(letter, cursor) if letter in "bB" else None


def line_start(flags: frozenset[str]) -> str:
    """The start of the text, or of each line (flag m)."""
    if "m" not in flags:
        return r"\A"
    if "d" in flags:
        return r"(?:(?:\A|(?<=\n))(?!\Z))"
    return rf"(?:(?:\A|(?<=[{_LINE_ENDS}])){_NOT_WITHIN_CRLF}(?!\Z))"


def line_end(flags: frozenset[str], each: bool) -> str:
    """The end of the text, or of each line."""
    if "d" in flags:
        return r"(?=\n|\Z)" if each else r"(?=\n?\Z)"
    if each:
        return rf"(?:{_NOT_WITHIN_CRLF}(?=[{_LINE_ENDS}]|\Z))"
    return rf"(?:{_NOT_WITHIN_CRLF}(?=(?:\r\n|[{_LINE_ENDS}])?\Z))"


def any_character(flags: frozenset[str]) -> str:
    """The characters that a dot matches."""
    if "s" in flags:
        return r"[\x00-\U0010ffff]"
    return r"[^\n]" if "d" in flags else f"[^{_LINE_ENDS}]"


def _boundary(letter: str, cursor: Cursor) -> str:
    if letter == "b" and cursor.peek() == "{" and cursor.raw(1) == "g":
        raise cursor.error("Boundaries of grapheme clusters are not supported")
    word = properties.WORD if "U" in cursor.flags else _LETTERS
    if letter == "b":
        return rf"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
    return rf"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"


_FLAGS = frozenset("imsduxU")


_REFERENCE = re.compile(r"\(\?#(\d+)\)")  # placeholder until the number of groups is known


class PatternParser:
    """Translates one pattern."""

    def __init__(self, pattern: str) -> None:
        self._cursor = Cursor(pattern)
        self._groups = 0
        self._names: dict[str, int] = {}

    def translation(self) -> str:
        """The pattern for the regex package (version 1); PatternError if it is invalid in Java."""
        cursor = self._cursor
        text = self._alternatives().text
        if cursor.at != cursor.length:
            if cursor.peek() == ")":
                raise cursor.error("Unmatched closing ')'")
            raise cursor.error("Unexpected internal error")
        return _REFERENCE.sub(lambda match: self._reference_text(int(match[1])), text)

    def _reference_text(self, number: int) -> str:
        return rf"\g<{number}>" if number <= self._groups else "(?!)"

    def _alternatives(self) -> Fragment:
        branches = [self._sequence()]
        while self._cursor.peek() == "|":
            self._cursor.next()
            branches.append(self._sequence())
        return alternatives(branches)

    def _sequence(self) -> Fragment:
        fragments: list[Fragment] = []
        cursor = self._cursor
        while (char := cursor.peek()) not in "|)" and not (char == "\0" and cursor.ended):
            if char == "(":
                group = self._group()
                if group is not None:
                    fragments.append(group)
            elif char in "?*+":
                cursor.next()
                raise cursor.error(f"Dangling meta character '{char}'")
            else:
                fragments.append(quantified(self._atom(char), cursor))
        return sequence(fragments)

    def _atom(self, char: str) -> Fragment:
        cursor = self._cursor
        if char == "[":
            return Fragment(character_class(cursor), 1, 1)
        if char == "\\":
            cursor.at += 1
            return self._escape()
        if char == "{":  # as in Java: an empty expression with a quantifier
            return Fragment("", 0, 0)
        cursor.next()
        if char == "^":
            return Fragment(line_start(cursor.flags), 0, 0, zero_width=True)
        if char == "$":
            return Fragment(line_end(cursor.flags, "m" in cursor.flags), 0, 0, zero_width=True)
        if char == ".":
            return Fragment(any_character(cursor.flags), 1, 1)
        return Fragment(single(char, cursor), 1, 1)

    def _escape(self) -> Fragment:
        """An escape; the cursor is after the backslash."""
        cursor = self._cursor
        letter = cursor.raw()
        if letter in "pP":
            return Fragment(escapes.family(cursor), 1, 1)
        cursor.at += 1
        if letter in "123456789":
            return self._reference(int(letter))
        pattern = self._assertion(letter) or escapes.character_set(letter, cursor)
        if pattern is not None:
            return pattern if isinstance(pattern, Fragment) else Fragment(pattern, 1, 1)
        char = escapes.character(letter, cursor)
        if char is None:
            raise cursor.error("Illegal/unsupported escape sequence")
        return Fragment(single(char, cursor), 1, 1)

    def _assertion(self, letter: str) -> Fragment | None:
        r"""Escapes that are not a single character: \A, \b, \R, \k<name> and similar ones."""
        if letter == "k":
            return self._named_reference()
        if letter == "R":
            return Fragment(rf"(?:\r\n|[{escapes.VERTICAL}])", 1, 2)
        if letter == "X":
            return Fragment(r"\X", 1, 0, False)
        pattern = assertion(letter, self._cursor)
        return None if pattern is None else Fragment(pattern, 0, 0, zero_width=True)

    def _reference(self, number: int) -> Fragment:
        cursor = self._cursor
        while "0" <= cursor.peek() <= "9" and number * 10 + int(cursor.peek()) <= self._groups:
            number = number * 10 + int(cursor.read())
        return self._referring(number)

    def _referring(self, number: int) -> Fragment:
        return Fragment(f"(?i:(?#{number}))" if "i" in self._cursor.flags else f"(?:(?#{number}))", 0, None)

    def _named_reference(self) -> Fragment:
        cursor = self._cursor
        if cursor.read() != "<":
            raise cursor.error("\\k is not followed by '<' for named capturing group")
        name = self._name(cursor.read())
        if name not in self._names:
            raise cursor.error(f"named capturing group <{name}> does not exist")
        return self._referring(self._names[name])

    def _name(self, char: str) -> str:
        cursor = self._cursor
        if not (char.isascii() and char.isalpha()):
            raise cursor.error("capturing group name does not start with a Latin letter")
        name = ""
        while char.isascii() and char.isalnum():
            name += char
            char = cursor.read()
        if char != ">":
            raise cursor.error("named capturing group is missing trailing '>'")
        return name

    def _group(self) -> Fragment | None:
        """A group with its quantifier; None for flags that apply from here on."""
        cursor = self._cursor
        flags = cursor.flags
        if cursor.next() != "?":
            group: Fragment | None = self._capturing()
        else:
            kind = cursor.raw(1)
            cursor.at += 2
            group = self._special(kind)
        if group is None:
            return None
        cursor.expect(")", "Unclosed group")
        cursor.flags = flags
        return quantified(group, cursor, group=True)

    def _capturing(self, name: str = "") -> Fragment:
        self._groups += 1
        inner = self._alternatives()
        return inner._replace(text=f"({f'?P<{name}>' if name else ''}{inner.text})")

    def _special(self, kind: str) -> Fragment | None:
        if kind in ":>":
            inner = self._alternatives()
            return inner._replace(text=f"(?{kind}{inner.text})")
        if kind in "=!":
            return Fragment(f"(?{kind}{self._alternatives().text})", 0, 0, zero_width=True)
        if kind == "<":
            return self._behind_or_named()
        if kind in "$@":
            raise self._cursor.error("Unknown group type")
        self._cursor.at -= 1
        return self._flagged()

    def _behind_or_named(self) -> Fragment:
        cursor = self._cursor
        char = cursor.read()
        if char not in "=!":
            name = self._name(char)
            if name in self._names:
                raise cursor.error(f"Named capturing group <{name}> is already defined")
            self._names[name] = self._groups + 1
            return self._capturing(name)
        inner = self._alternatives()
        if inner.max_length is None:
            raise cursor.error("Look-behind group does not have an obvious maximum length")
        return Fragment(f"(?<{char}{inner.text})", 0, 0, zero_width=True)

    def _flagged(self) -> Fragment | None:
        cursor = self._cursor
        self._read_flags()
        char = cursor.read()
        if char == ")":
            return None
        if char != ":":
            raise cursor.error("Unknown inline modifier")
        inner = self._alternatives()
        return inner._replace(text=f"(?:{inner.text})")

    def _read_flags(self) -> None:
        cursor = self._cursor
        on = True
        char = cursor.peek()
        while char in _FLAGS or (char == "-" and on):
            if char == "-":
                on = False
            else:
                changed = {"U", "u"} if char == "U" else {char}
                cursor.flags = cursor.flags | changed if on else cursor.flags - changed
            char = cursor.next()
        if char == "c":
            cursor.next()
            raise cursor.error("Canonical equivalence is not supported")
