"""KafkaQuery: a query of Spark's Structured Streaming over topics, whose results are records of another topic.

definition.py   the configuration
connector.py    validation: topics, query
topic_ranges.py offsets of topics, and the records between two offsets as Arrow batches

The task is that of SparkSource; the driver's session runs the query (runtime/engine/driver/session/source).
"""
