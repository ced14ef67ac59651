"""Rates and lag computed from samples of offsets, and their charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.metrics import offset_rates
from tui.metrics.offset_rates import SampleHistory
from tui.widgets.plot import peak, plot, short, spark

if TYPE_CHECKING:
    from tui.client.responses import DetailedOffset, OffsetsResponse


def sink(position: int, detail: DetailedOffset | None = None) -> OffsetsResponse:
    partition = {"kafka_topic": "t", "kafka_partition": 0}
    return {"offsets": [{**(detail or {}), "partition": partition, "offset": {"kafka_offset": position}}]}


def test_the_rate_of_a_commit_covers_the_time_since_the_previous_commit() -> None:
    points = [(0.0, 0.0), (2.0, 0.0), (4.0, 400.0), (6.0, 400.0), (8.0, 800.0)]
    assert offset_rates.rates(points) == [None, 100.0, 100.0, 100.0, 100.0]


def test_the_rate_is_zero_after_an_interval_without_commits() -> None:
    points = [(float(at), 100.0 if at else 0.0) for at in range(0, 10, 2)]
    assert offset_rates.rates(points) == [None, 50.0, 0.0, 0.0, 0.0]
    assert offset_rates.rates(points[:3])[-1] is None, "the next commit may still arrive"


def test_a_decrease_of_the_offset_has_no_rate() -> None:
    assert offset_rates.rates([(0.0, 100.0), (2.0, 50.0), (4.0, 70.0)]) == [None, None, 10.0]
    assert offset_rates.rates([]) == [] and offset_rates.rates([(0.0, None), (1.0, 3.0)]) == [None, None]


def test_samples_of_apaches_and_of_headrace_workers() -> None:
    history = SampleHistory()
    history.add(offset_rates.sample(0.0, sink(10), {0: "t-0"}))
    history.add(offset_rates.sample(2.0, sink(30, {"end": 50, "lag": {"records": 20, "ms": 1500}}), {0: "t-0"}))
    assert history.rate == history.rate_of("t-0") == 10.0
    assert history.lags() == [None, 20.0]
    assert history.last is not None and history.last.behind_ms == 1500
    assert offset_rates.unit(sink(1)) == "records"
    assert offset_rates.unit({"offsets": [{"partition": {"filename": "x"}, "offset": {"position": 1}}]}) == "bytes"
    assert offset_rates.unit({"offsets": []}) == offset_rates.unit({}) == "positions"


def test_positions_of_connectors_with_their_own_offset_format() -> None:
    assert offset_rates.position({"lsn": 7, "snapshot": True}) == 7.0
    assert offset_rates.position({"text": "x"}) is None and offset_rates.position(None) is None


def test_charts_of_rates() -> None:
    assert spark([None, 0.0, 4.0, 8.0], 6) == "  ·▁▄█"
    assert plot([1.0, 2.0], 3, 2) == ["  █", " ██"]
    assert plot([], 4, 1) == ["    "] and peak([None]) == 0.0
    assert [short(number) for number in (None, 0.25, 12, 12_345, 3_400_000)] == ["–", "0.2", "12", "12.3k", "3.4M"]
