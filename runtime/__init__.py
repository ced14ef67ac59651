"""The Connect-compatible worker: REST, herder, storage, and the pipeline on Spark slots."""

__version__ = "0.1.0"

CONNECT_VERSION = "4.3.0"
"""The Apache Kafka Connect release whose behaviour and wire this worker keeps."""
