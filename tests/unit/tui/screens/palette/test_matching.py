"""What the palette finds."""

from __future__ import annotations

from tui.screens.palette.matching import PaletteEntry, best, no_matches


def entry(title: str, kind: str = "key", detail: str = "", meaning: str = "", why_not: str = "") -> PaletteEntry:
    return PaletteEntry(title, kind, detail, lambda: None, meaning, why_not)


ENTRIES = [
    entry("trace", meaning="error exception why"),
    entry("dead letters", meaning="dlq failed records", why_not="no dead letter topic"),
    entry("orders-sink", "connector", "running, sink"),
    entry("old-orders", "connector", "failed, sink"),
    entry("borders", "topic", "read by old-orders"),
    entry("orders", "topic", "read by orders-sink"),
]


def found(query: str) -> list[str]:
    return [one.title for one in best(ENTRIES, query)]


def test_names_that_begin_with_the_query_come_first() -> None:
    assert found("orders") == ["orders", "orders-sink", "old-orders", "borders"]


def test_entries_are_found_by_meaning_and_by_kind() -> None:
    assert found("exception") == ["trace"] and found("dlq") == ["dead letters"] and found("dead") == ["dead letters"]
    assert found("topic orders") == ["orders", "borders"] and found("failed") == ["old-orders", "dead letters"]


def test_all_words_must_fit() -> None:
    assert found("orders sink") == ["orders-sink", "orders", "old-orders"] and found("orders xyz") == []


def test_letters_with_gaps_find_a_name() -> None:
    assert found("osink") == ["orders-sink"] and found("os") == []


def test_entries_that_do_not_work_are_found_only_by_a_query() -> None:
    assert "dead letters" not in found("") and len(found("")) == len(ENTRIES) - 1


def test_similar_names_are_offered_if_no_matches() -> None:
    assert no_matches(ENTRIES, "tracee") == "no matches for 'tracee'; did you mean trace?"
    assert no_matches(ENTRIES, "zzz") == "no matches for 'zzz'"
