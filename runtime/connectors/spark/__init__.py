"""SparkSink and SparkSource: any format, table and stream of Spark, through the worker's Spark session.

session_client.py   requests of a task to the session, which the driver owns
batch_metrics.py    metrics of a task's batches
sink/, source/      definition, task, and the batches between them
"""

PRELOADED = False
