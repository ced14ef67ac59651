"""The errors for HTTP statuses."""

from __future__ import annotations

from tui.errors import HeadraceError, error_line, refusal


def test_an_unknown_path_suggests_a_wrong_url() -> None:
    assert refusal(404, "HTTP 404 Not Found").advice == "is this the URL of a Connect worker?"
    assert refusal(404, "Connector a not found").advice == ""


def test_a_long_message_is_cut_with_an_ellipsis() -> None:
    assert error_line(HeadraceError("n" * 10**7)) == "n" * 7999 + "…"
