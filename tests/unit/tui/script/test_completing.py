"""Hints under the prompt."""

from __future__ import annotations

from tui.script.completing import hint


def test_a_hint_is_cut_between_words() -> None:
    whole = hint("", ())
    cut = hint("", (), room=80)
    assert len(cut) <= 80 < len(whole)
    words, _, rest = cut.rpartition("  and ")
    assert whole.startswith(f"{words}  ") and rest.endswith(" more")
    assert int(rest.split()[0]) == len(whole.split("  ")) - len(words.split("  "))


def test_a_hint_that_fits_is_whole() -> None:
    assert hint("stop a", ("a1", "a2"), room=80) == "a1  a2"
