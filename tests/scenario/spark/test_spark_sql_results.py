"""headrace.SparkSql gives the rows that plain Spark gives for the same query over the same records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import datetime as dt, json, os, sys
from concurrent.futures import Future
from decimal import Decimal
from pathlib import Path
from pyspark.sql import SparkSession

from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.connectors.files.arrow_values import ArrowValues
from runtime.connectors.spark import session_client
from runtime.engine.driver.jvm import NO_NULL_CHECKS
from runtime.engine.driver.session.record_query.evaluator import Evaluator
from runtime.engine.driver.session.record_query.service import RecordQueries
from runtime.engine.driver.session.server import SessionCaller
from runtime.engine.driver.session.spark_errors import described, kind_of
from runtime.engine.driver.session.spark_session import SharedSession
from runtime.transforms.spark_sql import spark
from runtime.transforms.spark_sql.sql import SparkSql

settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.session.timeZone": "UTC",
            "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 {NO_NULL_CHECKS}"}
session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
queries = RecordQueries(SharedSession(session.sparkContext), Path.cwd())
os.environ[session_client.ROWS] = str(Path.cwd())

class Client:
    def __init__(self, name):
        self.name = name

    def send(self, make):
        future = Future()
        try:
            future.set_result(queries.execute(SessionCaller("c", "g", lambda: False), make()).result())
        except Exception as error:
            future.set_exception(session_client.SparkRequestError(described(error), kind_of(error)))
        return future

    def close(self):
        pass

spark.SessionClient = Client
jobs = []
run_job = Evaluator._run_job
Evaluator._run_job = lambda self, *args: (jobs.append(1), run_job(self, *args))[1]
DDL = ("id BIGINT NOT NULL, name STRING, price DECIMAL(12, 3), at TIMESTAMP, local TIMESTAMP_NTZ, day DATE, "
       "ok BOOLEAN, raw BINARY, small TINYINT, ratio FLOAT, tags ARRAY<STRING>, m MAP<STRING, INT>, "
       "inner STRUCT<a: INT, b: ARRAY<STRUCT<c: STRING, d: DECIMAL(5, 2)>>>, text STRING, "
       "numbers ARRAY<BIGINT>, headrace_index STRING")
start = dt.datetime(2026, 1, 1)
def row(n):
    if n % 11 == 10:
        return (n, *[None] * 15)
    items = [(f"c{i}", Decimal(i).scaleb(-2)) for i in range(n % 3)]
    return (n, f"näme {n}" * (n % 3), Decimal(n * 7919 % 100_000).scaleb(-3),
            start + dt.timedelta(seconds=n, microseconds=n),
            start - dt.timedelta(days=n), dt.date(1969, 12, 31) + dt.timedelta(days=n), n % 2 == 0, bytes([n % 256]),
            n % 100 - 50, n / 3, [None if i == 1 else f"t{i}" for i in range(n % 4)], {"x": n, "y": None}, (n, items),
            json.dumps({"a": n, "list": list(range(n % 3))}),
            [None if i == 1 else i for i in range(n % 4)], f"x{n}")
count = 500
frame = session.createDataFrame([row(n) for n in range(count)], DDL)
frame.createOrReplaceTempView("records")
table = frame.toArrow().combine_chunks()
values = ArrowValues(table.schema)(table.to_batches()[0])
batch = SourceBatch({"p": 1}, lambda n: {"at": n}, "t", values, 1)
found = {}
for query in json.load(sys.stdin):
    step = SparkSql()
    step.configure({"sql": query})
    derived = step.derive(batch.values, batch)
    made = [record.value for record in batch.derive(derived).records]
    reference = session.sql(query).toArrow().combine_chunks()
    parts = reference.to_batches()
    expected = ArrowValues(reference.schema)(parts[0]).rows if parts else []
    assert [list(one) for one in made[:1]] == [list(one) for one in expected[:1]], query
    found[query] = [repr(list(made)) == repr(list(expected)), len(made), len(jobs)]
    if not found[query][0]:
        differ = [pair for pair in zip(made, expected) if repr(pair[0]) != repr(pair[1])][:1]
        found[query].append(repr(differ or [len(made), len(expected)])[:1500])
    jobs.clear()
print(json.dumps(found))
"""

COMPILED = (
    "SELECT * FROM records WHERE id % 7 > 2",
    "SELECT id, upper(name) AS name, price * 2 AS double, price / 3 AS third FROM records WHERE price > 10",
    "SELECT id, at + INTERVAL 1 DAY AS next, date_add(day, 3) AS later, date_trunc('MINUTE', at) AS minute "
    "FROM records",
    "SELECT inner.a + 1 AS a, get(inner.b, 0).c AS c, transform(tags, x -> concat(x, '!')) AS tags, "
    "map_keys(m) AS keys, struct(id, inner) AS both FROM records",
    "SELECT id, transform(numbers, x -> x + 1) AS more, array_compact(numbers) AS compact, "
    "aggregate(numbers, 0L, (a, x) -> a + coalesce(x, 0)) AS sum FROM records",
    "SELECT upper(headrace_index) AS headrace_index FROM records WHERE id > 3",
    "SELECT id, pos, tag FROM records LATERAL VIEW OUTER posexplode(tags) e AS pos, tag",
    "SELECT id, b.c, b.d FROM records LATERAL VIEW explode(inner.b) e AS b WHERE b.d > 0",
    "SELECT id, explode(m) AS (k, v) FROM records",
    "SELECT x.id, x.n FROM (SELECT id, coalesce(small, 0) + id AS n FROM records WHERE ok) x WHERE x.n % 2 = 0",
    "SELECT id, CASE WHEN ok THEN 'even' WHEN ok IS NULL THEN NULL ELSE 'odd' END AS kind, hex(raw) AS raw, "
    "try_divide(1, small) AS inverse, ratio * 2 AS ratio, sha2(name, 256) AS hash FROM records",
    "SELECT j.* FROM (SELECT from_json(text, 'a BIGINT, list ARRAY<INT>') AS j FROM records) WHERE j.a > 3",
    "SELECT id, get_json_object(text, '$.list[0]') AS first, regexp_replace(name, '[0-9]+', '#') AS masked "
    "FROM records",
    "SELECT id, f FROM records LATERAL VIEW json_tuple(text, 'a') e AS f",
    "SELECT id FROM records WHERE name LIKE '%1%' AND NOT ok",
    "SELECT * EXCEPT (raw, m) FROM records WHERE day < DATE '1970-03-01'",
)
JOBS = ("SELECT id FROM records WHERE false",)


@pytest.mark.soak
def test_results_are_those_of_plain_spark(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=json.dumps([*COMPILED, *JOBS]), cwd=tmp_path, capture_output=True,
        text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert {query: result[3:] for query, result in found.items() if not result[0]} == {}
    assert {query: result[2] for query, result in found.items()} == {
        **dict.fromkeys(COMPILED, 0),
        **dict.fromkeys(JOBS, 1),
    }
