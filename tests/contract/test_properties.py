"""docs/properties.md is correct and covers every property of Connect."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract import property_table
from tests.contract.property_table import HONOURED, names

TESTS = Path(__file__).parents[1]
IN_PARTS = {
    "sasl.oauthbearer.assertion.": "unit/runtime/kafka/clients/oauth/test_tokens.py",
    "sasl.oauthbearer.": "unit/runtime/kafka/clients/oauth/test_tokens.py",
    "sasl.login.refresh.": "unit/runtime/kafka/clients/oauth/test_tokens.py",
}
"""Tests that name the properties of a prefix without it."""


def test_the_page_matches_the_definitions() -> None:
    assert property_table.PAGE.read_text() == property_table.page(), "run: python -m tests.contract.property_table"


def test_every_property_of_connect_is_in_the_page() -> None:
    listed = {line.split("`")[1] for line in property_table.PAGE.read_text().splitlines() if line.startswith("| `")}
    missing = {name for kind in names().values() for name in kind} - listed
    assert missing == set()


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_connectors_have_exactly_connects_keys(kind: str) -> None:
    assert set(property_table.connector_keys()[kind].keys) == set(names()[kind])


def test_at_least_a_third_of_the_worker_properties_is_supported() -> None:
    found = Counter(property_table.of_worker(name)[0] for name in names()["worker"])
    print(f"\n{dict(found)}")
    assert found[property_table.HONOURED] > len(names()["worker"]) / 3


def test_each_honoured_property_is_named_by_a_test() -> None:
    page = property_table.PAGE.read_text()
    honoured = {
        line.split("`")[1] for line in page.splitlines() if line.startswith("| `") and f"| {HONOURED} |" in line
    }
    assert honoured - set(_named(honoured)) == set()


def _named(properties: set[str]) -> Iterator[str]:
    """Those of the properties that a test names."""
    tables = {Path(property_table.__file__), Path(__file__)}
    sources = [f for f in TESTS.rglob("*") if f.suffix in (".py", ".java") and f not in tables]
    words = _words(sources)
    rests = {prefix: _words([TESTS / file]) for prefix, file in IN_PARTS.items()}
    for name in properties:
        if name in words or any(name.removeprefix(prefix) in rest for prefix, rest in rests.items()):
            yield name


def _words(files: list[Path]) -> set[str]:
    """The dotted words in these files, each also without its first parts, which may be the prefix of a client."""
    words = {word for file in files for word in re.findall(r"[\w.]+", file.read_text())}
    return {word[start:] for word in words for start in (0, *(dot.end() for dot in re.finditer(r"\.", word)))}
