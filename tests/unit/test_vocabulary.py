"""Words that the glossary in docs/contributing.md replaces do not return: each part of the tree has its own list.

A word counts wherever it is not part of another one, so that `is_answered` has the word `answered`.
"""

from __future__ import annotations

import re
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
