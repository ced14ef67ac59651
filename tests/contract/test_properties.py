"""docs/properties.md is correct and covers every property of Connect."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.contract import property_table
from tests.contract.property_table import names


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
