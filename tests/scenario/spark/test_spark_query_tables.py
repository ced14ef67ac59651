"""Topics that KafkaQuery reads as tables, with a session of Spark and without a broker."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import datetime as dt, json
from pyspark.sql import SparkSession
from runtime.engine.driver.session.source.topics.data_source import SCHEMA
from runtime.engine.driver.session.source.topics.query import latest_by_key

settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": "2", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
def record(key, value, partition, offset, second):
    at = dt.datetime(2026, 1, 1, second=second)
    return bytearray(key, "ascii"), value and bytearray(value, "ascii"), "t", partition, offset, at, []
rows = [
    record("early", "old", 0, 1, 30), record("early", "new", 0, 5, 10),
    record("gone", "old", 0, 2, 40), record("gone", None, 0, 6, 20),
    record("both", "old", 0, 9, 10), record("both", "new", 1, 3, 50),
]
table = latest_by_key(session.createDataFrame(rows, SCHEMA))
found = {bytes(row.key).decode(): bytes(row.value).decode() for row in table.collect()}
print(json.dumps(found))
"""


@pytest.mark.soak
def test_the_last_record_of_a_key_has_the_highest_offset(tmp_path: Path) -> None:
    """A producer whose clock is behind writes the last value with an earlier timestamp."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True
    )
    assert json.loads(result.stdout.splitlines()[-1]) == {"early": "new", "both": "new"}
