"""The filter of the connector list."""

from __future__ import annotations

from tests.unit.tui.screens.builders import connector
from tui.screens.listing.filtering import matcher


def test_all_terms_have_to_match() -> None:
    one = connector("orders-sink", tasks=("FAILED",))
    assert all(
        matcher(text)(one) for text in ("", "ORD", "state:fail", "type:sink class:file", "-state:run", "worker:w:80")
    )
    assert not any(matcher(text)(one) for text in ("x", "state:run", "-sink", "type:source orders"))
