"""The grammar of commands: words as in a shell, unquoted JSON, options in any position."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tui.commands.arguments import Argument, choice
from tui.commands.base import FORMATS, Command
from tui.commands.registry import find
from tui.errors import UsageError, naming
from tui.formatting import did_you_mean

# JSON begins with `{`, or with `[` and the start of a JSON value that cannot be a glob such as [ab]*.
_JSON = re.compile(r'\{|\[\s*(?:[{\["\]]|$)')
# Hyphens, dashes and minus signs that editors and chats put in the place of `-`.
_OTHER_DASH = re.compile("[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]")
_PLAIN = re.compile(r"""[^\s'"\\]+""")
_decode = json.JSONDecoder().raw_decode


def split(line: str) -> list[str]:
    """The words of a line. A word that starts with `#` begins a comment. Unquoted JSON is one word; invalid JSON
    extends to the end of the line, so that the command can report its error. Raises UsageError."""
    words: list[str] = []
    at = 0
    while True:
        while at < len(line) and line[at].isspace():
            at += 1
        if at == len(line) or line[at] == "#":
            return words
        if _JSON.match(line, at):
            text, at = _json_word(line, at)
        else:
            text, at = _shell_word(line, at)
        words.append(text)


def _json_word(line: str, at: int) -> tuple[str, int]:
    try:
        _, end = _decode(line, at)
    except ValueError:
        end = len(line)
    if end < len(line) and not line[end].isspace():
        end = len(line)
    return line[at:end].rstrip(), end


def _shell_word(line: str, at: int) -> tuple[str, int]:
    parts: list[str] = []
    while at < len(line) and not line[at].isspace():
        char = line[at]
        if char == "\\":
            if at + 1 == len(line):
                raise UsageError("the line ends with a backslash, but a command cannot span lines")
            parts.append(line[at + 1 : at + 2])
            at += 2
        elif char in "'\"":
            text, at = _quoted(line, at)
            parts.append(text)
        else:
            plain = _PLAIN.match(line, at)
            assert plain is not None
            parts.append(plain.group())
            at = plain.end()
    return "".join(parts), at


def _quoted(line: str, at: int) -> tuple[str, int]:
    """A quoted part. In double quotes, a backslash escapes a quote or a backslash; in single quotes, nothing does."""
    quote, start, parts = line[at], at + 1, []
    at = start
    while at < len(line) and line[at] != quote:
        if quote == '"' and line[at] == "\\" and line[at + 1 : at + 2] in ('"', "\\"):
            at += 1
        parts.append(line[at : at + 1])
        at += 1
    if at >= len(line):
        raise UsageError(f"missing closing quote: {line[start - 1 :]}")
    return "".join(parts), at + 1


def parse(line: str) -> Command | None:
    """The command of a line; None for a blank line or a comment. Raises UsageError."""
    words = split(line)
    return command_of(words) if words else None


def command_of(words: Sequence[str]) -> Command:
    """The command of words that are already split. Raises UsageError."""
    try:
        kind, verb_words = find(tuple(words))
        with naming(kind.verb):
            try:
                values = arguments_of(kind.arguments(), words[verb_words:])
            except UsageError as error:
                error.advice = error.advice or f"usage: {kind.usage()}"
                kind.adapt(error)
                raise
            command = kind(**values)
    except UsageError as error:
        error.form = form_of(words)
        raise
    command.typed = " ".join(words[:verb_words])
    return command


def form_of(words: Sequence[str]) -> str | None:
    """The format that -o names, even if the command is invalid."""
    by_flag = dict.fromkeys(Command.output.flags, Command.output)
    for word, following in zip(words, (*words[1:], ""), strict=True):
        with suppress(UsageError):
            _, attached = _option(word, by_flag)
            return str(choice(*FORMATS)(following if attached is None else attached))
    return None


def arguments_of(declared: dict[str, Argument[Any]], words: Sequence[str]) -> dict[str, Any]:
    """The given values by the keys of their arguments. Raises UsageError."""
    by_flag = {flag: argument for argument in declared.values() for flag in argument.flags}
    values: dict[str, Any] = {}
    positional: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            positional += rest
            break
        if word == "-" or not word.startswith("-"):
            _refuse_other_dashes(word)
            positional.append(word)
            continue
        argument, given = _option(word, by_flag)
        if argument.convert is None:
            if given is not None:
                raise UsageError(f"{argument.flags[0]} takes no value")
            values[argument.key] = True
            continue
        if given is None:
            if not rest:
                raise UsageError(f"{word} needs a value: {argument.metavar}")
            given = rest.pop(0)
        _put(values, argument, given)
    _place(values, [argument for argument in declared.values() if not argument.flags], positional)
    return values


def _refuse_other_dashes(word: str) -> None:
    """An option of a copied line, such as `—dry-run`, must not count as a name while the command runs without it."""
    if _OTHER_DASH.match(word):
        raise UsageError(
            f"{word!r} begins with a dash (U+{ord(word[0]):04X}) that is not the `-` of options",
            "type it again, or put `--` before a name that begins so",
        )


def _option(word: str, by_flag: dict[str, Argument[Any]]) -> tuple[Argument[Any], str | None]:
    """The option of `-o`, `-ojson`, `--output` or `--output=json`, with its attached value."""
    name, equals, value = word.partition("=")
    if name in by_flag:
        return by_flag[name], value if equals else None
    short = by_flag.get(word[:2]) if not word.startswith("--") else None
    if short is not None and short.convert is not None:
        return short, word[2:]
    raise UsageError(f"unknown option {name}", did_you_mean(name, [known for known in by_flag if len(known) > 2]))


def _put(values: dict[str, Any], argument: Argument[Any], text: str) -> None:
    assert argument.convert is not None
    try:
        value = argument.convert(text)
    except UsageError as error:
        name = argument.flags[0] if argument.flags else argument.metavar
        raise UsageError(f"{name}: {error.message}", error.advice) from None
    values[argument.key] = (*values.get(argument.key, ()), value) if argument.many else value


def _place(values: dict[str, Any], places: list[Argument[Any]], words: list[str]) -> None:
    """Assigns the positional words in the order of declaration; a repeatable argument gets all spare words."""
    spare = len(words) - sum(place.at_least for place in places)
    if spare < 0:
        missing = [place.metavar for place in places if place.at_least][len(words) :]
        raise UsageError(f"missing {' and '.join(missing)}")
    left = list(words)
    for place in places:
        count = place.at_least
        if spare > 0:
            extra = spare if place.many else int(not place.at_least)
            count, spare = count + extra, spare - extra
        for word in left[:count]:
            _put(values, place, word)
        del left[:count]
    if left:
        raise UsageError(f"too many arguments: {' '.join(left)}")
