"""`spark.sql` against Spark: queries are accepted, statements with effects are refused and have had none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
from runtime.engine.driver.session.frames import selected
from runtime.engine.driver.session.queries import check_columns, functions_that_run_java, restrict
from runtime.engine.driver.session.spark_errors import described, kind_of

settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.warehouse.dir": "warehouse", "spark.sql.shuffle.partitions": "1",
            "spark.sql.codegen.wholeStage": "false", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
session.sql("CREATE TABLE kept USING parquet AS SELECT 1 AS id")
forbidden = functions_that_run_java(session)
restrict(session, forbidden)
other = session.newSession()  # as a source has it
restrict(other, forbidden)
found = {}
for text in json.load(sys.stdin):
    one = other if "java." in text else session
    try:
        found[text] = ["ok", [list(row) for row in selected(one, one.range(2), text).collect()]]
    except Exception as error:
        found[text] = [kind_of(error).value, described(error)]
def outcome(action):
    try:
        return action()
    except Exception as error:
        return described(error)
columns = {}
for text in COLUMNS:
    frame = session.sql(text)
    columns[text] = [outcome(lambda: check_columns(session, frame.columns)),
                     outcome(lambda: frame.write.mode("overwrite").parquet("written"))]
after = {"kept": session.table("kept").count(), "tables": [table.name for table in session.catalog.listTables()],
         "set": session.conf.get("spark.sql.ansi.enabled")}
print(json.dumps([found, columns, after]))
"""

QUERIES = {
    "SELECT id FROM record": [[0], [1]],
    " -- all\n(select id + 1 AS next FROM record WHERE id > 0) ; ": [[2]],
    "WITH x AS (SELECT max(id) AS id FROM record) SELECT * FROM x": [[1]],
    "FROM record |> WHERE id = 0": [[0]],
    "SELECT r.id FROM record r JOIN kept USING (id)": [[1]],
}
STATEMENTS = (
    "SET spark.sql.ansi.enabled=false",
    "DROP TABLE kept",
    "ADD JAR '/none.jar'",
    "CREATE TABLE made USING parquet AS SELECT 1 AS id",
    "CREATE TEMPORARY VIEW made AS SELECT 1 AS id",
    "INSERT INTO kept SELECT 2",
    "WITH x AS (SELECT 2 AS id) INSERT INTO kept SELECT * FROM x",
    "FROM record INSERT INTO kept SELECT 2",
    "TRUNCATE TABLE kept",
    "EXECUTE IMMEDIATE 'DROP TABLE kept'",
    "BEGIN DROP TABLE kept; END",
    "SHOW TABLES",
)
PROGRAMS = (
    "SELECT TRANSFORM(id) USING 'touch started' AS (id STRING) FROM record",
    "WITH x AS (FROM record MAP id USING 'touch started' AS id) SELECT * FROM x",
    "SELECT id FROM record WHERE id IN (SELECT TRANSFORM(id) USING 'touch started' AS (id INT) FROM record)",
)
OTHERS = {
    "SELECT reflect('java.lang.System', 'nanoTime') FROM record": "UNRESOLVED_ROUTINE",
    "SELECT builtin.java_method('java.lang.System', 'nanoTime') FROM record": "UNRESOLVED_ROUTINE",
    "VALUES (IDENTIFIER('try_' || 'reflect')('java.lang.System', 'nanoTime'))": "UNRESOLVED_ROUTINE",
    "SELECT * FROM text.`/etc/hostname`": "TABLE_OR_VIEW_NOT_FOUND",
    "SELECT id FROM record; DROP TABLE kept": "PARSE_SYNTAX_ERROR",
    "SELECT (id FROM record": "PARSE_SYNTAX_ERROR",
}


_ONLY_IN_CASE = ", whose names differ only in case: give one of them another name with AS"
COLUMNS = {
    "SELECT id, id + 1 AS next FROM kept": None,
    "SELECT named_struct('a', id, 'A', 1) AS s, id AS a FROM kept": None,
    "SELECT id, id FROM kept": "spark.sql has two columns named id: give one of them another name with AS",
    "SELECT id, 1 AS Id FROM kept": f"spark.sql has the columns id and Id{_ONLY_IN_CASE}",
}
"""Queries, and why their columns are refused."""


def test_only_queries_are_executed(tmp_path: Path) -> None:
    texts = [*QUERIES, *STATEMENTS, *PROGRAMS, *OTHERS]
    program = f"COLUMNS = {[*COLUMNS]}\n{PROGRAM}"
    done = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(texts), cwd=tmp_path, capture_output=True, text=True,
        timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any]
    found, columns, after = json.loads(done.stdout.splitlines()[-1])
    assert {text: found[text] for text in QUERIES} == {text: ["ok", rows] for text, rows in QUERIES.items()}
    for text in STATEMENTS:
        assert found[text][0] == "query"
        assert "spark.sql must be a query" in found[text][1], text
    for text in PROGRAMS:
        assert found[text] == ["query", "spark.sql must not start programs (TRANSFORM, MAP or REDUCE … USING)"]
    for text, message in OTHERS.items():
        assert found[text][0] == "query"
        assert message in found[text][1], text
    for text, (refusal, failure) in columns.items():
        assert refusal == COLUMNS[text]
        assert (failure is None) == (refusal is None), "Spark cannot write what is refused"
    assert after == {"kept": 1, "tables": ["kept"], "set": "true"}
    assert not (tmp_path / "started").exists()
