"""Every path and every test of this repository that the documentation names exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_PATH = re.compile(r"(?<![\w/.-])(?:tui|runtime|tests|docs|themes)/[\w*./-]*[\w*]")
_MODULE = re.compile(r"(?<![\w/.-])(?:tui|runtime|tests)(?:\.[a-z_]+)+(?![\w(])")
_TEST = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_named_path_exists(document: Path) -> None:
    text = document.read_text("utf-8")
    assert [name for name in _names(text) if not list(ROOT.glob(name))] == []
    assert [f"{file}::{test}" for file, test in _TEST.findall(text) if not _has_test(ROOT / file, test)] == []
    assert [link for link in _LINK.findall(text) if not (document.parent / link).exists()] == []


def _names(text: str) -> Iterator[str]:
    yield from (found[0] for found in _PATH.finditer(text))
    for found in _MODULE.finditer(text):
        name = found[0].replace(".", "/")
        yield f"{name}*"


def _has_test(file: Path, test: str) -> bool:
    return file.exists() and re.search(rf"\bdef {test}\(", file.read_text("utf-8")) is not None
