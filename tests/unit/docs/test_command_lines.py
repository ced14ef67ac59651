"""The command lines of the documents are valid, and the page of the console has every command with its options."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator
from itertools import product, takewhile
from pathlib import Path
from typing import Any

from tui.commands.base import Command
from tui.commands.registry import VERBS, find
from tui.errors import UsageError
from tui.main import DIRECT, RUNTIME_VERBS
from tui.options import cluster_options, leading_cluster_options, read_options
from tui.script.grammar import parse

ROOT = Path(__file__).parents[3]
DOCUMENTS = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
_LINE = re.compile(r"^(?: {4,}|)headrace ((?:.*\\\n)*.*)|`headrace ([^`\n]*)`", re.MULTILINE)
_QUOTED_OR_GAP = re.compile(r"""'[^']*'|"[^"]*"| {2,}""")


def test_command_lines_are_valid() -> None:
    wrong = []
    for document in DOCUMENTS:
        for line in _lines(document.read_text("utf-8")):
            try:
                _check(line)
            except UsageError as error:
                wrong.append(f"{document.relative_to(ROOT)}: headrace {' '.join(line)}: {error}")
    assert wrong == []


def _lines(text: str) -> Iterator[list[str]]:
    """The words of each line after `headrace`, up to the comment beside it or the rest of a shell's line."""
    for match in _LINE.finditer(text):
        line = re.sub(r"\s*\\\n\s*", " ", match[1] or match[2] or "")
        line = _QUOTED_OR_GAP.sub(lambda part: part[0] if part[0].strip() else " # ", line)
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        yield [word for word in takewhile(lambda word: word.strip("&|<>;"), words) if word != "…"]


def _check(words: list[str]) -> None:
    """Raises UsageError."""
    if not words or words[0] in (*RUNTIME_VERBS, "completion"):
        return
    if words == [verb := words[0]] and verb in DIRECT:  # the name of a command in a sentence
        return
    leading, rest = leading_cluster_options(words)
    if rest and (rest[0] in DIRECT or rest[0] == "config"):
        parse(shlex.join([rest[0], *cluster_options([*leading, *rest[1:]])[1]]))
        return
    for command in read_options(words).get("commands", ()):
        parse(command)


_COMMON = {"output", "dry_run", "yes", "regex", "settle", "reason", "stop"}  # in the text below the list
_ELSEWHERE = {"preview connector", "config set-context", "config import-kcctl"}  # preview.md, and the keys of contexts


def test_the_page_of_the_console_has_every_command_with_its_options() -> None:
    page = (ROOT / "docs/console.md").read_text("utf-8").partition("## Commands\n")[2].partition("### Scripts\n")[0]
    listed: defaultdict[type[Command], set[str]] = defaultdict(set)
    for item in _items(page):
        for words in _alternatives(item):
            kind, size = find(tuple(words))
            options = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(words[size:])))
            known = {flag for argument in kind.arguments().values() for flag in argument.flags}
            assert options <= known, (kind.verb, options - known)
            listed[kind] |= options
    assert {kind.verb for kind in listed} == VERBS.keys() - {"help"}
    for kind, options in listed.items():
        assert kind.verb in _ELSEWHERE or _missing(kind.arguments(), options) == [], kind.verb


def _items(page: str) -> Iterator[str]:
    block = re.sub(r"\n {12,}", " ", page)  # continued lines
    for line in re.findall(r"^ {4}(\S.*)$", block, re.MULTILINE):
        yield from re.sub(r" {3,}.*", "", line).split(" · ")


def _alternatives(item: str) -> Iterator[list[str]]:
    """`stop|pause connector NAME`: the words of both."""
    words = item.split()
    heads = [word.split("|") if re.fullmatch(r"[a-z|-]+", word) else [word] for word in words[:3]]
    for head in product(*heads):
        yield [*head, *words[3:]]


def _missing(arguments: dict[str, Any], listed: set[str]) -> list[str]:
    return [
        argument.flags[0]
        for key, argument in arguments.items()
        if argument.flags and key not in _COMMON and not listed & set(argument.flags)
    ]
