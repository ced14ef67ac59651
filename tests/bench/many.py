"""Thousands of running connectors on one worker: creation, lists, request times, memory, restarts.

python -m tests.bench.many [--connectors 10000] [--side ours|java] [--limit 1200] [--dry]

`--limit` bounds each step: connectors that have not been created after so many seconds are left out.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import report
from tests.bench.sides import JAVA, OURS, Bench, median
from tests.soak.storm import Storm
from tests.support.broker import EmbeddedBroker
from tests.support.connect import Connect
from tests.support.process_usage import usage

LISTS, REQUESTS = 5, 400
_LIST = "/connectors?expand=status&expand=info"


def many(folder: Path, side: str, connectors: int, limit: float) -> dict[str, str]:
    """The figures, by their description. `limit`: seconds for the connectors to be created and to run."""
    broker = EmbeddedBroker(folder / "broker")
    broker.start()
    worker = Bench(broker, folder).worker(side)
    try:
        broker.create_topic("storm")
        worker.start()
        storm = Storm(folder, connectors, worker, Connect(worker))
        idle = usage(worker.pid).pss
        storm.create(limit)
        connectors = storm.connectors
        found = {f"created by 16 clients and RUNNING: {connectors:,} sources": _settled(storm)}
        found |= _requests(storm.connect, connectors)
        used = usage(worker.pid)
        found["memory (PSS) of all processes"] = f"{used.pss / 1e6:,.0f} MB"
        found["… for a connector with an idle source task"] = f"{(used.pss - idle) / connectors / 1e3:.1f} kB"
        found["threads; descriptors of the largest process"] = f"{used.threads:,}; {used.most_files:,}"
        time.sleep(10)  # a fixed pause, so that the requests are not measured
        before = usage(worker.pid).cpu
        time.sleep(20)
        found["processor, idle"] = f"{(usage(worker.pid).cpu - before) / 20 * 100:.0f} % of a core"
        storm.restart(kill=False, timeout=limit)
        found["stopped with SIGTERM, started, all RUNNING"] = _settled(storm)
        storm.restart(kill=True, timeout=limit)
        found["SIGKILL, started, all RUNNING"] = _settled(storm)
        return found
    finally:
        if worker.running():
            worker.stop(120)
        broker.stop()


def _settled(storm: Storm) -> str:
    last = storm.settlings[-1]
    trouble = f"; {last.trouble}" if last.trouble else ""
    blocked = f"; event loop blocked {last.lag * 1000:.0f} ms at most" if last.lag else ""
    return f"{last.seconds:.1f} s{blocked}{trouble}"


def _requests(connect: Connect, connectors: int) -> dict[str, str]:
    lists = [_timed(connect, _LIST) for _ in range(LISTS)]
    names = [_timed(connect, "/connectors") for _ in range(LISTS)]
    paths = [f"/connectors/storm-{number * 7919 % connectors:05d}/status" for number in range(REQUESTS)]
    single = [_timed(connect, path) for path in paths]
    p99 = statistics.quantiles(single, n=100)[98]
    return {
        "all connectors listed by name": f"{median(names):.0f} ms",
        "… with status and info": f"{median(lists):.0f} ms",
        f"status of one connector, {REQUESTS} requests": f"p50 {median(single):.1f} ms, p99 {p99:.1f} ms",
    }


def _timed(connect: Connect, path: str) -> float:
    """Milliseconds until the whole response has arrived; its JSON is not decoded."""
    started = time.monotonic()
    with urllib.request.urlopen(connect.worker.url + path) as response:
        response.read()
    return (time.monotonic() - started) * 1000


def table(found: dict[str, str]) -> str:
    return "\n".join(["| what | figure |", "| --- | ---: |", *(f"| {key} | {text} |" for key, text in found.items())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connectors", type=int, default=10_000)
    parser.add_argument("--side", choices=(OURS, JAVA), default=OURS)
    parser.add_argument("--limit", type=float, default=1200.0, help="seconds for each step")
    parser.add_argument("--dry", action="store_true", help="print, and leave docs/ as it is")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headrace-many-") as folder:
        found = many(Path(folder), given.side, given.connectors, given.limit)
    print(table(found))
    if not given.dry:
        when = f"{datetime.now(UTC):%Y-%m-%d}, load average {report.busy()}"
        whose = "one worker" if given.side == OURS else "one worker of Apache Kafka Connect"
        command = f"python -m tests.bench.many --side {given.side} --connectors {given.connectors}"
        report.section(f"Many connectors on {whose}", f"`{command}`, {when}.\n\n{table(found)}")


if __name__ == "__main__":
    main()
