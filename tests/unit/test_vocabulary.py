"""Words, identifiers and texts that the glossary in docs/contributing.md replaces do not return: each part of the tree
has its own list.

A word counts wherever it is not part of another one, so that `is_answered` has the word `answered`.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from pathlib import Path

import pytest

_CODE = re.compile(r"`[^`]*`")  # names in the documentation are those of the code
ROOT = Path(__file__).parents[2]
EVERYWHERE = {
    "anew": "again",
    "farewell": "leave",
    "fleet": "cluster, or group",
    "goodbye": "leave",
    "mend": "fix, or correct",
    "mended": "fixed, or corrected",
    "mends": "fixes, or corrects",
    "said": "reported",
    "somebody": "someone, or the user",
}
GONE = {
    "docs": EVERYWHERE
    | {
        "answer": "response",
        "answered": "served, or gets a response",
        "answers": "responses",
        "begun": "started",
        "heard": "received",
        "ink": "colour, or style",
        "narrate": "report",
        "nobody": "no user, or no client",
        "patience": "retry, or time limit",
        "told": "reported, or notified",
    },
    "runtime": EVERYWHERE | {"dial": "connect", "ink": "colour", "ledger": "log, or journal", "narrate": "report"},
    "tui": EVERYWHERE | {"ledger": "snapshot builder", "nobody": "no user, or no client", "told": "reported"},
}
# By half: the words that are no identifiers there, with what to write instead.
IDENTIFIERS_GONE = {
    "runtime": {
        "answer": "response", "answers": "responses", "found": "what it is: matches, …", "json_answer": "json_response",
        "one": "what it is",
    },
    "tui": {
        "answer": "response", "answers": "responses", "dial": "open_connection", "found": "what it is: matches, …",
        "heard": "the event: take_snapshot, last_seen, …", "ink": "style", "narrate": "report", "one": "what it is",
        "say": "report", "span": "format_duration", "tell": "set_…", "there": "what it is: existing, other, …",
        "unsay": "clear_report", "wrong": "problems, invalids, …",
    },
}  # fmt: skip
# A person's answer to a question; the colours of a theme's file; a match of `re`; the JSON of `diff` and its columns.
ALLOWED = {
    "answer": {"tui/screens/home/bulk_actions.py", "tui/screens/home/controller.py"},
    "ink": {"tui/appearance/themes.py"},
    "span": {"tui/screens/config/editor.py", "tui/topics/page_scan.py", "tui/widgets/chart.py"},
}
TEXTS_GONE = {
    "tui": ("NO ANSWER", "ANSWERED", "asking…", "records to go", "nothing fits", "no answer", "not answer"),
}


@pytest.mark.parametrize("part", GONE)
def test_words_that_were_replaced_do_not_return(part: str) -> None:
    pattern = re.compile(rf"(?<![A-Za-z])({'|'.join(GONE[part])})(?![A-Za-z])", re.IGNORECASE)
    returned = [
        f"{file.relative_to(ROOT)}:{number}: {word}; write {GONE[part][word.lower()]}"
        for file in _files(part)
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        for word in pattern.findall(_CODE.sub("", line) if part == "docs" else line)
    ]
    assert returned == []


def _files(part: str) -> list[Path]:
    if part == "docs":
        return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    return sorted((ROOT / part).rglob("*.py"))


def words(source: str) -> set[str]:
    """The identifiers of a module, those in f-strings of Python before 3.12 left out."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME}


@pytest.mark.parametrize("half", IDENTIFIERS_GONE)
def test_replaced_names_do_not_come_back(half: str) -> None:
    found = {
        f"{path}: {word}: write {IDENTIFIERS_GONE[half][word]}"
        for file in (ROOT / half).rglob("*.py")
        for word in words(file.read_text()) & IDENTIFIERS_GONE[half].keys()
        if (path := str(file.relative_to(ROOT))) not in ALLOWED.get(word, ())
    }
    assert found == set()


@pytest.mark.parametrize("half", TEXTS_GONE)
def test_replaced_texts_do_not_come_back(half: str) -> None:
    pattern = re.compile("|".join(map(re.escape, TEXTS_GONE[half])))
    found = {
        f"{file.relative_to(ROOT)}: {match[0]}"
        for file in (ROOT / half).rglob("*.py")
        for match in pattern.finditer(file.read_text())
    }
    assert found == set()


@pytest.mark.parametrize("half", ["runtime", "tui"])
def test_public_class_names_are_used_once(half: str) -> None:
    """See ARCHITECTURE.md."""
    names = Counter(
        node.name
        for file in (ROOT / half).rglob("*.py")
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []
