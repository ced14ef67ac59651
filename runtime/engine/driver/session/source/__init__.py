"""Sources: batches that the session reads for the tasks of SparkSource.

streams.py      the operations of tasks, and the streams of all tasks
stream.py       one stream: Spark's thread spools a batch and waits until the task has committed it
reading.py      streams, tables and queries as DataFrames
topics/         queries over topics
checkpoint.py   the folder with Spark's progress and the spooled batches
"""
