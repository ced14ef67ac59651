"""Pages of a topic in memory: each record once, whatever the gaps between offsets and the limits of a page are."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.topics.page_scan import Chunk, PageScan, Ranges, ReadLimits
from tui.topics.records import RecordPage, TopicRecord

END = 400  # of each partition
offsets = st.lists(st.integers(0, END - 1), unique=True, max_size=60)


def read(topic: dict[int, list[int]], ranges: Ranges, most: int) -> Chunk:
    """The records of these ranges; a partition with more than `most` is not finished."""
    found = {p: [n for n in topic[p] if start <= n < end] for p, (start, end) in ranges.items()}
    records = [TopicRecord("t", p, n, n, value=b"x" * 10) for p, numbers in found.items() for n in numbers[:most]]
    return Chunk(records, {p for p, numbers in found.items() if len(numbers) <= most})


@given(st.lists(offsets, min_size=1, max_size=3), st.booleans(), st.integers(1, 20), st.integers(1, 30))
def test_pages_have_each_record_once(parts: list[list[int]], is_older: bool, records: int, most: int) -> None:
    topic = {number: sorted(part) for number, part in enumerate(parts)}
    earliest, latest = dict.fromkeys(topic, 0), dict.fromkeys(topic, END)
    found, pages = list[TopicRecord](), 0
    edge: Mapping[int, int] = latest if is_older else earliest
    while True:
        scan = PageScan(RecordPage((), edge, edge, earliest, latest), ReadLimits(records), is_older, None)
        while ranges := scan.next_ranges():
            scan.take(ranges, read(topic, ranges, most))
        page = scan.page()
        assert len(page.records) <= records and not page.is_cut
        found += page.records
        pages += 1
        if not (page.has_older if is_older else page.has_newer):
            break
        edge = page.starts if is_older else page.ends
    assert sorted((one.partition, one.offset) for one in found) == [(p, n) for p in topic for n in topic[p]]
    assert pages <= len(found) // records + 1 + len(topic)


@pytest.mark.parametrize(
    ("limits", "scanned"),
    [
        pytest.param(ReadLimits(20, scanned=25, chunk=20), 40, id="records of a search"),
        pytest.param(ReadLimits(20, seconds=-1), 20, id="time"),
    ],
)
def test_a_page_ends_at_its_limits(limits: ReadLimits, scanned: int) -> None:
    empty = RecordPage((), {0: 0}, {0: 0}, {0: 0}, {0: END})
    scan = PageScan(empty, limits, False, lambda record: False)
    while ranges := scan.next_ranges():
        scan.take(ranges, read({0: list(range(END))}, ranges, END))
    assert (scan.page().is_cut, scan.page().scanned) == (True, scanned)


def test_a_slow_page_has_records_although_its_time_ended_within_the_first_range() -> None:
    empty = RecordPage((), {0: END}, {0: END}, {0: 0}, {0: END})
    scan = PageScan(empty, ReadLimits(300, seconds=-1), True, None)
    while ranges := scan.next_ranges():
        scan.take(ranges, read({0: list(range(END))}, ranges, 10))
    page = scan.page()
    assert page.is_cut and [record.offset for record in page.records] == list(range(END - len(page.records), END))
    assert page.records
