"""Writing: rows of Spark through tasks of sink connectors."""
