"""Progress of connectors over the last hours, in memory: counts of records and lag, finer for the last minutes."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence

from runtime.herder.responses import ProgressPoint, ProgressResponse

RECENT_POINTS = 180
"""Points of a connector that are kept as they were reported: a quarter of an hour of steady progress."""
EARLIER_POINTS = 360
"""Points of a connector before those, at least a minute apart: six hours."""

_MINUTE = 60_000
_NONE = -1


class ProgressHistory:
    """The progress that this worker has reported. Event loop only.

    Connectors report only while records move. A point is added before the first report after a pause, so that records
    between two points were processed evenly over that time.
    """

    def __init__(self, every: float, max_points: int = 300_000) -> None:
        """`every`: seconds between two reports. `max_points`: of all connectors, 40 bytes each; connectors have fewer
        points each if there are many."""
        self._max_points = max_points
        self._every = int(every * 1000)
        self._recent: dict[str, _Points] = {}
        self._earlier: dict[str, _Points] = {}

    def add(self, name: str, time: int, progress: ProgressResponse) -> None:
        """Add the progress of a connector at a time in milliseconds since 1970."""
        lag = progress["lag"]["records"] if progress["lag"] is not None else _NONE
        point = (time, progress["read"], progress["written"], progress["failed"], lag)
        recent = self._recent.setdefault(name, _Points())
        last = recent.last
        if last is not None and time - last[0] > 3 * self._every // 2:
            recent.add((time - self._every, *last[1:]))
        recent.add(point)
        limit = self._max_points // len(self._recent)
        while len(recent) > min(RECENT_POINTS, limit):
            self._move(name, recent.pop_first(), min(EARLIER_POINTS, max(0, limit - RECENT_POINTS)))

    def _move(self, name: str, point: tuple[int, ...], limit: int) -> None:
        earlier = self._earlier.setdefault(name, _Points())
        last = earlier.last
        if last is None or point[0] - last[0] >= _MINUTE:
            earlier.add(point)
        while len(earlier) > limit:
            earlier.pop_first()

    def keep(self, names: Collection[str]) -> None:
        """Forget all other connectors."""
        for points in (self._recent, self._earlier):
            for name in points.keys() - set(names):
                del points[name]

    def of(self, name: str) -> list[ProgressPoint]:
        """The points of a connector, oldest first."""
        kept = [points[name] for points in (self._earlier, self._recent) if name in points]
        return [
            {"time": at, "read": read, "written": written, "failed": failed, "lag": None if lag == _NONE else lag}
            for points in kept
            for at, read, written, failed, lag in points
        ]


class _Points:
    """Rows of five whole numbers: time, read, written, failed and lag."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers = array("q")

    def __len__(self) -> int:
        return len(self._numbers) // 5

    def __iter__(self) -> Iterator[tuple[int, int, int, int, int]]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, place: int) -> tuple[int, int, int, int, int]:
        at, read, written, failed, lag = self._numbers[5 * place : 5 * place + 5]
        return at, read, written, failed, lag

    @property
    def last(self) -> tuple[int, int, int, int, int] | None:
        return self[len(self) - 1] if self._numbers else None

    def add(self, point: Sequence[int]) -> None:
        self._numbers.extend(point)

    def pop_first(self) -> tuple[int, int, int, int, int]:
        first = self[0]
        del self._numbers[:5]
        return first


def merged(histories: Sequence[Sequence[ProgressPoint]]) -> list[ProgressPoint]:
    """The points of one connector whose tasks run on several workers: the sums of their counts at each time."""
    some = [history for history in histories if history]
    if len(some) < 2:
        return list(some[0]) if some else []
    latest: dict[int, ProgressPoint] = {}
    points: list[ProgressPoint] = []
    for point, number in sorted(((p, n) for n, h in enumerate(some) for p in h), key=lambda item: item[0]["time"]):
        latest[number] = point
        lags = [part["lag"] for part in latest.values() if part["lag"] is not None]
        points.append({
            "time": point["time"],
            "read": sum(part["read"] for part in latest.values()),
            "written": sum(part["written"] for part in latest.values()),
            "failed": sum(part["failed"] for part in latest.values()),
            "lag": sum(lags) if lags else None,
        })  # fmt: skip
    return points


Elsewhere = Mapping[str, Mapping[str, Sequence[ProgressPoint]] | None]


def all_points(here: Sequence[ProgressPoint], elsewhere: Elsewhere) -> tuple[list[ProgressPoint], list[str]]:
    """The points of all workers, and the workers without a usable response; `elsewhere` has the responses by worker."""
    answered = [response["points"] for response in elsewhere.values() if response is not None]
    return merged([here, *answered]), sorted(worker for worker, response in elsewhere.items() if response is None)
