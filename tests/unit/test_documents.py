"""Every path of this repository that the documentation names exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_PATH = re.compile(r"(?<![\w/.-])(?:tui|runtime|tests|docs|themes)/[\w*./-]*[\w*]")
_MODULE = re.compile(r"(?<![\w/.-])(?:tui|runtime|tests)(?:\.[a-z_]+)+(?![\w(])")
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_named_path_exists(document: Path) -> None:
    text = document.read_text("utf-8")
    assert [name for name in _names(text) if not list(ROOT.glob(name))] == []
    assert [link for link in _LINK.findall(text) if not (document.parent / link).exists()] == []


def _names(text: str) -> Iterator[str]:
    yield from (found[0] for found in _PATH.finditer(text))
    for found in _MODULE.finditer(text):
        name = found[0].replace(".", "/")
        yield f"{name}*"
