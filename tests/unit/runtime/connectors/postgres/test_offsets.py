"""Offsets of PostgresCdcSource, and what a snapshot has seen."""

from __future__ import annotations

import pytest

from runtime.api.errors import ConnectError
from runtime.connectors.postgres.offsets import LogPosition, check_change, position_of
from runtime.connectors.postgres.views import SnapshotProgress, View


@pytest.mark.parametrize(
    ("xid", "seen"),
    [(99, True), (100, False), (101, True), (105, False), (109, True), (110, False), (4_000_000_000, True)],
)
def test_transactions_that_a_view_sees(xid: int, seen: bool) -> None:
    """The numbers of a view have 64 bits, those in the log 32; the last one here is of the cycle before."""
    cycle = 1 << 32
    view = View(f"{cycle + 100}:{cycle + 110}:{cycle + 100},{cycle + 105}", 1)
    assert view.sees(xid) is seen


def test_progress_through_its_text() -> None:
    progress = SnapshotProgress((View("5:9:7", 100, frozenset({"public.a"})),), False).with_view(View("20:30:", 200))
    progress = progress.with_tables(["public.b"])
    again = SnapshotProgress.parse(progress.text)
    assert again == progress
    assert (sorted(again.tables), again.until, again.is_complete) == (["public.a", "public.b"], 200, False)
    assert again.has_read("public.a", 6)
    assert not again.has_read("public.a", 7)
    assert not again.has_read("public.a", 25)
    assert again.has_read("public.b", 25)


def test_positions() -> None:
    assert position_of(None) is None
    assert position_of({"lsn_commit": 5}) == LogPosition(5)
    assert position_of({"lsn_commit": 5, "lsn": 3, "event": 4, "txId": 1}) == LogPosition(5, (3, 4))


@pytest.mark.parametrize(
    ("offset", "position"),
    [
        (
            {"lsn_proc": 20, "messageType": "COMMIT", "lsn_commit": 20, "lsn": 20, "txId": 7},
            LogPosition(20),
        ),
        (
            {"lsn_proc": 25, "messageType": "INSERT", "lsn_commit": 20, "lsn": 25, "txId": 8},
            LogPosition(20),
        ),
        ({"lsn_proc": 25, "messageType": "INSERT", "lsn_commit": None, "lsn": 25, "txId": 8}, LogPosition(25)),
        ({"snapshot": "INITIAL", "last_snapshot_record": True, "lsn": 9, "txId": 7, "ts_usec": 1}, LogPosition(9)),
        ({"snapshot": "INITIAL", "last_snapshot_record": False, "lsn": 9, "txId": 7, "ts_usec": 1}, None),
    ],
)
def test_offsets_of_debezium(offset: dict[str, object], position: LogPosition | None) -> None:
    assert position_of(offset) == position


@pytest.mark.parametrize(
    "offset", [{"lsn": 1}, {"lsn_commit": "x"}, {"lsn_commit": -1}, {"lsn_commit": 1, "snapshot": "{"}]
)
def test_invalid_offsets(offset: dict[str, object]) -> None:
    with pytest.raises(ConnectError, match="The offset"):
        check_change("shop", {"server": "shop"}, offset)


def test_the_partition() -> None:
    check_change("shop", {"server": "else"}, None)
    with pytest.raises(ConnectError, match=r"The partition of this connector is \{'server': 'shop'\}"):
        check_change("shop", {"server": "else"}, {"lsn_commit": 1})
