"""Requests to a Connect worker whose responses were recorded from Apache Kafka Connect 4.3.0 (see README.md)."""
