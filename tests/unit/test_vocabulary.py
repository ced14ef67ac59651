"""Each thing has one name (docs/contributing.md): the names that were replaced do not come back."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# By half: the words that are no identifiers there, with what to write instead.
GONE = {
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


def words(source: str) -> set[str]:
    """The identifiers of a module, those in f-strings of Python before 3.12 left out."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME}


@pytest.mark.parametrize("half", GONE)
def test_replaced_names_do_not_come_back(half: str) -> None:
    found = {
        f"{path}: {word}: write {GONE[half][word]}"
        for file in (ROOT / half).rglob("*.py")
        for word in words(file.read_text()) & GONE[half].keys()
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
