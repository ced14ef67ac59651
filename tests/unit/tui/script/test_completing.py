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


def test_the_hint_for_the_start_of_a_verb_is_that_of_its_only_completion() -> None:
    """`connector` may be omitted, so that `patch` alone would be `patch connector`."""
    assert hint("patch off", ()).startswith("patch offsets NAME")
    assert hint("patch orders", ("orders",)).startswith("patch connector NAME")
