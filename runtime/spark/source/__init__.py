"""Reading: tasks of source connectors as batches and streams of Spark."""
