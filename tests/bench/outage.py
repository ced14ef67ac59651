"""One of three brokers is dead for five minutes: when records flow again, and processor time of two workers.

python -m tests.bench.outage [--seconds 300] [--lines 1 40] [--dry]
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import report
from tests.support.clusters.broker_outage import LINES, SOURCES, pipeline
from tests.support.kafka.broker_cluster import BrokerCluster

REMARK = "A file source of Headrace sends each line as it is written, in a transaction; Kafka's polls once a second."
WARM = 30.0  # seconds after the first records until the processor time is measured: compilers, the class archive
BEFORE = 60.0  # seconds in which the processor time is measured with all brokers


def measure(folder: Path, seconds: float, lines: int, *, java: bool) -> str:
    """A row of the table."""
    with (
        BrokerCluster(folder / "brokers").started() as cluster,
        pipeline(folder, cluster, java=java, lines=lines) as running,
    ):
        time.sleep(WARM)
        before = running.cpu(BEFORE)
        flowing, during = running.outage(cluster.brokers[1], seconds)
    name = "Java Connect" if java else "Headrace"
    cpu = " | ".join(" and ".join(f"{found:.1f}" for found in each) for each in (before, during))
    return f"| {lines} | {name} | {flowing:.1f} | {cpu} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0, help="of the outage")
    parser.add_argument("--lines", type=int, nargs="+", default=[1, LINES], help="a second of each source")
    parser.add_argument("--dry", action="store_true", help="print, and leave docs/ as it is")
    given = parser.parse_args()
    rows = []
    for lines, java in itertools.product(given.lines, (False, True)):
        with tempfile.TemporaryDirectory(prefix="headrace-outage-") as folder:
            rows.append(measure(Path(folder), given.seconds, lines, java=java))
        print(rows[-1], flush=True)
    head = (
        "| lines/s of a source | group | records flow again, s after the election "
        "| % of a core of each worker before | … during the outage |"
    )
    text = "\n".join([head, "| ---: | --- | ---: | ---: | ---: |", *rows])
    if not given.dry:
        when = f"{datetime.now(UTC):%Y-%m-%d}, load average {report.busy()}"
        what = (
            f"one of three brokers is killed and away for {given.seconds:,.0f} s; two workers, {SOURCES} exactly-once "
            f"sources, and a sink for their topics"
        )
        report.section(
            "An outage of a broker", f"`python -m tests.bench.outage`, {when}: {what}.\n\n{text}\n\n{REMARK}"
        )


if __name__ == "__main__":
    main()
