"""What happens in the runs of a simulation, and how often. A kind that never happens is not tested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tests.simulation.faults import KINDS

REQUESTS = (
    "POST connectors", "POST connectors initial_offsets", "POST connectors initial_state", "PUT config", "PATCH config",
    "DELETE connector", "PUT pause", "PUT resume", "PUT stop", "POST restart",
    "POST task restart", "PATCH offsets", "DELETE offsets",
)  # fmt: skip

EXPECTED = (
    *(f"fault: {kind}" for kind in KINDS),
    *(f"{request}: acknowledged" for request in REQUESTS),
    *(f"{verb} acknowledged" for verb in ("cordon", "drain", "uncordon")),
    *(f"run with {count} workers" for count in (3, 4, 5)),
    *(f"start of a task: {kind}" for kind in ("exactly-once", "source", "sink")),
    *(f"start of a task: {kind} with an own offset topic" for kind in ("exactly-once", "source")),
    "task failed", "task handed back", "task revoked",
    "rebalance", "leader change", "member removed: left", "member removed: session expired",
    "worker of an older version",
    "worker killed or frozen between two callbacks", "one-way partition", "message held by a partition",
    "request lost", "response of a worker lost", "response of Kafka lost", "request repeated by its client",
    "request REFUSED", "request UNKNOWN",
    "producer fenced", "transaction aborted by the next producer", "transaction timed out",
    "write to a full log", "write of a leader", "record removed by compaction",
)  # fmt: skip


class Coverage:
    """The counts of many runs."""

    def __init__(self) -> None:
        self.runs = 0
        self._total: Counter[str] = Counter()
        self._with: Counter[str] = Counter()

    def add(self, counts: Mapping[str, int]) -> None:
        """The counts of one run."""
        self.runs += 1
        self._total.update(counts)
        self._with.update(kind for kind, count in counts.items() if count)

    @property
    def missing(self) -> list[str]:
        """What has never happened."""
        return [kind for kind in EXPECTED if not self._with[kind]]

    def table(self) -> str:
        """One line for each kind: how often it happened, and in what share of the runs."""
        kinds = sorted({*EXPECTED, *self._total})
        lines = [f"{self._total[kind]:9} {self._with[kind] / self.runs:6.1%}  {kind}" for kind in kinds]
        return "\n".join(["    times   runs", *lines])
