"""Measurements, stored as JSON and shown as docs/benchmarks.md. A run of some rows leaves the others unchanged."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
DATA, PAGE = DOCS / "benchmarks.json", DOCS / "benchmarks.md"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. `higher`: higher values are better. The ratio is always Headrace's value to Java's."""

    key: str
    title: str
    unit: str
    goal: str = ""
    digits: int = 0


def _rate(key: str, what: str, unit: str, goal: str = "") -> tuple[Figure, Figure]:
    """The line of a rate, and that of its processor time."""
    processor = Figure(f"{key}-cpu", "… processor of the worker for a million records", "s", "", 2)
    return Figure(key, what, unit, goal), processor


FIGURES = (
    *_rate("source", "source, 1,000,000 lines, StringConverter", "records/s", "≥ 6×"),
    *_rate("source-eos", "the same, exactly once (a transaction for each poll)", "records/s", "≥ 3×"),
    *_rate("source-smt", "source, JSON with schemas, 3 transformations", "records/s", "≥ 2×"),
    *_rate("sink", "sink, 1,000,000 records of one partition, StringConverter", "records/s", "≥ 1.5×"),
    *_rate("sink-smt-1", "sink, JSON with schemas, 3 transformations, 4 partitions, one task", "records/s", "≥ 1.3×"),
    *_rate("sink-smt-2", "the same, two tasks", "records/s", "≥ 1.3×"),
    *_rate("sink-maps", "sink, JSON without schemas, 3 transformations, 4 partitions, one task", "records/s", "≥ 2×"),
    *_rate("source-avro", "source, Avro (Java: Apicurio's converter), 3 transformations", "records/s", "≥ 4×"),
    *_rate(
        "sink-avro",
        "sink, Avro of twenty fields (Java: Apicurio's converter), 3 transformations, 4 partitions, one task",
        "records/s",
        "≥ 4×",
    ),
    Figure("sink-parquet", "FilesSink, JSON without schemas to Parquet files, one task", "records/s", "≥ 300,000"),
    Figure("sink-spark", "SparkSink, JSON without schemas to Parquet files, one task", "records/s", "≥ 300,000"),
    *_rate("query", "KafkaQuery, projection and filter of 1,000,000 records of JSON, topic to topic", "records/s"),
    *_rate("jdbc-source", "JDBC source, 1,000,000 rows of PostgreSQL (Java: Debezium's snapshot)", "rows/s", "≥ 1.5×"),
    *_rate(
        "jdbc-sink", "JDBC sink, 1,000,000 upserts into PostgreSQL (Java: Debezium's JDBC sink)", "rows/s", "≥ 1.5×"
    ),
    *_rate("java-source", "Kafka's file source (in Java on both sides), 1,000,000 lines", "records/s", "≥ 2.5×"),
    *_rate("java-sink", "Kafka's file sink (in Java on both sides), 1,000,000 records", "records/s", "≥ 1×"),
    *_rate("debezium", "Debezium PostgreSQL (in Java on both sides), 200,000 changes", "changes/s", "≥ 1.2×"),
    *_rate("cdc", "PostgresCdcSource (Java: Debezium), 200,000 changes", "changes/s", "≥ 1×"),
    Figure("java-first", "first Java connector of a worker created → its first record in the topic", "s", "", 2),
    Figure("java-memory-1", "memory (PSS) of a slot's JVM, one idle Java task (Java: of the worker)", "MB", "≤ 60 MB"),
    Figure("java-memory-100", "… with 100 idle Java tasks", "MB", "≤ 150 MB"),
    Figure("java-memory-all", "… and with the JVM of the 100 connectors", "MB"),
    Figure(
        "fleet-start", "start of a worker with 30 Java connectors of five makers → 100 tasks RUNNING", "s", "≤ 1×", 1
    ),
    Figure("fleet-memory", "… memory (PSS) of all its processes, idle", "MB", "≤ 0.7×"),
    Figure("fleet-cpu", "… processor, idle", "% of a core", "", 1),
    Figure("fleet-validated", "… 30 validations at once when it is healthy → last response", "s", "≤ 1×", 1),
    Figure("fleet-refused", "… of these, responses other than 200", "", ""),
    Figure("start-rest", "process start to a response of `GET /`", "s", "", 2),
    Figure("start-ready", "process start to `GET /health` 200", "s", "", 2),
    Figure("start-running", "process start to a stored connector RUNNING", "s", "≤ 3.5 s", 2),
    Figure("start-cpu", "… processor until then", "s", "", 2),
    Figure(
        "takeover",
        "kill -9 of one of two workers (scheduled.rebalance.max.delay.ms=0) → all 20 connectors RUNNING on the other",
        "s",
        "≤ 3 s",
        2,
    ),
    Figure("takeover-leader", "… of the worker that leads the group", "s", "≤ 3 s", 2),
    Figure("create-100", "100 connectors created one after another", "s", "≤ 1×", 2),
    Figure("running-100", "… until all are RUNNING", "s", "≤ 1×", 2),
    Figure("stop-20", "20 connectors stopped one after another", "s", "≤ 1×", 2),
    Figure("list-1000", "1,000 connectors listed with status and info", "ms", "≤ 1×", 1),
    Figure("latency-p50", "line written → record readable, p50", "ms", "≤ 50 ms"),
    Figure("latency-p99", "line written → record readable, p99", "ms", "≤ 150 ms"),
    Figure("idle-cpu-0", "processor without tasks", "% of a core", "", 1),
    Figure("idle-cpu-100", "processor with 100 idle tasks", "% of a core", "≤ 1 % more", 1),
    Figure("idle-cpu-200", "processor with 200 idle tasks", "% of a core", "≤ 2 % more", 1),
    Figure("idle-memory-new", "memory (PSS) of a worker that has run no connector yet", "MB", "≤ 300 MB"),
    Figure("idle-memory-0", "memory (PSS) without tasks, after a source and a sink have run", "MB"),
    Figure("idle-memory-100", "memory (PSS) with 100 idle tasks", "MB"),
    Figure("idle-memory-200", "memory (PSS) with 200 idle tasks", "MB", "≤ 450 MB"),
    Figure("idle-threads-200", "threads with 200 idle tasks", ""),
    Figure("idle-files-200", "descriptors of the largest process with 200 idle tasks", ""),
)

Data = dict[str, Any]


def load() -> Data:
    return json.loads(DATA.read_text()) if DATA.exists() else {"rows": {}, "notes": {}}


def record(key: str, java: float | str | None, ours: float | str | None, runs: int) -> None:
    """Stores the figures of a row, or the reason for missing figures."""
    data = load()
    when = f"{datetime.now(UTC):%Y-%m-%d}"
    data["rows"][key] = {"java": java, "ours": ours, "runs": runs, "date": when, "load": busy()}
    data["machine"] = machine()
    save(data)


def section(name: str, body: str) -> None:
    """Stores a section of the page that is not a row of the table, with the machine, which may be another one."""
    data = load()
    data["notes"][name] = f"{body}\n\n{machine()}"
    save(data)


def save(data: Data) -> None:
    DATA.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(data))


def page(data: Data) -> str:
    rows = [_row(figure, data["rows"][figure.key]) for figure in FIGURES if figure.key in data["rows"]]
    parts = [
        "# Benchmarks",
        "`make bench` runs the same connector JSON on Apache Kafka Connect and on Headrace, one after the other, on "
        "one broker, and writes this page; `make soak` adds its part. Figures are medians of the given number of runs "
        "on a freshly warmed worker. “Load” is the machine's load average at the end of the row. A run alone "
        "causes a load of two; figures with a higher load are not reliable.",
        data["machine"],
        "\n".join(
            [
                "| what | Java Connect | Headrace | ratio | goal | runs | date | load |",
                "| --- | ---: | ---: | ---: | --- | ---: | --- | ---: |",
                *rows,
            ]
        ),
        *(f"## {name}\n\n{body}" for name, body in sorted(data["notes"].items())),
    ]
    return "\n\n".join(parts) + "\n"


def _row(figure: Figure, row: Data) -> str:
    java, ours = row["java"], row["ours"]
    both = isinstance(java, int | float) and isinstance(ours, int | float) and java
    ratio = f"{ours / java:.2f}×" if both else ""
    cells = [figure.title, shown(figure, java), shown(figure, ours), ratio, figure.goal]
    cells += [row["runs"], row["date"], row["load"]]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def shown(figure: Figure, value: float | str | None) -> str:
    """The value with its unit, or the reason why there is none."""
    if isinstance(value, int | float):
        return f"{value:,.{figure.digits}f} {figure.unit}".strip()
    return (value or "").replace("|", "\\|").replace("\n", " ")[:160]


def busy() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    return (
        f"Machine: {len(os.sched_getaffinity(0))} cores ({_cpu()}), {memory:.0f} GB, {platform.system()} "
        f"{platform.release()}. Python {platform.python_version()}, PySpark {version('pyspark')}, confluent-kafka "
        f"{version('confluent-kafka')}, {java[0] if java else 'no java'}; Apache Kafka Connect and broker 4.3.0; "
        f"Headrace {version('headrace')} at {commit.strip()}."
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
