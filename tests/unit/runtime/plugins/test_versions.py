"""Plugin versions and version ranges."""

from __future__ import annotations

import pytest

from runtime.api.errors import ConfigError
from runtime.plugins.versions import matches, mismatch


@pytest.mark.parametrize(
    ("wanted", "accepted"),
    [
        ("4.3.0", True),
        ("4.3", True),
        ("latest", True),
        ("LATEST", False),
        ("9.9", False),
        ("", False),
        ("[4.0,5.0)", True),
        ("(,4.3.0]", True),
        ("(,4.3.0)", False),
        ("(4.3.0,)", False),
        ("[4.3.0]", True),
        ("[1,2],[4,5]", True),
        ("[1,2)", False),
        ("[4.10,)", False),
    ],
)
def test_a_version_matches_a_range(wanted: str, accepted: bool) -> None:
    assert matches(wanted, "4.3.0") is accepted


def test_invalid_ranges_are_refused() -> None:
    with pytest.raises(ConfigError, match="Unbounded range"):
        matches("[4.0,", "4.3.0")


def test_a_prerelease_sorts_before_its_release() -> None:
    assert matches("(,4.3)", "4.3-rc1")


@pytest.mark.parametrize(("wanted", "shown"), [("9.9", "[9.9,9.9]"), ("", "[,]"), ("[1,2)", "[1,2)")])
def test_the_message_of_a_mismatch_names_range_and_versions(wanted: str, shown: str) -> None:
    message = f"Plugin P not found that matches the version range {shown}, available versions: [4.3.0]"
    assert mismatch("P", wanted, ["4.3.0"]) == message
