"""The sink: collects records as columns, and has Spark write them in batches."""
