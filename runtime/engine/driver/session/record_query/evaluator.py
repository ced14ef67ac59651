"""Runs a query for batches of records in the driver's JVM.

A Spark job costs 30 to 100 ms, which is more than the query itself needs for ten thousand records. So the code that
Spark has generated for the query is called directly, as its task would (WholeStageCodegenExec), from Arrow to Arrow.
Queries with operators that have no such code, and are neither projections nor filters, run as jobs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from runtime.engine.driver.session.plans import companion, items, name_of, sequence
from runtime.engine.driver.session.record_query.planning import AnalysedQuery, execution, leaf_of

MAX_RESULT = 256 * 1024 * 1024
"""The most bytes of the results of a batch."""

_ROWS, _BYTES = 50_000, 16 * 1024 * 1024  # of a part of the results
_ZONE = "UTC"


class TooLargeError(Exception):
    """The results of a batch are too large, as those of an explode() without end. [SQLSTATE: 22]"""


class GoneError(Exception):
    """The task of the request has ended."""


class JvmParts:
    """The objects and classes of the JVM that each batch needs. Py4J asks the JVM for every part of a name."""

    def __init__(self, session: Any) -> None:
        jvm = session._jvm
        sql, python, io = jvm.org.apache.spark.sql, jvm.org.apache.spark.api.python, jvm.java.io
        self.read = companion(sql.api.python, "PythonSQLUtils").readArrowStreamFromFile
        converters = companion(sql.execution.arrow, "ArrowConverters")
        self.from_arrow, self.to_arrow = converters.fromBatchIterator, converters.toBatchWithSchemaIterator
        self.write = companion(python, "PythonRDD").writeNextElementToStream
        self.data_stream, self.file_stream = io.DataOutputStream, io.FileOutputStream
        tasks = companion(jvm.org.apache.spark, "TaskContext")
        self.empty_task, self.set_task, self.unset_task = tasks.empty, tasks.setTaskContext, tasks.unset
        self.nothing, self.no_inputs = jvm.scala.Option.apply(None), sequence(jvm, ())


class Evaluator:
    """One thread at a time: expressions of Spark have states."""

    def __init__(self, session: Any, query: AnalysedQuery, parts: JvmParts) -> None:
        self._session, self._query, self._jvm, self._parts = session, query, session._jvm, parts
        schema = query.input_schema
        plan = execution(session, query.plan(leaf_of(session, schema))).executedPlan()
        self._input = session._jsparkSession.parseDataType(schema.json())
        self._output = plan.schema()
        self._steps = self._compiled(plan)

    @property
    def runs_jobs(self) -> bool:
        """Whether the query has an operator that only a job can run."""
        return self._steps is None

    def run(self, source: str, target: str, has_gone: Callable[[], bool]) -> None:
        """Write the results for the rows in the file `source`, an Arrow stream, as Arrow streams, each behind its
        length, to the file `target`."""
        if self._steps is None:
            self._run_job(source, target)
            return
        parts = self._parts
        with self._task() as context:
            rows = parts.from_arrow(parts.read(source), self._input, _ZONE, False, False, context)
            for step in self._steps:
                rows = step.createEvaluator().eval(0, parts.no_inputs.appended(rows))
            batches = parts.to_arrow(rows, self._output, _ROWS, _BYTES, _ZONE, True, False)
            self._write(batches, Path(target), has_gone)

    def _write(self, batches: Any, target: Path, has_gone: Callable[[], bool]) -> None:
        stream, write = self._parts.data_stream(self._parts.file_stream(str(target))), self._parts.write
        try:
            while write(batches, stream):
                if target.stat().st_size > MAX_RESULT:
                    raise TooLargeError(f"The query gives more than {MAX_RESULT:,} bytes. SQLSTATE: 22000")
                if has_gone():
                    raise GoneError("The task has ended")
        finally:
            stream.close()

    def _run_job(self, source: str, target: str) -> None:
        import pyarrow as pa
        from pyspark.sql import DataFrame

        with pa.ipc.open_stream(source) as stream:
            rows = self._session.createDataFrame(stream.read_all(), self._query.input_schema)
        plan = self._query.plan(rows._jdf.queryExecution().analyzed())
        dataset = companion(self._jvm.org.apache.spark.sql.classic, "Dataset")
        results = DataFrame(dataset.ofRows(self._session._jsparkSession, plan), self._session).toArrow()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, results.schema) as writer:
            writer.write_table(results)
        content = sink.getvalue()
        with Path(target).open("wb") as file:
            file.write(len(content).to_bytes(4, "big"))
            file.write(content)

    @contextlib.contextmanager
    def _task(self) -> Iterator[Any]:
        """A task's context, whose end releases the memory of Arrow's columns also after an error."""
        context = self._parts.empty_task()
        self._parts.set_task(context)
        try:
            yield context
        finally:
            context.markTaskCompleted(self._parts.nothing)
            self._parts.unset_task()

    def _compiled(self, plan: Any) -> list[Any] | None:
        """Spark's factories of evaluators, from the leaf to the root, each of which a task would call in this order;
        None for other operators. Expressions such as from_json() have no generated code, and divide it."""
        execution, name = self._jvm.org.apache.spark.sql.execution, name_of(plan)
        if name == "RDDScanExec":
            return []
        children = list(items(plan.children()))
        if name == "WholeStageCodegenExec":
            before, step = self._compiled(_input_of(children[0])), self._generated(plan)
        elif name == "ProjectExec":
            step = execution.ProjectEvaluatorFactory(plan.projectList(), children[0].output())
            before = self._compiled(children[0])
        elif name == "FilterExec":
            step = execution.FilterEvaluatorFactory(plan.condition(), children[0].output(), self._metric())
            before = self._compiled(children[0])
        else:
            return None
        return None if before is None else [*before, step]

    def _generated(self, plan: Any) -> Any:
        generated = plan.doCodeGen()
        references = generated._1().references().toArray(companion(self._jvm.scala.reflect, "ClassTag").Any())
        code = self._jvm.scala.util.Right(generated._2())
        factory = self._jvm.org.apache.spark.sql.execution.WholeStageCodegenEvaluatorFactory
        return factory(code, self._metric(), references)

    def _metric(self) -> Any:
        metrics = companion(self._jvm.org.apache.spark.sql.execution.metric, "SQLMetrics")
        return metrics.createMetric(self._session.sparkContext._jsc.sc(), "duration")


def _input_of(plan: Any) -> Any:
    """The plan whose rows generated code reads: behind an InputAdapter, or the leaf."""
    while name_of(plan) != "RDDScanExec":
        (child,) = items(plan.children())
        if name_of(plan) == "InputAdapter":
            return child
        plan = child
    return plan
