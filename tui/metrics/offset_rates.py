"""Rates and lag of a connector, sampled from its offsets; works with any Connect."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tui.client.shapes import Number

if TYPE_CHECKING:
    from tui.client.responses import DetailedOffset, LagResponse, OffsetsResponse

Json = Any
NUMBER = Number((int, float))
MAX_SAMPLES = 900  # for each connector: half an hour at one sample in two seconds


class PartitionSample(NamedTuple):
    """A sample of one partition; lag and age are None if the worker does not report them."""

    position: float | None
    end: int | None = None
    lag: int | None = None
    behind_ms: int | None = None  # sinks: how long ago the next record to be read was written
    age_ms: int | None = None  # sources: how long ago the position was written


class Sample(NamedTuple):
    """A sample of all partitions, by their text on the screen."""

    at: float
    places: Mapping[str, PartitionSample] = {}

    @property
    def total(self) -> float | None:
        known = [place.position for place in self.places.values() if place.position is not None]
        return sum(known) if known else None

    @property
    def lag(self) -> int | None:
        known = [place.lag for place in self.places.values() if place.lag is not None]
        return sum(known) if known else None

    @property
    def behind_ms(self) -> int | None:
        return max((place.behind_ms for place in self.places.values() if place.behind_ms is not None), default=None)


def sample(at: float, response: OffsetsResponse, shown: Mapping[int, str]) -> Sample:
    """A sample from an offsets response, detailed or not; `shown` has the text of each entry by its index."""
    entries = response.get("offsets") or ()
    return Sample(at, {shown[number]: _place(entry) for number, entry in enumerate(entries)})


def _place(entry: DetailedOffset) -> PartitionSample:
    lag: LagResponse = entry.get("lag") or {}
    return PartitionSample(
        position(entry.get("offset")), entry.get("end"), lag.get("records"), lag.get("ms"), entry.get("age_ms")
    )


def position(offset: Json) -> float | None:
    """The number that advances: a sink's offset, a file's position, or else the first number by name."""
    items = offset.items() if isinstance(offset, dict) else ()
    numbers = {key: value for key, value in items if NUMBER.misfit(value) is None}
    for key in ("kafka_offset", "position", "offset", *sorted(numbers)):
        if key in numbers:
            return float(numbers[key])
    return None


def unit(response: OffsetsResponse) -> str:
    """The unit of positions: records, bytes or positions."""
    offsets: list[DetailedOffset] = response.get("offsets") or [{}]
    offset, partition = offsets[0].get("offset"), offsets[0].get("partition")
    if isinstance(offset, dict) and "kafka_offset" in offset:
        return "records"
    if isinstance(partition, dict) and "filename" in partition:
        return "bytes"
    return "positions"


class SampleHistory:
    """The newest samples of one connector."""

    def __init__(self) -> None:
        self.samples: deque[Sample] = deque(maxlen=MAX_SAMPLES)

    def add(self, sample: Sample) -> None:
        self.samples.append(sample)

    @property
    def last(self) -> Sample | None:
        return self.samples[-1] if self.samples else None

    def rates(self) -> list[float | None]:
        return rates([(sample.at, sample.total) for sample in self.samples])

    def rate_of(self, key: str) -> float | None:
        """The newest rate of one partition."""
        points = [(sample.at, sample.places[key].position) for sample in self.samples if key in sample.places]
        return _newest(rates(points))

    @property
    def rate(self) -> float | None:
        return _newest(self.rates())

    @property
    def mean(self) -> float | None:
        """The mean rate over all stored samples."""
        known = [rate for rate in self.rates() if rate is not None]
        return sum(known) / len(known) if known else None

    def lags(self) -> list[float | None]:
        return [None if sample.lag is None else float(sample.lag) for sample in self.samples]


def rates(points: Sequence[tuple[float, float | None]]) -> list[float | None]:
    """Rates per second at each point. Offsets advance with each commit, so an advance counts for all the time since the
    previous one; after the last advance, the rate is 0 only if the pause exceeds the last interval by half."""
    values: list[float | None] = [None] * len(points)
    start, last_gap = 0, 0.0
    for number in range(1, len(points)):
        (at, now), (_, before) = points[number], points[number - 1]
        if now is None or before is None or now < before:  # reset, or set back: no rate
            start = number
        elif now > before:
            since = points[start]
            last_gap = at - since[0]
            rate = (now - (since[1] or 0.0)) / last_gap if last_gap > 0 and since[1] is not None else None
            values[start + 1 : number + 1] = [rate] * (number - start)
            start = number
    quiet = points[-1][0] - points[start][0] if points else 0.0
    if quiet > 1.5 * last_gap:
        values[start + 1 :] = [0.0] * (len(points) - start - 1)
    return values


def _newest(values: Iterable[float | None]) -> float | None:
    return next((value for value in reversed(list(values)) if value is not None), None)
