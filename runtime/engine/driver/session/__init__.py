"""The Spark session that the connectors of a worker share: requests of their tasks, which run in slots.

server.py        the socket for tasks, and the limit of requests that run at the same time
spark_session.py the session, created by the first request
operations.py    the table of operations
frames.py        a staged file as a DataFrame, and SQL over it
python_format.py, registration.py        Python data sources as formats
record_query/    queries over the records of any connector
plans.py, queries.py, spark_errors.py    logical plans, what a query may be, errors as text
formats.py       formats whose names Spark does not know
staging.py       batches that are written first and published when their offsets are committed: files
delta_batches.py, iceberg_batches.py     the same for tables
targets.py       which of them a target has
"""
