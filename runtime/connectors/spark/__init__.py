"""SparkSink, SparkSource and KafkaQuery: formats, tables, streams and queries of Spark, through the worker's session.

session_client.py   requests of a task to the session, which the driver owns
batch_metrics.py    metrics of a task's batches
sink/, source/      definition, task, and the batches between them
query/              queries over topics, whose task is that of source/
"""

PRELOADED = False
