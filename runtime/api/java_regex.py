"""Java's regular expressions, for `topics.regex` and whatever else a Connect configuration matches with one."""

from __future__ import annotations

import re

from runtime.api.errors import ConfigError, IllegalArgumentError, NoSuchGroupError

_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": "\\x00-\\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": "!-/:-@\\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": " \\t",
    "Cntrl": "\\x00-\\x1f\\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": "\\s",
}
_NAMED = re.compile(r"\{(?P<name>[A-Za-z][A-Za-z0-9]*)\}")
_TOKEN = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)|\\p\{(?P<posix>\w+)\}|\(\?<(?P<group>[A-Za-z]\w*)>|\\k<(?P<back>\w+)>"
    r"|\\(?P<escape>[zZhG])|(?P<class>\[)|(?P<end>\])|\\.|.",
    re.DOTALL,
)


def translate(pattern: str) -> str:
    """The same expression as Python spells it. What Java alone has (nested classes, \\G) is refused."""
    parts: list[str] = []
    in_class = False
    for token in _TOKEN.finditer(pattern):
        kind, text = token.lastgroup, token.group()
        if kind == "class":
            if in_class:
                raise re.error("nested character classes are not supported")
            in_class = True
        elif kind == "end":
            in_class = False
        elif kind is not None:
            text = _special(kind, token.group(kind), in_class)
        parts.append(text)
    return "".join(parts)


def _special(kind: str, text: str, in_class: bool) -> str:
    if kind == "quoted":
        return re.escape(text)
    if kind == "posix":
        if text not in _POSIX:
            raise re.error(f"\\p{{{text}}} is not supported")
        return _POSIX[text] if in_class else f"[{_POSIX[text]}]"
    if kind == "group":
        return f"(?P<{text}>"
    if kind == "back":
        return f"(?P={text})"
    if text == "G":
        raise re.error("\\G is not supported")
    return {"z": "\\Z", "Z": "(?=\\n?\\Z)", "h": " \\t\\xa0" if in_class else "[ \\t\\xa0]"}[text]


def java_regex(pattern: str) -> re.Pattern[str]:
    """Compiled, to be used with fullmatch(); ConfigError when it is no regular expression."""
    try:
        return re.compile(translate(pattern))
    except re.error as error:
        raise ConfigError(f"Invalid regular expression {pattern}: {error}") from error


def fault(pattern: str, error: re.error) -> str:
    """What is wrong with an expression, in the words of Java's Pattern for the usual mistakes."""
    at, end = error.pos if error.pos is not None else -1, len(pattern)
    if error.msg in ("nothing to repeat", "multiple repeat"):
        said, index = f"Dangling meta character '{pattern[at : at + 1]}'", at
    elif error.msg == "unterminated character set":
        said, index = "Unclosed character class", end - 1
    elif error.msg == "missing ), unterminated subpattern":
        said, index = "Unclosed group", end
    elif error.msg == "unbalanced parenthesis":
        said, index = "Unmatched closing ')'", at - 1
    elif error.msg == "bad escape (end of pattern)":
        said, index = "Unexpected internal error", end
    elif error.msg.startswith("bad character range"):
        said, index = "Illegal character range", at + 2
    elif error.msg == "min repeat greater than max repeat":
        said, index = "Illegal repetition range", pattern.find("}", at)
    else:
        return str(error)
    near = f" near index {index}" if index >= 0 else ""
    return f"{said}{near}\n{pattern}" + (f"\n{' ' * index}^" if 0 <= index < end else "")


class Replacement:
    """What a match becomes, as Matcher.replaceFirst() reads it: `$1`, `${name}`, and a backslash before what is meant
    as it stands."""

    def __init__(self, text: str) -> None:
        self._text = text

    def expand(self, match: re.Match[str]) -> str:
        """The replacement of this match; IllegalArgumentError or NoSuchGroupError when it cannot be made."""
        text, parts, position = self._text, [], 0
        while position < len(text):
            char = text[position]
            if char == "\\":
                position += 1
                if position == len(text):
                    raise IllegalArgumentError("character to be escaped is missing")
                parts.append(text[position])
                position += 1
            elif char == "$":
                group, position = self._group(match, position + 1)
                parts.append(group or "")
            else:
                parts.append(char)
                position += 1
        return "".join(parts)

    def _group(self, match: re.Match[str], start: int) -> tuple[str | None, int]:
        text = self._text
        if named := _NAMED.match(text, start):
            if named["name"] not in match.re.groupindex:
                raise IllegalArgumentError(f"No group with name {{{named['name']}}}")
            return match[named["name"]], named.end()
        if not text[start : start + 1].isdigit():
            raise IllegalArgumentError("Illegal group reference: group index is missing")
        number, end = int(text[start]), start + 1
        if number > match.re.groups:
            raise NoSuchGroupError(f"No group {number}")
        while text[end : end + 1].isdigit() and number * 10 + int(text[end]) <= match.re.groups:
            number, end = number * 10 + int(text[end]), end + 1
        return match[number], end
