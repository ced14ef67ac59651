"""The source: rows that Spark has written to a spool, batch by batch, as records.

definition.py   configuration
position.py     source partitions and offsets
task.py         the task: one batch after another, each committed before the next
spooled.py      rows of a batch, read from its Parquet files
"""
