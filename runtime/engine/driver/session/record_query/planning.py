"""A query over records with certain columns: the columns that it needs and gives, and its plan.

    records   Project of the value's fields, with key, topic, … as hidden columns (as Spark has them for USING joins):
       │      they are found by name, but are not a part of `*`, and a field of the same name hides them
    leaf      all columns, and the index of the record in its batch, which is in no scope of the query

When the query has been analysed, the index is added to each Project, and the leaf is replaced by one with only the
columns that the query computes with, and literals instead of the others, which Spark's optimiser removes. Columns that
the query passes on unchanged do not come to Spark at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runtime.engine.driver.session.plans import companion, expressions, items, name_of, nodes, sequence
from runtime.engine.driver.session.record_query.refusals import (
    RefusedQueryError,
    check_analysed,
    is_records,
    parse_record_query,
)

INDEX = "headrace_index"
"""The column with the index of a record in its batch."""

_HIDDEN = "__metadata_col"
"""The key in the metadata of a field that makes it a hidden column (Spark: METADATA_COL_ATTR_KEY)."""

_TIMES = ("CurrentDate", "CurrentTime", "CurrentTimestamp", "LocalTimestamp", "Now", "CurDateExpressionBuilder")


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of the result. `source`: the column of the records that it is, unchanged; None if it is computed."""

    name: str
    source: str | None


class AnalysedQuery:
    """A query over records with these columns. RefusedQueryError, or Spark's AnalysisException."""

    def __init__(self, session: Any, sql: str, schema: Any, fields: int) -> None:
        """`schema` in Spark's types has the fields of the values first, so many, and the hidden columns after them."""
        self._session, self._schema = session, schema
        logical = session._jvm.org.apache.spark.sql.catalyst.plans.logical
        self._project = logical.Project
        leaf = leaf_of(session, _with_hidden(schema, fields))
        *columns, self._index = items(leaf.output())
        self._columns = {_id(column): column for column in columns}
        records = self._project(sequence(session._jvm, columns[:fields]), leaf)
        records.setTagValue(companion(logical, "Project").hiddenOutputTag(), sequence(session._jvm, columns[fields:]))
        relation = companion(logical, "SubqueryAlias").apply("records", records)
        plan = self._replaced(parse_record_query(session, sql), "UnresolvedRelation", relation)
        self._plan = execution(session, plan).analyzed()
        check_analysed(self._plan)
        self.outputs = self._outputs()

    @property
    def changes_count(self) -> bool:
        """Whether a record may give none or several results."""
        return any(name_of(node) in ("Filter", "Generate") for node in nodes(self._plan))

    @property
    def is_fixed(self) -> bool:
        """Whether the same record always gives the same result. Otherwise each batch needs a plan of its own: Spark
        replaces the current time, and chooses seeds of random numbers, when it plans a query."""
        return bool(self._plan.deterministic()) and not any(
            name_of(expression) in _TIMES for expression in expressions(self._plan)
        )

    @cached_property
    def inputs(self) -> list[str]:
        """The columns that the query computes with, in the order of the schema."""
        optimised = execution(self._session, self._with_leaf(None)).optimizedPlan()
        used = {_id(column) for node in nodes(optimised) for column in items(node.references().toSeq())}
        return [str(column.name()) for number, column in self._columns.items() if number in used]

    @property
    def input_schema(self) -> Any:
        """Spark's schema of the rows that are sent to the query: its inputs and the index."""
        from pyspark.sql.types import StructType

        return StructType([*(self._schema[name] for name in self.inputs), _index_field()])

    def plan(self, leaf: Any) -> Any:
        """The plan whose results are the index and the computed columns. `leaf`: a plan with the columns of
        input_schema."""
        *given, index = items(leaf.output())
        own = dict(zip(self.inputs, given, strict=True))
        literals = companion(self._session._jvm.org.apache.spark.sql.catalyst.expressions, "Literal")
        columns = [
            self._alias(own.get(str(known.name())) or literals.default(known.dataType()), known)
            for known in self._columns.values()
        ]
        return self._with_leaf(self._made([*columns, self._alias(index, self._index)], leaf))

    def _with_leaf(self, leaf: Any) -> Any:
        """The plan with the index, over another leaf or (None) its own."""
        return self._made([self._index, *self._computed], self._indexed(self._plan, leaf))

    def _indexed(self, plan: Any, leaf: Any) -> Any:
        children = [self._indexed(child, leaf) for child in items(plan.children())]
        if not children:
            return plan if leaf is None else leaf
        if name_of(plan) == "SubqueryAlias":
            return children[0]
        if name_of(plan) == "Project":
            return self._made([*items(plan.projectList()), self._index], children[0])
        return plan.withNewChildren(sequence(self._session._jvm, children))

    def _made(self, columns: Iterable[Any], child: Any) -> Any:
        return self._project(sequence(self._session._jvm, columns), child)

    def _replaced(self, plan: Any, name: str, by: Any) -> Any:
        if name_of(plan) == name and is_records(plan):
            return by
        children = [self._replaced(child, name, by) for child in items(plan.children())]
        return plan.withNewChildren(sequence(self._session._jvm, children)) if children else plan

    def _alias(self, column: Any, known: Any) -> Any:
        jvm = self._session._jvm
        nothing, empty = jvm.scala.Option.apply(None), sequence(jvm, ())
        alias = jvm.org.apache.spark.sql.catalyst.expressions.Alias
        return alias(column, known.name(), known.exprId(), empty, nothing, empty)

    def _outputs(self) -> list[OutputColumn]:
        aliases: Mapping[int, Any] = {}
        if name_of(self._plan) == "Project":
            listed = [column for column in items(self._plan.projectList()) if name_of(column) == "Alias"]
            aliases = {_id(column): column.child() for column in listed}
        outputs = []
        self._computed = []
        for column in items(self._plan.output()):
            source = self._source(column) or self._source(aliases.get(_id(column)))
            outputs.append(OutputColumn(str(column.name()), source))
            if source is None:
                self._computed.append(column)
        _check_names(outputs)
        return outputs

    def _source(self, column: Any) -> str | None:
        if column is None or name_of(column) != "AttributeReference":
            return None
        known = self._columns.get(_id(column))
        return None if known is None else str(known.name())


def leaf_of(session: Any, schema: Any) -> Any:
    """A plan of rows with this schema, without rows."""
    rows = session.sparkContext._jsc.emptyRDD().rdd()
    parsed = session._jsparkSession.parseDataType(schema.json())
    return session._jsparkSession.internalCreateDataFrame(rows, parsed, False).queryExecution().analyzed()


def execution(session: Any, plan: Any) -> Any:
    """The execution of a plan, which has been analysed."""
    dataset = companion(session._jvm.org.apache.spark.sql.classic, "Dataset")
    return dataset.ofRows(session._jsparkSession, plan).queryExecution()


def _with_hidden(schema: Any, fields: int) -> Any:
    from pyspark.sql.types import StructField, StructType

    hidden = [
        StructField(field.name, field.dataType, field.nullable, {_HIDDEN: field.name}) for field in schema[fields:]
    ]
    return StructType([*schema[:fields], *hidden, _index_field()])


def _index_field() -> Any:
    from pyspark.sql.types import LongType, StructField

    return StructField(INDEX, LongType(), False)


def _id(column: Any) -> int:
    number: int = column.exprId().id()
    return number


def _check_names(outputs: Sequence[OutputColumn]) -> None:
    names = [output.name for output in outputs]
    for name in names:
        if names.count(name) > 1:
            raise RefusedQueryError(f"sql gives two columns with the name {name}: give one of them another one with AS")
