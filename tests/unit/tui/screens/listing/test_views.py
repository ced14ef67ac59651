"""Saved views, and their file."""

from __future__ import annotations

from pathlib import Path

from tui.screens.listing.ordering import ListOrder
from tui.screens.listing.views import View, load, store


def test_views_belong_to_a_cluster(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    mine = {"a": View("state:failed", ListOrder("lag", True)), "b": View("")}
    assert store("prod", mine, environ) == "" and store("test", {}, environ) == ""
    assert load("prod", environ) == mine and load("test", environ) == {}
    assert mine["a"].text == "state:failed, sorted by lag reverse" and mine["b"].text == "all connectors"


def test_a_damaged_file_has_no_views(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    store("prod", {"a": View("x")}, environ)
    (file,) = tmp_path.glob("headrace/views.json")
    for text in ("", "[]", '{"prod": 7}', '{"prod": {"a": 7}}'):
        file.write_text(text, "utf-8")
        assert load("prod", environ) == {}
