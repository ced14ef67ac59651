"""Similar names for unknown ones."""

from __future__ import annotations

import pytest

from tui.errors import UsageError
from tui.formatting import did_you_mean
from tui.script.grammar import parse


def test_similar_names() -> None:
    known = ["orders-sink", "Orders-Source", "stock"]
    assert did_you_mean("ordres-sink", known) == "did you mean orders-sink?"
    assert did_you_mean("orders-sorce", known) == "did you mean Orders-Source?"
    assert did_you_mean("xyz", known) == "" and did_you_mean("x", ()) == ""


def test_an_unknown_option_is_answered_with_a_similar_one() -> None:
    with pytest.raises(UsageError, match=r"unknown option --dryrun.*did you mean --dry-run"):
        parse("stop a --dryrun")
    with pytest.raises(UsageError, match=r"unknown option --xyz \(usage: stop connector"):
        parse("stop a --xyz")
