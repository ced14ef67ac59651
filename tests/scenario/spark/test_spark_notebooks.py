"""The format `headrace` in real Spark queries: the documented example, and a query that is killed in a batch."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.java.connectors import FILE, plugin_path

PAGE = Path(__file__).parents[3] / "docs" / "spark-notebooks.md"
SESSION = """
import json, os, signal, sys
from pyspark.sql import SparkSession

settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": "1", "spark.sql.codegen.wholeStage": "false",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
"""
LINES = """
lines = (spark.readStream.format("headrace").schema("value STRING")
         .option("connector.class", "FileStreamSource").option("file", "in.txt").option("topic", "lines")
         .option("transforms", "otherTopics").option("predicates", "isLines")
         .option("transforms.otherTopics.type", "org.apache.kafka.connect.transforms.Filter")
         .option("transforms.otherTopics.predicate", "isLines").option("transforms.otherTopics.negate", "true")
         .option("predicates.isLines.type", "org.apache.kafka.connect.transforms.predicates.TopicNameMatches")
         .option("predicates.isLines.pattern", "lines")
         .option("headrace.max.records.per.batch", "3000").load())

def start(process, **trigger):
    return (lines.writeStream.foreachBatch(process).option("checkpointLocation", "checkpoint")
            .trigger(**trigger).start())
"""
KILLED = """
jvm = spark.sparkContext._gateway.proc.pid

def process(rows, batch):
    values = [row.value for row in rows.collect()]
    with open(f"before-{batch}.json", "w") as file:
        json.dump(values, file)
    if batch == 2:
        with open("in.txt", "a") as file:
            file.writelines(f"line {n}\\n" for n in range(9000, 12000))
        os.kill(jvm, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

start(process, processingTime="0 seconds").awaitTermination()
"""
RESTARTED = """
def process(rows, batch):
    with open(f"after-{batch}.json", "w") as file:
        json.dump([row.value for row in rows.collect()], file)

start(process, availableNow=True).awaitTermination()
found = spark.read.format("headrace").option("connector.class", "JdbcSource").option("mode", "bulk") \\
    .option("connection.url", "jdbc:sqlite:orders.db").option("table.include.list", "large_orders") \\
    .option("topic.prefix", "").option("headrace.idle.ms", "300").option("poll.interval.ms", "60000").load()
print(json.dumps([found.count(), sorted(found.columns)]))
"""

INFERRED = """
events = (spark.readStream.format("headrace").option("connector.class", "FileStreamSource")
          .option("file", "events.jsonl").option("topic", "events").option("value.schema", "infer")
          .option("headrace.idle.ms", "500").load())
events.writeStream.format("json").option("path", "out").option("checkpointLocation", "checkpoint") \\
    .trigger(availableNow=True).start().awaitTermination()
table = (spark.read.format("headrace").option("connector.class", "FileStreamSource").option("file", "events.jsonl")
         .option("topic", "events").option("inferSchema", "true").option("headrace.idle.ms", "500")
         .option("transforms", "u").option("transforms.u.type", "headrace.PythonUdf")
         .option("transforms.u.function", "notebook_functions:parsed")
         .option("headrace.plugin.path", "functions").load())
rows = [row.asDict(recursive=True) for row in table.orderBy("id").collect()]
print(json.dumps([[row.asDict(recursive=True) for row in spark.read.json("out").orderBy("id").collect()], rows]))
"""

JAVA = """
import os
import pyarrow as pa
from runtime.connectors.data_source.ddl import parse_ddl
from runtime.model.states import ConnectorType
from runtime.spark.connector import SparkConnector
from runtime.spark.options import SparkOptions
from runtime.spark.sink.sink_run import SinkTaskRun
from runtime.spark.source.batch_reader import HeadraceReader

java = {"headrace.plugin.path": PLUGINS, "headrace.java.prefer": "org.apache.kafka.connect.file.*"}
source = SparkOptions.of({**java, "connector.class": "FileStreamSource", "file": os.path.abspath("in.txt"),
                          "topic": "lines", "headrace.idle.ms": "500"})
reader = HeadraceReader(source, parse_ddl("value STRING"))
batches = [batch for part in reader.partitions() for batch in reader.read(part)]
options = SparkOptions.of({**java, "connector.class": "FileStreamSink", "file": os.path.abspath("out.txt")})
sink = SparkConnector(options, ConnectorType.SINK)
task = sink.planned()[0]
rows = (pa.table({"value": batch["value"]}).to_batches()[0] for batch in batches)
print(SinkTaskRun(sink, task, 0, 0).write(rows), sink.spec(task).task_class.split(":")[0])
"""


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program with Spark; the test's own time limit ends it."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def example() -> str:
    """The example of the page."""
    blocks: list[str] = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return next(block for block in blocks if "writeStream" in block)


def values(folder: Path, name: str) -> list[Any]:
    found: list[Any] = json.loads((folder / name).read_text())
    return found


@pytest.mark.soak
def test_the_documented_example(tmp_path: Path) -> None:
    done = run(f"{SESSION}{example()}", tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    with sqlite3.connect(tmp_path / "orders.db") as database:
        count, fewest = database.execute("SELECT count(*), min(amount) FROM large_orders").fetchone()
    assert 4000 < count < 6000
    assert fewest > 250


@pytest.mark.soak
def test_a_query_that_is_killed_in_a_batch(tmp_path: Path) -> None:
    """The batch is repeated with the same records, and nothing is lost or read twice."""
    (tmp_path / "in.txt").write_text("".join(f"line {number}\n" for number in range(9000)))
    killed = run(f"{SESSION}{example()}{LINES}{KILLED}", tmp_path)
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-4000:]
    restarted = run(f"{SESSION}{LINES}{RESTARTED}", tmp_path)
    assert restarted.returncode == 0, restarted.stderr[-4000:]
    assert values(tmp_path, "after-2.json") == values(tmp_path, "before-2.json")
    batches = len(list(tmp_path.glob("after-*.json")))
    names = ["before-0.json", "before-1.json", *(f"after-{number}.json" for number in range(2, 2 + batches))]
    assert [value for name in names for value in values(tmp_path, name)] == [f"line {n}" for n in range(12_000)]
    with sqlite3.connect(tmp_path / "orders.db") as database:
        [count] = database.execute("SELECT count(*) FROM large_orders").fetchone()
    assert json.loads(restarted.stdout.splitlines()[-1])[0] == count


def test_java_connectors_read_and_write(tmp_path: Path) -> None:
    """As the processes of Spark call them, without Spark."""
    (tmp_path / "in.txt").write_text("".join(f"line {number}\n" for number in range(500)))
    done = run(JAVA.replace("PLUGINS", repr(plugin_path(FILE))), tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines()[-1] == "500 java"
    assert (tmp_path / "out.txt").read_text() == (tmp_path / "in.txt").read_text()


@pytest.mark.soak
def test_columns_of_json_are_inferred(tmp_path: Path) -> None:
    rows = [{"id": 1, "at": {"x": 1}}, {"id": 2, "at": {"x": 2.5}, "tags": ["a"]}]
    (tmp_path / "events.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder := tmp_path / "functions").mkdir()
    code = (
        "import json\nimport pyarrow as pa\ndef parsed(batch):\n"
        "    return pa.table({'id': [json.loads(text)['id'] * 10 for text in batch['value'].to_pylist()]})\n"
    )
    (folder / "notebook_functions.py").write_text(code)
    done = run(SESSION + INFERRED, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    streamed, changed = json.loads(done.stdout.splitlines()[-1])
    assert [(row["id"], row["at"], row["tags"]) for row in streamed] == [(1, {"x": 1.0}, None), (2, {"x": 2.5}, ["a"])]
    assert changed == [{"id": 10}, {"id": 20}]
