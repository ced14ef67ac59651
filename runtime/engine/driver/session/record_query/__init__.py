"""Queries over the records of any connector (headrace.SparkSql): planned once, then run for batch after batch.

refusals.py    what such a query may be
planning.py    a query over columns, analysed; the columns that it needs and gives
evaluator.py   its compiled code in the driver's JVM, for one batch after another, without Spark jobs
memory.py      records that need more memory than it has
service.py     the requests of the transformations
"""
