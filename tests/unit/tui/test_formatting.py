"""Messages on one line."""

from __future__ import annotations

from tui.formatting import joined_lines


def test_lines_of_a_message_are_joined_by_punctuation() -> None:
    message = "2 error(s):\nInvalid value a for b: no number\nMissing c.\nSee the endpoint\n"
    assert joined_lines(message) == "2 error(s): Invalid value a for b: no number; Missing c. See the endpoint"
    assert joined_lines("one") == "one"
    assert joined_lines("") == ""
