"""The driver process, which starts Spark and keeps one Spark job running for each slot."""
