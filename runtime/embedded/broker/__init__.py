"""The Kafka broker of the embedded cluster: its process, its jars, and Java."""
