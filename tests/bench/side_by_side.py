"""Apache Kafka Connect and Headrace side by side: the same connectors on one broker, medians, ratios.

python -m tests.bench.side_by_side [--only source,sink,…] [--runs 3] [--rows 1000000] [--side ours|java]
    [--bootstrap HOST:PORT] [--dry]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench import avro, files, idle, jdbc, latency, life, queries, report, takeover, throughput
from tests.bench.java import connectors as java_connectors
from tests.bench.java import fleet
from tests.bench.sides import JAVA, OURS, Bench, Refused, median
from tests.support.broker import EmbeddedBroker, KafkaBroker
from tests.support.connect import Connect

Found = dict[str, float]
Measure = Callable[[Bench, str, int], "Found"]
"""Figures of one side by key; the number is that of the runs whose median counts."""


def _several(measure: Callable[[Bench, Connect], Found], once: bool = False) -> Measure:
    def run(bench: Bench, side: str, runs: int) -> Found:
        with bench.running(side) as connect:
            return _medians([measure(bench, connect) for _ in range(1 if once else runs)])

    return run


def _exactly_once(bench: Bench, side: str, runs: int) -> Found:
    with bench.running(side, {"exactly.once.source.support": "enabled"}) as connect:
        return _medians([throughput.source_exactly_once(bench, connect) for _ in range(runs)])


def _starts(bench: Bench, side: str, runs: int) -> Found:
    return _medians([life.starts(bench, side) for _ in range(runs)])


def _idle(bench: Bench, side: str, runs: int) -> Found:
    return {**idle.started(bench, side), **_several(idle.idle, True)(bench, side, runs)}


def _takeover(bench: Bench, side: str, runs: int) -> Found:
    return _medians([takeover.takeover(bench, side) for _ in range(runs)])


def _medians(found: list[Found]) -> Found:
    return {key: median([one[key] for one in found]) for key in found[0]}


ONCE = ("list", "idle", "java-memory", "fleet")
"""Rows of a single run, whose figures are medians or means of many measurements."""

ROWS: dict[str, Measure] = {
    "source": _several(throughput.source),
    "source-eos": _exactly_once,
    "sink": _several(throughput.sink),
    "source-smt": _several(throughput.source_smt),
    "sink-smt-1": _several(throughput.sink_smt(1)),
    "sink-smt-2": _several(throughput.sink_smt(2)),
    "sink-maps": _several(throughput.sink_maps),
    "source-avro": avro.source_avro,
    "sink-avro": avro.sink_avro,
    "sink-parquet": _several(files.sink_parquet),
    "sink-spark": _several(files.sink_spark),
    "query": queries.kafka_query,
    "jdbc-source": jdbc.jdbc_source,
    "jdbc-sink": jdbc.jdbc_sink,
    "java-source": java_connectors.java_source,
    "java-sink": java_connectors.java_sink,
    "debezium": java_connectors.debezium,
    "cdc": java_connectors.postgres_cdc,
    "java-first": java_connectors.java_first,
    "java-memory": java_connectors.java_memory,
    "fleet": fleet.fleet,
    "starts": _starts,
    "takeover": _takeover,
    "hundred": _several(life.hundred),
    "list": _several(lambda bench, connect: {"list-1000": life.listed(bench, connect)}, True),
    "latency": _several(latency.latency),
    "idle": _idle,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(ROWS), help=f"rows, of {', '.join(ROWS)}")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--side", choices=(JAVA, OURS), help="measure one side alone")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the tables of the JDBC rows")
    parser.add_argument("--bootstrap", help="a broker that runs already")
    parser.add_argument("--dry", action="store_true", help="print, and leave docs/ as it is")
    given = parser.parse_args()
    rows = [row.strip() for row in given.only.split(",")]
    if unknown := set(rows) - set(ROWS):
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        own = None if given.bootstrap else EmbeddedBroker(Path(folder, "broker"))
        if own is not None:
            own.start()
        try:
            bench = Bench(own or KafkaBroker(given.bootstrap), Path(folder), given.runs, given.rows)
            for row in rows:
                started = time.monotonic()
                _run(bench, row, [given.side] if given.side else [JAVA, OURS], not given.dry and not given.side)
                print(f"{'':18} {time.monotonic() - started:.0f} s", flush=True)
        finally:
            if own is not None:
                own.stop()


def _run(bench: Bench, row: str, sides: list[str], keep: bool) -> None:
    found: dict[str, Found] = {}
    reasons: dict[str, str] = {}
    for side in sides:
        try:
            found[side] = ROWS[row](bench, side, bench.runs)
        except (Refused, AssertionError, OSError) as error:  # the other rows are still useful
            reasons[side] = f"skipped: {error}"
            print(f"{row}: {side} {reasons[side]}", flush=True)
    keys = list(next(iter(found.values()), {row: 0.0}))
    for key in keys:
        java = found[JAVA].get(key) if JAVA in found else reasons.get(JAVA)
        ours = found[OURS].get(key) if OURS in found else reasons.get(OURS)
        ratio = f"{ours / java:6.2f}×" if isinstance(java, float) and isinstance(ours, float) and java else ""
        print(f"{key:18} java {_text(java):>14} ours {_text(ours):>14} {ratio}   load {report.busy()}", flush=True)
        if keep:
            report.record(key, java, ours, 1 if row in ONCE else bench.runs)


def _text(value: float | str | None) -> str:
    return f"{value:,.2f}" if isinstance(value, int | float) else "–"


if __name__ == "__main__":
    main()
